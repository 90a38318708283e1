//go:build unix && !linux

package sys

import "os"

func growPipe(*os.File, int) {}

// PipeSize is what the kernel buffers in a pipe, in bytes.
func PipeSize(*os.File) (int, error) { return 0, ErrUnsupported }
