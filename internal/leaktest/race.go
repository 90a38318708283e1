//go:build race

package leaktest

import (
	"os"
	"runtime"
	"syscall"
)

// Race reports whether the race detector is built in, which allocates too.
const Race = true

// Exit is [os.Exit] for a program that a test has started, such as a host that the test
// program plays. With the race detector it does not sleep for a second first, which a
// supervisor that stops the host would wait for, unless a race was reported.
//
// The variable GORACE does the same where the program gets it. A host gets only what is
// configured.
func Exit(code int) {
	if runtime.RaceErrors() == 0 {
		syscall.Exit(code)
	}
	os.Exit(code) // with the exit code of the detector
}
