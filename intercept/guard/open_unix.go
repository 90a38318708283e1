//go:build unix

package guard

import (
	"os"
	"syscall"
)

// open opens a file for reading, and does not wait for the other end should it
// be a pipe by now.
func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
