//go:build !race

package leaktest

// Race reports that the race detector is built in, which sets memory aside too.
const Race = false
