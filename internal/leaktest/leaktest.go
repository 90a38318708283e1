// Package leaktest is the TestMain of packages that open files and start
// goroutines: what the tests have left of both fails them.
package leaktest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// poller is how many descriptors the network poller keeps from its first use on.
const poller = 3

// Main runs the tests, looks for what they have left, and ends the program.
// Descriptors are counted on Linux only.
func Main(m *testing.M) {
	before := openFiles()
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if after := openFiles(); after > before+poller {
		fmt.Fprintf(os.Stderr, "%d files open before the tests, %d after\n", before, after)
		code = 1
	}
	os.Exit(code)
}

func openFiles() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}
