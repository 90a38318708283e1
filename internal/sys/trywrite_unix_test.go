//go:build unix

package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A full pipe or socket must take nothing, and the call must not block.
func TestTryWriteBlocking(t *testing.T) {
	pipe := func() [2]int {
		var p [2]int
		if err := syscall.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		return p
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, fds := range map[string][2]int{"pipe": pipe(), "socket": pair} {
		t.Run(name, func(t *testing.T) {
			r, w := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
			defer r.Close()
			defer w.Close()
			raw, err := w.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			piece := bytes.Repeat([]byte("x"), pipeBuf)
			total := 0
			for {
				n, err := TryWriteBlocking(raw, piece)
				if err != nil {
					t.Fatal(err)
				}
				if n == 0 {
					break
				}
				total += n
			}
			got := 0
			for buf := make([]byte, 1<<16); got < total; {
				n, err := r.Read(buf)
				if err != nil {
					t.Fatal(err)
				}
				got += n
			}
			if n, err := TryWriteBlocking(raw, piece); n != len(piece) || err != nil || total == 0 {
				t.Errorf("with room again, after %d bytes: %d %v", total, n, err)
			}
			r.Close()
			if _, err := TryWriteBlocking(raw, piece); name == "socket" && err == nil {
				t.Error("nobody reads, and there is no error")
			}
		})
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if n, err := TryWriteBlocking(raw, []byte("x")); n != 0 || err != nil {
		t.Errorf("a file: %d %v", n, err)
	}
}
