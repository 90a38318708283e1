//go:build !unix

package control

import (
	"fmt"
	"os"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// Supervisors do not run on this system yet, so there is nothing to lock.
func lockFile(string) (*os.File, int, error) {
	return nil, 0, fmt.Errorf("a supervisor's control socket: %w", sys.ErrUnsupported)
}

func writeOwner(*os.File) error           { return sys.ErrUnsupported }
func sameFile(*os.File) (*os.File, error) { return nil, sys.ErrUnsupported }
func listenAgain(syscall.RawConn) error   { return sys.ErrUnsupported }

func ownerOnly(syscall.RawConn) error { return nil }
func checkFolder(string) error        { return nil }
func ownerOf(os.FileInfo) int         { return -1 }
