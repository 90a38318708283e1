package sys

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// WatchedCall is a system call that is reported to an observer: number NR, if the
// low half of argument Arg, and Mask, equals Want (Not: differs from Want). A Mask
// of 0 matches every call of that number. Entries of the same number add up.
type WatchedCall struct {
	NR   int
	Arg  int
	Mask uint32
	Want uint32
	Not  bool
}

// WatchProgram makes the filter that reports watched calls to the listener and lets
// all other calls pass, including calls of foreign ABIs.
func WatchProgram(calls []WatchedCall) Filter {
	const (
		load = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		jeq  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		and  = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
		ret  = unix.BPF_RET | unix.BPF_K

		offNR, offArch, offArgs = 0, 4, 16
	)
	p := Filter{
		{Code: load, K: offArch},
		{Code: jeq, Jt: 1, K: NativeArch},
		{Code: ret, K: unix.SECCOMP_RET_ALLOW},
		{Code: load, K: offNR},
	}
	for _, c := range calls {
		if c.Mask == 0 {
			p = append(p,
				unix.SockFilter{Code: jeq, Jf: 1, K: uint32(c.NR)},
				unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF})
			continue
		}
		hit := unix.SockFilter{Code: jeq, Jf: 1, K: c.Want}
		if c.Not {
			hit.Jt, hit.Jf = 1, 0
		}
		p = append(p,
			unix.SockFilter{Code: jeq, Jf: 5, K: uint32(c.NR)},
			unix.SockFilter{Code: load, K: offArgs + 8*uint32(c.Arg)}, // little endian: the low half is first
			unix.SockFilter{Code: and, K: c.Mask},
			hit,
			unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_USER_NOTIF},
			unix.SockFilter{Code: load, K: offNR})
	}
	return append(p, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}

// NativeArch is seccomp's number of this processor's own ABI.
var NativeArch = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]

// WatchThread puts a filter on the calling thread and its future children, and
// returns the listener that receives the watched calls, close-on-exec. The thread
// must have no_new_privs, or the right to do without. A thread and its descendants
// can have only one listener.
func WatchThread(p Filter) (listener int, err error) {
	prog := unix.SockFprog{Len: uint16(len(p)), Filter: &p[0]}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	runtime.KeepAlive(p)
	if errno != 0 {
		return -1, os.NewSyscallError("seccomp", errno)
	}
	return int(fd), nil
}

// Notification is one watched call, whose thread waits for an answer.
type Notification struct {
	ID    uint64
	Pid   uint32 // the thread, as numbered in the reader's pid namespace; 0 when it is in another one
	Flags uint32
	NR    int32
	Arch  uint32
	IP    uint64
	Args  [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	val   int64
	error int32
	flags uint32
}

// ReceiveNotification takes the next call from a listener that is ready to be read.
// ENOENT means that the call ended before it could be taken, EPIPE that no thread
// with the filter is left.
func ReceiveNotification(listener int) (n Notification, err error) {
	p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	switch ready, err := unix.Poll(p, 0); {
	case err == unix.EINTR, err == nil && ready == 0:
		return n, unix.ENOENT
	case err != nil:
		return n, err
	case p[0].Revents&unix.POLLIN == 0:
		return n, unix.EPIPE
	}
	if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n)); err != nil {
		return Notification{}, err
	}
	return n, nil
}

// NotificationComes waits for at most wait on the calling thread, which is faster
// than the network poller if another call is likely to come soon.
func NotificationComes(listener int, wait time.Duration) bool {
	p := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
	n, err := unix.Poll(p, int(wait.Milliseconds()))
	return err == nil && n > 0 && p[0].Revents&unix.POLLIN != 0
}

// NotificationValid reports whether the call still waits. If so, what was read of
// its thread before was read from that thread, not from another with the same
// number.
func NotificationValid(listener int, id uint64) bool {
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id)) == nil
}

// ContinueNotification lets the call continue as if it were not watched.
func ContinueNotification(listener int, id uint64) error {
	r := response{id: id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

// RefuseNotification makes the call fail.
func RefuseNotification(listener int, id uint64, errno syscall.Errno) error {
	r := response{id: id, error: -int32(errno)}
	return ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r))
}

func ioctl(fd int, req uint, arg unsafe.Pointer) error {
	for {
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(req), uintptr(arg))
		switch errno {
		case 0:
			return nil
		case unix.EINTR:
			continue
		}
		return errno
	}
}

// ReadMemory reads the memory of another process at addr, as far as it is mapped.
func ReadMemory(pid int, addr uint64, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	return unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, 0)
}

// IsDatagram reports whether a descriptor of another process, given by one of its
// threads, is a datagram socket. known is false if the descriptor cannot be
// examined.
func IsDatagram(tid, fd int) (is, known bool) {
	pid := tid
	if b, err := os.ReadFile("/proc/" + strconv.Itoa(tid) + "/status"); err == nil {
		if _, rest, ok := strings.Cut(string(b), "\nTgid:"); ok { // threads have no pidfd of their own
			line, _, _ := strings.Cut(rest, "\n")
			if n, err := strconv.Atoi(strings.TrimSpace(line)); err == nil {
				pid = n
			}
		}
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(pidfd)
	own, err := unix.PidfdGetfd(pidfd, fd, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(own)
	kind, err := unix.GetsockoptInt(own, unix.SOL_SOCKET, unix.SO_TYPE)
	return kind == unix.SOCK_DGRAM, err == nil
}
