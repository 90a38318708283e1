package main

import (
	"errors"
	"syscall"
)

// noData is ERROR_NO_DATA: the pipe is being closed.
const noData = syscall.Errno(232)

// isBrokenPipe reports whether the reader of the output has closed it.
func isBrokenPipe(err error) bool {
	var out *outputError
	return errors.As(err, &out) && (errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData))
}
