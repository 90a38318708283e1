//go:build race

package leaktest

// Race reports whether the race detector is built in, which allocates too.
const Race = true
