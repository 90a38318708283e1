//go:build !unix

package sys

import (
	"math"
	"os"
	"syscall"
)

// NoFollow is 0 here: no flag of os.OpenFile refuses a symbolic link.
const NoFollow = 0

// Cred says who is at the other end of a unix socket.
type Cred struct{ Pid, Uid, Gid int }

// PeerCred is not known here.
func PeerCred(syscall.Conn) (Cred, error) { return Cred{}, ErrUnsupported }

// SocketPair cannot be made here.
func SocketPair() (ours, theirs *os.File, err error) { return nil, nil, ErrUnsupported }

// IsSocket is not known here.
func IsSocket(int) bool { return false }

// DescriptorLimit is not known here.
func DescriptorLimit() int { return math.MaxInt32 }

// Pipe makes a pipe, the read end first; size is not used here.
func Pipe(size int) (r, w *os.File, err error) { return os.Pipe() }

// Kill cannot signal here.
func Kill(pid int, sig syscall.Signal) error { return ErrUnsupported }

// ReadNow cannot read without waiting here.
func ReadNow(fd uintptr, b []byte) (n int, again bool, err error) { return 0, false, ErrUnsupported }

// Queued is not known here.
func Queued(fd uintptr) (int, error) { return 0, ErrUnsupported }

// Start cannot start a process here.
func (p *Process) Start() (pid, pidfd int, err error) { return 0, -1, ErrUnsupported }
