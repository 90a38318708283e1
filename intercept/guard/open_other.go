//go:build !unix

package guard

import "os"

func open(path string) (*os.File, error) { return os.Open(path) }
