package connect

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// rename returns what librdkafka calls a setting that the Java client calls
// differently.
func rename(key string) string {
	switch key {
	case "sasl.mechanism":
		return "sasl.mechanisms"
	case "ssl.truststore.certificates":
		return "ssl.ca.pem"
	case "ssl.keystore.certificate.chain":
		return "ssl.certificate.pem"
	case "ssl.keystore.key":
		return "ssl.key.pem"
	default:
		return key
	}
}

// ignored reports whether a setting of the Java client means nothing to this
// one, or is read together with another.
func ignored(key string) bool {
	switch key {
	case "key.serializer", "value.serializer", "key.deserializer", "value.deserializer",
		"interceptor.classes", "metric.reporters", "ssl.protocol", "ssl.provider",
		"default.api.timeout.ms", "request.timeout.ms",
		truststoreType, truststorePass, keystoreType:
		return true
	default:
		return false
	}
}

// The settings that need more than another name.
const (
	jaas           = "sasl.jaas.config"
	truststore     = "ssl.truststore.location"
	truststoreType = "ssl.truststore.type"
	truststorePass = "ssl.truststore.password" //nolint:gosec // a name
	keystore       = "ssl.keystore.location"
	keystoreType   = "ssl.keystore.type"
	endpointCheck  = "ssl.endpoint.identification.algorithm"
)

// translate turns the names of the Java client's usual settings into those of
// librdkafka. Others are passed on as they are. Errors never hold a value.
func translate(properties map[string]string) (map[string]string, error) {
	kafka := map[string]string{}
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		value := properties[key]
		switch {
		case ignored(key):
		case key == jaas:
			problems = append(problems, login(value, kafka))
		case key == truststore:
			problems = append(problems, trust(properties, kafka))
		case key == keystore:
			problems = append(problems, identity(properties, kafka))
		case key == endpointCheck && value == "":
			kafka[endpointCheck] = "none"
		default:
			kafka[rename(key)] = value
		}
	}
	return kafka, errors.Join(problems...)
}

var jaasOption = regexp.MustCompile(`([A-Za-z.]+)\s*=\s*"((?:[^"\\]|\\.)*)"`)

// login takes name and password out of a JAAS line of the plain and SCRAM
// login modules.
func login(value string, kafka map[string]string) error {
	for _, option := range jaasOption.FindAllStringSubmatch(value, -1) {
		text := unescape(option[2])
		switch option[1] {
		case "username":
			kafka["sasl.username"] = text
		case "password":
			kafka["sasl.password"] = text
		}
	}
	if kafka["sasl.username"] == "" || kafka["sasl.password"] == "" {
		return fmt.Errorf(`%s: want the plain or SCRAM login module with username="..." and password="..."`, jaas)
	}
	return nil
}

// trust takes over a truststore that is a PEM file. The client cannot read the
// Java formats.
func trust(properties, kafka map[string]string) error {
	if !strings.EqualFold(properties[truststoreType], "PEM") {
		return fmt.Errorf("%s: only a PEM truststore can be read; convert it and set %s=PEM or ssl.ca.location", truststore, truststoreType)
	}
	kafka["ssl.ca.location"] = properties[truststore]
	return nil
}

// identity takes over a keystore that is a PEM or a PKCS#12 file.
func identity(properties, kafka map[string]string) error {
	path := properties[keystore]
	switch strings.ToUpper(properties[keystoreType]) {
	case "PEM":
		kafka["ssl.certificate.location"], kafka["ssl.key.location"] = path, path
	case "PKCS12":
		kafka[keystore] = path
	default:
		return fmt.Errorf("%s: only PEM and PKCS12 keystores can be read; convert it and set %s", keystore, keystoreType)
	}
	return nil
}
