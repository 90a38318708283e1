package main

import (
	"runtime/debug"

	"github.com/hostsup/hostsup/internal/sys"
)

// giveBack releases the memory left over from starting: the heap, and the program's
// own pages, most of which were only used for starting.
func giveBack() {
	debug.FreeOSMemory()
	_ = sys.ShedCleanPages() // a failure does no harm
}
