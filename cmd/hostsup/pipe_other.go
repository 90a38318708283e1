//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// isBrokenPipe says whether whoever read our output has had enough of it.
func isBrokenPipe(err error) bool {
	var out *outputError
	return errors.As(err, &out) && errors.Is(err, syscall.EPIPE)
}
