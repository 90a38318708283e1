//go:build !unix

package sys

import (
	"math"
	"os"
	"syscall"
)

// NoFollow is 0 on this system: no flag of os.OpenFile refuses a symbolic link.
const NoFollow = 0

// Cred holds the peer credentials of a unix socket.
type Cred struct{ Pid, Uid, Gid int }

// PeerCred is not supported on this system.
func PeerCred(syscall.Conn) (Cred, error) { return Cred{}, ErrUnsupported }

// SocketPair is not supported on this system.
func SocketPair() (ours, theirs *os.File, err error) { return nil, nil, ErrUnsupported }

// IsSocket returns false: it is unknown on this system.
func IsSocket(int) bool { return false }

// DescriptorLimit returns the largest number: the limit is unknown on this system.
func DescriptorLimit() int { return math.MaxInt32 }

// Pipe makes a pipe, the read end first; size has no effect on this system.
func Pipe(size int) (r, w *os.File, err error) { return os.Pipe() }

// Kill is not supported on this system.
func Kill(pid int, sig syscall.Signal) error { return ErrUnsupported }

// ReadNow is not supported on this system.
func ReadNow(fd uintptr, b []byte) (n int, again bool, err error) { return 0, false, ErrUnsupported }

// Queued is not supported on this system.
func Queued(fd uintptr) (int, error) { return 0, ErrUnsupported }

// Start is not supported on this system.
func (p *Process) Start() (pid, pidfd int, err error) { return 0, -1, ErrUnsupported }
