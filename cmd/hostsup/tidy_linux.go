package main

import (
	"runtime/debug"

	"github.com/hostsup/hostsup/internal/sys"
)

// giveBack returns to the system what starting has left behind: the heap, and
// the program's own pages, of which most were for starting.
func giveBack() {
	debug.FreeOSMemory()
	_ = sys.ShedCleanPages() // only a wish
}
