//go:build !linux

package main

import "runtime/debug"

// giveBack returns to the system what starting has left behind.
func giveBack() { debug.FreeOSMemory() }
