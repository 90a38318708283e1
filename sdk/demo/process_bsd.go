//go:build unix && !linux

package demo

import (
	"os/signal"
	"syscall"
)

// resetAction gives up what this program does about sig; Go's runtime may
// still turn it into an exit with a trace.
func resetAction(sig syscall.Signal) error {
	signal.Reset(sig)
	return nil
}
