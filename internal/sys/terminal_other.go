//go:build !unix

package sys

import "os"

// Unblocked returns f: this system has no terminals.
func Unblocked(f *os.File) (*os.File, error) { return f, nil }

// ResizeTerminal is not supported on this system.
func ResizeTerminal(*os.File, uint16, uint16) error { return ErrUnsupported }
