//go:build !race

package core_test

// raceFactor divides the number of schedules: see race_on_test.go.
const raceFactor = 1
