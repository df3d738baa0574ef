// Package cli holds what every command of dlqctl shares: its streams, its exit
// codes, and the signals that end it.
package cli
