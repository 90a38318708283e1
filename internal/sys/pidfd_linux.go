package sys

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// PidfdOpen returns a close-on-exec descriptor that refers to process pid.
func PidfdOpen(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

// PidfdSignal sends sig to exactly the process behind pidfd. It returns ESRCH if
// that process is gone, even if another has its number.
func PidfdSignal(pidfd int, sig syscall.Signal) error {
	return unix.PidfdSendSignal(pidfd, sig, nil, 0)
}

// PidfdPid returns the number of the process behind pidfd, as this process sees it;
// -1 if it has been reaped, 0 if it is not visible from here.
func PidfdPid(pidfd int) (int, error) {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(b) {
		if v, ok := bytes.CutPrefix(line, []byte("Pid:")); ok {
			return strconv.Atoi(string(bytes.TrimSpace(v)))
		}
	}
	return 0, ErrUnsupported
}

// siginfo is waitid's description of a child; the union starts at the alignment of a
// pointer.
type siginfo struct {
	signo, errno, code int32
	child              struct {
		_      [0]uintptr
		pid    int32
		uid    uint32
		status int32
	}
	_ [128]byte // more than the kernel writes
}

// Values of siginfo.code for an ended child.
const (
	cldExited = 1
	cldKilled = 2
	cldDumped = 3
)

// PidfdWait checks, without waiting, whether the child behind pidfd has ended. With
// reap an ended child is reaped; otherwise it stays a zombie and keeps its number.
// The error is ECHILD if pidfd is not a child, or was reaped elsewhere.
func PidfdWait(pidfd int, reap bool) (e Exit, ended bool, err error) {
	options := unix.WEXITED | unix.WNOHANG
	if !reap {
		options |= unix.WNOWAIT
	}
	var si siginfo
	var ru unix.Rusage
	for {
		err = unix.Waitid(unix.P_PIDFD, pidfd, (*unix.Siginfo)(unsafe.Pointer(&si)), options, &ru)
		if err != unix.EINTR {
			break
		}
	}
	if err == unix.EAGAIN { // a non-blocking pidfd returns it where WNOHANG returns no error
		return Exit{}, false, nil
	}
	if err != nil || si.child.pid == 0 {
		return Exit{}, false, err
	}
	e = Exit{Code: -1, Usage: Usage{User: ru.Utime.Nano(), System: ru.Stime.Nano(), MaxRSS: int64(ru.Maxrss) * maxRSSUnit}}
	switch si.code {
	case cldExited:
		e.Code = int(si.child.status)
	case cldKilled, cldDumped:
		e.Signal, e.Core = int(si.child.status), si.code == cldDumped
	}
	return e, true, nil
}

// PidfdEnded reports whether the process behind pidfd, which need not be a child,
// has ended.
func PidfdEnded(pidfd int) bool {
	p := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(p, 0)
		if err != unix.EINTR {
			return err != nil || n > 0
		}
	}
}

// HavePidfd reports whether this kernel can wait on pidfds (Linux 5.4).
func HavePidfd() error {
	fd, err := PidfdOpen(os.Getpid())
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// Not a child of this process, so a kernel that knows P_PIDFD answers ECHILD.
	if _, _, err = PidfdWait(fd, false); err == unix.ECHILD {
		return nil
	}
	return ErrUnsupported
}
