//go:build !unix

package sandbox

import (
	"fmt"
	"io/fs"
	"os"
)

func newLauncher(Options) (launcher, error) {
	return nil, fmt.Errorf("starting hosts: %w", ErrUnsupported)
}

func mayRun(string, fs.FileInfo) error { return nil }

func thisProgram() (string, error) { return os.Executable() }
