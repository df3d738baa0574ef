// Package connect reaches a cluster: from flags, the environment and a
// properties file, and without ever printing what is secret in them.
package connect
