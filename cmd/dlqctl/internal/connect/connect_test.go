package connect

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseProperties(t *testing.T) {
	t.Parallel()
	got, err := parseProperties("# a comment\n! another\r\n\n a = 1 \r\nb: two words\nc=x=y:z\n" +
		"long = first \\\n    second \\\n\tthird\nescaped\\:key = back\\\\slash \\= \\n\nempty=\nlast=\\")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a": "1", "b": "two words", "c": "x=y:z", "long": "first second third",
		"escaped:key": "back\\slash = \n", "empty": "", "last": "\\",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("properties (-want +got):\n%s", diff)
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	got, err := translate(map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanism": "SCRAM-SHA-512",
		jaas:       `org.apache.kafka.common.security.scram.ScramLoginModule required username="kim" password="p\"=w";`,
		truststore: "/ca.pem", truststoreType: "pem", keystore: "/me.p12", keystoreType: "PKCS12",
		"ssl.keystore.password": "s", endpointCheck: "", "value.deserializer": "x", "client.id": "c",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"security.protocol": "SASL_SSL", "sasl.mechanisms": "SCRAM-SHA-512",
		"sasl.username": "kim", "sasl.password": `p"=w`, "ssl.ca.location": "/ca.pem",
		keystore: "/me.p12", "ssl.keystore.password": "s", endpointCheck: "none", "client.id": "c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestErrorsHoldNoValue(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	_, err := translate(map[string]string{jaas: `M required password="` + secret + `"`, truststore: secret, keystore: secret})
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("got %v, want three mistakes", err)
	}
	_, parsed := parseProperties("x\npassword " + secret + "\n")
	for _, err := range []error{err, parsed} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("a value is printed: %v", err)
		}
	}
}

// FuzzProperties holds for any text: no panic, and no value in an error.
func FuzzProperties(f *testing.F) {
	f.Add("a=b\\\n c\nsasl.jaas.config=x username=\"\\\"\"")
	f.Add("=\n\\=\n\\")
	f.Fuzz(func(_ *testing.T, text string) {
		properties, err := parseProperties(text)
		if err != nil {
			return
		}
		if _, err := translate(properties); err != nil {
			return
		}
	})
}
