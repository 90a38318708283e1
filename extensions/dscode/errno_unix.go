//go:build unix

package dscode

import (
	"errors"
	"syscall"
)

const noProcess = syscall.ESRCH

// isReset reports whether the peer has closed a socket with unread data.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
