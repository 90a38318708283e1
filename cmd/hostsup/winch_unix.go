//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// sizeChanges returns a channel that receives changes of the terminal's size.
func sizeChanges() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGWINCH)
	return c
}
