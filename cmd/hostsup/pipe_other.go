//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// isBrokenPipe reports whether the reader of the output has closed it.
func isBrokenPipe(err error) bool {
	var out *outputError
	return errors.As(err, &out) && errors.Is(err, syscall.EPIPE)
}
