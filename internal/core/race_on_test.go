//go:build race

package core_test

// raceFactor divides the number of schedules: the race detector makes each
// about ten times slower.
const raceFactor = 10
