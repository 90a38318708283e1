//go:build !linux

package main

import "runtime/debug"

// giveBack releases the memory left over from starting.
func giveBack() { debug.FreeOSMemory() }
