//go:build unix

package sys

import "os"

// Pipe makes a pipe between this process and a host, the read end first. size is
// what the kernel is asked to buffer, in bytes; 0 keeps its default (64 KiB on
// Linux), and a refused size is not an error. Both ends are close-on-exec.
func Pipe(size int) (r, w *os.File, err error) {
	r, w, err = os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	if size > 0 {
		growPipe(w, size)
	}
	return r, w, nil
}
