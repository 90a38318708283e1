//go:build !race

package leaktest

import "os"

// Race reports whether the race detector is built in, which allocates too.
const Race = false

// Exit is [os.Exit] for a program that a test has started, such as a host that the test
// program plays. With the race detector it does not sleep for a second first, which a
// supervisor that stops the host would wait for, unless a race was reported.
func Exit(code int) { os.Exit(code) }
