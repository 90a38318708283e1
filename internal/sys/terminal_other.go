//go:build !unix

package sys

import "os"

// Unblocked returns f: there are no terminals here.
func Unblocked(f *os.File) (*os.File, error) { return f, nil }

// ResizeTerminal is not supported here.
func ResizeTerminal(*os.File, uint16, uint16) error { return ErrUnsupported }
