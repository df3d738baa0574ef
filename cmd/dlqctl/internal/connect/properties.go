package connect

import (
	"errors"
	"fmt"
	"strings"
)

// parseProperties reads a Java properties file: key=value or key: value, # and
// ! comments, a backslash at the end of a line to go on, and backslash escapes.
// Errors name lines and never what stands on them.
func parseProperties(text string) (map[string]string, error) {
	properties := map[string]string{}
	var problems []error
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		number := i + 1
		line := strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		for goesOn(line) && i+1 < len(lines) {
			i++
			line = line[:len(line)-1] + strings.TrimLeft(strings.TrimSuffix(lines[i], "\r"), " \t\f")
		}
		key, value, ok := splitProperty(line)
		if !ok {
			problems = append(problems, fmt.Errorf("line %d: want key=value", number))
			continue
		}
		if _, again := properties[key]; again {
			problems = append(problems, fmt.Errorf("line %d: %s is set twice", number, key))
		}
		properties[key] = value
	}
	return properties, errors.Join(problems...)
}

// goesOn reports whether a line ends in an odd number of backslashes.
func goesOn(line string) bool {
	trimmed := strings.TrimRight(line, `\`)
	return (len(line)-len(trimmed))%2 == 1
}

// splitProperty cuts at the first = or : that no backslash stands before.
func splitProperty(line string) (key, value string, ok bool) {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '=', ':':
			key = unescape(strings.TrimSpace(line[:i]))
			return key, unescape(strings.TrimSpace(line[i+1:])), key != ""
		}
	}
	return "", "", false
}

func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
