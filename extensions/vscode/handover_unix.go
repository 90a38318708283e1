//go:build unix

package vscode

import (
	"net"
	"os"
	"syscall"
)

// sendFile writes b with a copy of a descriptor, which stays as it is: who gets
// it expects one that does not block.
func sendFile(c *net.UnixConn, b []byte, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	n := 0
	if cerr := raw.Control(func(fd uintptr) { n, _, err = c.WriteMsgUnix(b, syscall.UnixRights(int(fd)), nil) }); cerr != nil {
		return cerr
	}
	if err == nil && n < len(b) { // the descriptor went with the first of them
		_, err = c.Write(b[n:])
	}
	return err
}
