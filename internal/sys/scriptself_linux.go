package sys

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Attributes and rights of a process, as steps of a script.

// Chdir changes the working folder.
func (s *Script) Chdir(dir string) error {
	p, err := s.str(dir)
	s.add(unix.SYS_CHDIR, p)
	return err
}

// Groups sets the supplementary groups. Without arguments the process has none.
func (s *Script) Groups(groups ...int) {
	if len(groups) == 0 {
		s.add(unix.SYS_SETGROUPS, 0, 0)
		return
	}
	var list []byte
	for _, g := range groups {
		list = binary.NativeEndian.AppendUint32(list, uint32(g))
	}
	s.add(unix.SYS_SETGROUPS, uintptr(len(groups)), s.bytes(list))
}

// IDs changes user and group.
func (s *Script) IDs(uid, gid int) {
	s.add(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid))
	s.add(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
}

// ActAs makes the process access and make files as a user and group, with the
// capabilities that the calling process has now. A process that gets a signal when
// its parent ends must request it again.
func (s *Script) ActAs(uid, gid int) error {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&h, &caps[0]); err != nil {
		return err
	}
	s.add(unix.SYS_SETFSGID, uintptr(gid))
	s.add(unix.SYS_SETFSUID, uintptr(uid)) // takes capabilities away, and always returns the previous user
	is := place[int32](s)
	*is = int32(uid)
	s.add(unix.SYS_SETFSUID, uintptr(uid)).is = is
	s.add(unix.SYS_CAPSET, hold(s, h), hold(s, caps))
	return nil
}

// NoBounding empties the bounding set of capabilities. It fails for a process that
// may not do that, except an ordinary user's in no namespace of its own: that
// process has no capabilities, and gains none once NoNewPrivileges is set.
func (s *Script) NoBounding(ordinary bool) error {
	last, err := lastCapability()
	for c := uintptr(0); err == nil && c <= last; c++ {
		s.add(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c).ignore = ordinary
	}
	return err
}

// NoBounding is Script.NoBounding for the calling thread, which must be locked and
// must end locked: the set cannot be restored.
func NoBounding() error {
	last, err := lastCapability()
	if err != nil {
		return err
	}
	for c := uintptr(0); c <= last; c++ {
		_, _, errno := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0)
		if errno != 0 && (errno != unix.EPERM || unix.Geteuid() == 0) {
			return fmt.Errorf("empty the bounding set of capabilities: capability %d: %w", c, errno)
		}
	}
	return nil
}

// lastCapability returns the highest number of a capability that the kernel has.
// Probing them one by one could miss some, because any error would end the search.
func lastCapability() (uintptr, error) {
	b, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 6)
	return uintptr(n), err
}

// NoCapabilities gives up all capabilities.
func (s *Script) NoCapabilities() {
	s.add(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	s.add(unix.SYS_CAPSET, hold(s, h), hold(s, [2]unix.CapUserData{}))
}

// NoNewPrivileges prevents later calls of execve from granting rights.
func (s *Script) NoNewPrivileges() { s.add(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1) }

// NoWrittenCode prevents memory that is or was writable from becoming executable.
func (s *Script) NoWrittenCode() {
	s.add(unix.SYS_PRCTL, unix.PR_SET_MDWE, unix.PR_MDWE_REFUSE_EXEC_GAIN)
}

// Filter installs a system call filter.
func (s *Script) Filter(f Filter) {
	if len(f) == 0 {
		return
	}
	s.add(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, s.program(f))
}

// Observe installs a filter that reports calls, and sends its listener's descriptor
// to the other end of the socket sock, with text.
func (s *Script) Observe(f Filter, sock int, text []byte) {
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV)
	listener := s.opens(s.add(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, s.program(f)))
	s.Send(sock, text, listener)
}

// Send sends text with a descriptor to the other end of the socket sock. text must
// have at least one byte.
func (s *Script) Send(sock int, text []byte, fd Opened) *call {
	const fdSize = 4
	oob := unsafe.Slice((*byte)(s.alloc(uintptr(unix.CmsgSpace(fdSize)))), unix.CmsgSpace(fdSize))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&oob[0]))
	h.Level, h.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	h.SetLen(unix.CmsgLen(fdSize))
	iov := place[unix.Iovec](s)
	iov.Base = list(s, text)
	iov.SetLen(len(text))
	msg := place[unix.Msghdr](s)
	msg.Iov, msg.Control = iov, &oob[0]
	msg.SetIovlen(1)
	msg.SetControllen(len(oob))
	c := s.add(unix.SYS_SENDMSG, uintptr(sock), uintptr(unsafe.Pointer(msg)), unix.MSG_NOSIGNAL)
	c.from, c.to = fd.fd, (*int32)(unsafe.Pointer(&oob[unix.CmsgLen(0)]))
	return c
}

func (s *Script) program(f Filter) uintptr {
	return hold(s, unix.SockFprog{Len: uint16(len(f)), Filter: list(s, f)})
}

// Limit lowers a limit of the process, hard and soft.
func (s *Script) Limit(resource int, value uint64) {
	s.add(unix.SYS_PRLIMIT64, 0, uintptr(resource), hold(s, unix.Rlimit{Cur: value, Max: value}), 0)
}
