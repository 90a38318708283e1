//go:build amd64 || arm64

package sys

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Relay turns this process into one that stands between a command, which is a child of
// this process, and one client at a time. It forwards the client's input to the command
// in whole messages only, and keeps the command's output until the client acknowledges
// it. It reaps all children. Like [Rest] it has neither the Go runtime nor its memory,
// where [CanRest] is true; elsewhere the runtime stays, but is not used.
//
// Begin must be called on the main thread, which must be locked, by the owner of every
// child of this process. It returns only with an error, before anything has changed
// except that signals are blocked.
//
// The process ends with code 0 once no child is left and the client has asked for that
// by RelayRelease; or when it has no client, and RelaySurvive was not set or the file Lock was
// removed, as then no client finds it any more. Until then all
// children are killed, if necessary by a new run of this program (Wake).
type Relay struct {
	Sock   int // the connection to the first client, whose number Listen gets later: a helper's own
	Listen int // a listening unix socket for the next clients
	Lock   int // a file that stays open as long as this process, also in Wake
	Child  int // the command

	// Input, Output and Errors are this process's ends of three pipes, non-blocking.
	Input, Output, Errors int

	// Window are the bytes that are held of stdin, stdout and stderr: multiples of the size
	// of a page. Most bounds a single message to stdin, and what a client may have kept
	// beyond Window, in bytes. Memory beyond Window is taken when it is needed, and released
	// at once when it is not needed any more.
	Window [3]int
	Most   int

	// Wake are the arguments of a new run of this program, with the environment Env, that
	// kills all children of this process where the loop does not succeed.
	Wake, Env []string
}

// relay is the state of the loop. It is at the start of its pages, and has no pointer that
// Go knows. Functions of it access other memory by their distance from it.
type relay struct {
	waiting
	shedding
	relayConn

	fds      [6]unix.PollFd
	children uintptr // the list of the children of this process
	lock     uintptr
	stat     unix.Stat_t // of lock
	most     uintptr
	page     uintptr
	timeout  unix.Timespec
	passes   int
	list     [4096]byte            // text of children
	busy     [RelayReportSize]byte // the message to another client

	in   relayRing
	out  [2]relayRing
	pipe [3]int32 // stdin, stdout, stderr; -1 when closed

	survive, killing, releasing, refusing, last, inputEnd, exited bool
}

// relayConn is what belongs to the connection to a client.
type relayConn struct {
	conn int32 // -1: no client

	head  [RelayOrderSize]byte // of the message that arrives
	headN uintptr
	left  uintptr // bytes of it that are missing

	msg      [RelayReportSize + RelayStateSize]byte // what is sent before the bytes of a ring
	msgAt    uintptr
	msgN     uintptr
	body     uintptr // the ring
	bodyAt   uint64
	bodyN    uintptr
	turns    uintptr // which stream is next
	reported uint64  // the input that the client knows to be written

	greeted, toldExit, toldGone, ask, stuck bool
	deaf                                    bool // the client reads no more; what it has sent is still read
	toldEOF                                 [2]bool
	vec                                     [3][2]uintptr // struct iovec
}

// relayRing holds the bytes of a stream between two offsets.
type relayRing struct {
	mem, size   uintptr // the memory in use
	base, small uintptr // its usual memory

	from, end uint64
	// mid is, of the input, the end of the last message that is whole; of output, the end
	// of what the client has been sent.
	mid uint64
}

const relayArena = 16 << 10

// Begin begins the loop. It returns only with an error.
func (r *Relay) Begin() error {
	page := unix.Getpagesize()
	up := func(n int) int { return (n + page - 1) &^ (page - 1) }
	first := up(int(unsafe.Sizeof(relay{})) + relayArena)
	size := first
	for _, n := range r.Window {
		if n <= 0 || n%page != 0 || n > up(r.Most) {
			return fmt.Errorf("a window of %d bytes: %w", n, unix.EINVAL)
		}
		size += n
	}
	pages, err := ownPages(size)
	if err != nil {
		return err
	}
	s := (*relay)(unsafe.Pointer(&pages[0]))
	if err = s.begin(r, pages[unsafe.Sizeof(*s):first]); err != nil {
		return err
	}
	s.most, s.page = uintptr(up(r.Most)), uintptr(page)
	at := uintptr(unsafe.Pointer(s)) + uintptr(first)
	for i, ring := range []*relayRing{&s.in, &s.out[0], &s.out[1]} {
		n := uintptr(r.Window[i])
		ring.mem, ring.size, ring.base, ring.small = at, n, at, n
		at += n
	}
	s.run()
	return nil
}

func (s *relay) begin(r *Relay, a arena) error {
	s.child = uintptr(r.Child)
	if err := s.wakeup(a, r.Wake, r.Env); err != nil {
		return err
	}
	list, err := unix.Open("/proc/thread-self/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("/proc/thread-self/children: %w", err)
	}
	conn, err := HighFD(r.Sock, r.Sock+1)
	if err == nil {
		if err = unix.SetNonblock(conn, true); err == nil {
			err = unix.Dup3(r.Listen, r.Sock, unix.O_CLOEXEC)
		}
	}
	if err == nil {
		err = unix.SetNonblock(r.Sock, true)
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(r.Lock), unix.F_SETFD, 0)
	}
	signals := -1
	if err == nil {
		_ = unix.Close(r.Listen)
		signals, err = s.prepare(uintptr(unsafe.Pointer(s)))
	}
	if err != nil {
		return err
	}
	s.polls[0].Fd, s.polls[1].Fd = int32(r.Sock), int32(signals)
	s.children, s.lock, s.conn = uintptr(list), uintptr(r.Lock), int32(conn)
	s.pipe = [3]int32{int32(r.Input), int32(r.Output), int32(r.Errors)}
	return nil
}
