package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Filter is a kernel program that decides about system calls.
type Filter []unix.SockFilter

// FilterRule is the decision about one system call: that of the first of its Checks
// that holds, else Otherwise.
type FilterRule struct {
	Number    int
	Checks    []FilterCheck
	Otherwise FilterAction
}

// FilterCheck tests arguments of a call: it holds if all of its tests do.
type FilterCheck struct {
	Tests  []FilterTest
	Action FilterAction
}

// FilterTest compares 32 bits of an argument: it holds if argument & Mask is between
// First and Last, both included.
type FilterTest struct {
	Arg         int
	High        bool // the upper 32 bits
	Mask        uint32
	First, Last uint32
	Differ      bool // holds when it is not between them
}

// FilterAction is the answer of a filter.
type FilterAction uint32

// The actions.
const (
	FilterAllow  FilterAction = unix.SECCOMP_RET_ALLOW
	FilterKill   FilterAction = unix.SECCOMP_RET_KILL_PROCESS
	FilterNotify FilterAction = unix.SECCOMP_RET_USER_NOTIF
)

// FilterErrno returns the action that fails the call.
func FilterErrno(errno unix.Errno) FilterAction {
	return FilterAction(unix.SECCOMP_RET_ERRNO | uint32(errno)&unix.SECCOMP_RET_DATA)
}

// Offsets in struct seccomp_data, on machines that store the low half of an argument
// first, as both supported processors do.
const (
	dataNumber = 0
	dataArch   = 4
	dataArgs   = 16
)

// HaveFilter returns nil if the kernel has system call filters with an action.
func HaveFilter(a FilterAction) error {
	action := uint32(a) & unix.SECCOMP_RET_ACTION_FULL
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_ACTION_AVAIL, 0, uintptr(unsafe.Pointer(&action)))
	switch {
	case filterArch == 0:
		return ErrUnsupported
	case errno != 0:
		return errno
	}
	return nil
}

// Encode returns f as numbers, to be sent to another process.
func (f Filter) Encode() []uint64 {
	out := make([]uint64, len(f))
	for i, x := range f {
		out[i] = uint64(x.Code)<<48 | uint64(x.Jt)<<40 | uint64(x.Jf)<<32 | uint64(x.K)
	}
	return out
}

// DecodeFilter decodes what Encode returned.
func DecodeFilter(in []uint64) Filter {
	f := make(Filter, len(in))
	for i, x := range in {
		f[i] = unix.SockFilter{Code: uint16(x >> 48), Jt: uint8(x >> 40), Jf: uint8(x >> 32), K: uint32(x)}
	}
	return f
}
