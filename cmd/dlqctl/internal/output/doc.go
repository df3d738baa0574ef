// Package output writes what dlqctl found: tables for people, tab-separated
// text for pipes, and JSON. Whatever bytes a record holds, none of them reach a
// terminal as a command.
package output
