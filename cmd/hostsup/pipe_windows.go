package main

import (
	"errors"
	"syscall"
)

// noData is ERROR_NO_DATA: the pipe is being closed.
const noData = syscall.Errno(232)

// isBrokenPipe says whether whoever read our output has had enough of it.
func isBrokenPipe(err error) bool {
	var out *outputError
	return errors.As(err, &out) && (errors.Is(err, syscall.ERROR_BROKEN_PIPE) || errors.Is(err, noData))
}
