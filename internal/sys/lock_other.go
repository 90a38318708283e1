//go:build !unix && !windows

package sys

import "os"

// Lock returns ErrUnsupported.
func Lock(*os.File) error { return ErrUnsupported }

// Unlock closes f.
func Unlock(f *os.File) error { return f.Close() }
