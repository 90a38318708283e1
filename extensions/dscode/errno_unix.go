//go:build unix

package dscode

import (
	"errors"
	"syscall"
)

const noProcess = syscall.ESRCH

// isReset says whether the other side closed a socket with something unread.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
