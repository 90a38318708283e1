//go:build amd64 || arm64

package sys

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The functions of this file are the rest of the process's work: nothing of the Go
// runtime, no growing of the stack, no pointer to memory that the runtime manages.

//go:norace
//go:nosplit
//go:noinline
func (s *relay) run() {
	for {
		s.turn(20_000)
		if s.alone() {
			break
		}
	}
	s.giveBack()
	for {
		s.turn(relayTick)
	}
}

// Times of a relay that kills: between two passes, in nanoseconds, and how many passes
// there are before another program takes over.
const (
	killPause  = 5_000_000
	killPasses = 200
)

// lostPause is how often a relay without a client looks whether one can find it, in nanoseconds.
const lostPause = 2_000_000_000

// turn handles what has come, and waits for more, pause nanoseconds long; 0: for ever.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) turn(pause int64) {
	s.last = s.collect() || s.last
	if s.ended {
		s.ended, s.exited = false, true
	}
	if s.conn < 0 && s.survive {
		if s.lost() {
			s.survive, s.killing = false, true
			s.refuse()
		} else if pause == 0 {
			pause = lostPause
		}
	}
	if s.last && (s.releasing || s.conn < 0 && !s.survive) {
		s.waiting.exit()
	}
	if s.killing && !s.last {
		s.killAll()
		pause = killPause
	}
	s.send()
	s.arrange()
	timeout := uintptr(0)
	if s.timeout.Sec, s.timeout.Nsec = pause/1e9, pause%1e9; pause != 0 {
		timeout = uintptr(unsafe.Pointer(&s.timeout))
	}
	n, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&s.fds[0])), uintptr(len(s.fds)), timeout, 0, 0, 0)
	if errno != 0 || n == 0 {
		return
	}
	if s.fds[1].Revents != 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_READ, uintptr(s.fds[1].Fd), uintptr(unsafe.Pointer(&s.signal)), unsafe.Sizeof(s.signal), 0, 0, 0)
	}
	for i := uintptr(0); i < 2; i++ {
		if s.fds[4+i].Revents != 0 {
			s.drain(i)
		}
	}
	if s.fds[2].Revents != 0 {
		s.receive()
	}
	if s.fds[0].Revents != 0 {
		s.accept()
	}
	s.feed()
}

// lost reports whether the file by which a client knows that this process runs was removed.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) lost() bool {
	_, _, errno := syscall.RawSyscall6(unix.SYS_FSTAT, s.lock, uintptr(unsafe.Pointer(&s.stat)), 0, 0, 0, 0)
	return errno == 0 && s.stat.Nlink == 0
}

// arrange sets what the process waits for.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) arrange() {
	for i := range s.fds {
		s.fds[i].Events, s.fds[i].Revents = unix.POLLIN, 0
	}
	s.fds[0].Fd, s.fds[1].Fd, s.fds[2].Fd = s.polls[0].Fd, s.polls[1].Fd, s.conn
	if s.refusing {
		s.fds[0].Fd = -1
	}
	if s.stuck {
		s.fds[2].Events |= unix.POLLOUT
	}
	s.fds[3].Fd, s.fds[3].Events = -1, unix.POLLOUT
	if s.in.mid > s.in.from {
		s.fds[3].Fd = s.pipe[0]
	}
	for i := range s.out {
		s.fds[4+i].Fd = -1
		if s.out[i].end-s.out[i].from < uint64(s.out[i].size) {
			s.fds[4+i].Fd = s.pipe[1+i]
		}
	}
}

// killAll kills the children of this process that its list begins with. Theirs become
// children of this process.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) killAll() {
	if s.passes++; s.passes > killPasses {
		s.refuse()
		s.wake()
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_LSEEK, s.children, 0, 0, 0, 0, 0)
	n, _, errno := syscall.RawSyscall6(unix.SYS_READ, s.children, uintptr(unsafe.Pointer(&s.list[0])), unsafe.Sizeof(s.list), 0, 0, 0)
	if errno != 0 {
		return
	}
	pid := uintptr(0)
	for i := uintptr(0); i < n; i++ {
		c := *(*byte)(unsafe.Add(unsafe.Pointer(&s.list), i))
		switch {
		case c >= '0' && c <= '9':
			pid = 10*pid + uintptr(c-'0')
		case pid != 0: // only this process reaps it, so its number is its own
			_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, pid, uintptr(unix.SIGKILL), 0, 0, 0, 0)
			pid = 0
		}
	}
}

// accept connects a client, or tells it that there is another one.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) accept() {
	fd, _, errno := syscall.RawSyscall6(unix.SYS_ACCEPT4, uintptr(s.polls[0].Fd), 0, 0, unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0, 0)
	if errno != 0 {
		return
	}
	if s.conn >= 0 {
		s.busy = [RelayReportSize]byte{0: RelayBusy}
		_, _, _ = syscall.RawSyscall6(unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&s.busy)), RelayReportSize, 0, 0, 0)
		_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, fd, 0, 0, 0, 0, 0)
		return
	}
	s.conn = int32(fd)
}

// lose ends the connection. What a client has not acknowledged is sent to the next one,
// and what it has not sent as a whole is forgotten.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) lose() {
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(s.conn), 0, 0, 0, 0, 0)
	s.relayConn = relayConn{conn: -1}
	s.in.end = s.in.mid
	for i := range s.out {
		s.out[i].mid = s.out[i].from
	}
	if !s.survive {
		s.killing = true
		s.refuse()
	}
}

// refuse refuses further clients. The socket stays open for the program of wake.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) refuse() {
	_, _, _ = syscall.RawSyscall6(unix.SYS_SHUTDOWN, uintptr(s.polls[0].Fd), unix.SHUT_RDWR, 0, 0, 0, 0)
	s.refusing = true
}

// feed writes to stdin, and closes it after the last byte.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) feed() {
	for s.pipe[0] >= 0 && s.in.mid > s.in.from {
		n := s.in.parts(&s.vec, 0, s.in.from, uintptr(s.in.mid-s.in.from))
		done, _, errno := syscall.RawSyscall6(unix.SYS_WRITEV, uintptr(s.pipe[0]), uintptr(unsafe.Pointer(&s.vec)), n, 0, 0, 0)
		if errno == unix.EINTR {
			continue
		}
		if errno == unix.EAGAIN {
			break
		}
		if errno != 0 { // no process reads it
			s.shut(0)
			break
		}
		s.in.from += uint64(done)
	}
	if s.pipe[0] < 0 {
		s.in.from = s.in.mid
	}
	if s.in.from == s.in.mid {
		if s.inputEnd {
			s.shut(0)
		}
		if s.in.from == s.in.end && s.left == 0 {
			s.in.shrink(s)
		}
	}
}

// drain reads from stdout or stderr.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) drain(i uintptr) {
	r := &s.out[i]
	n := r.parts(&s.vec, 0, r.end, r.size-uintptr(r.end-r.from))
	done, _, errno := syscall.RawSyscall6(unix.SYS_READV, uintptr(s.pipe[1+i]), uintptr(unsafe.Pointer(&s.vec)), n, 0, 0, 0)
	switch {
	case errno == unix.EINTR || errno == unix.EAGAIN:
	case errno != 0 || done == 0:
		s.shut(1 + i)
	default:
		r.end += uint64(done)
	}
}

//go:norace
//go:nosplit
//go:nocheckptr
func (s *relay) shut(i uintptr) {
	if s.pipe[i] >= 0 {
		_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, uintptr(s.pipe[i]), 0, 0, 0, 0, 0)
		s.pipe[i] = -1
	}
}

// parts sets the parts of vec from first on to n bytes of the ring at an offset, and
// returns how many parts there are.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *relayRing) parts(vec *[3][2]uintptr, first uintptr, offset uint64, n uintptr) uintptr {
	at := uintptr(offset % uint64(r.size))
	one := min(n, r.size-at)
	vec[first] = [2]uintptr{r.mem + at, one}
	if one == n {
		return first + 1
	}
	vec[first+1] = [2]uintptr{r.mem, n - one}
	return first + 2
}

// grow makes room for size bytes, and reports whether there is memory for that.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *relayRing) grow(s *relay, size uintptr) bool {
	size = (size + s.page - 1) &^ (s.page - 1)
	if size <= r.size {
		return true
	}
	mem, _, errno := syscall.RawSyscall6(unix.SYS_MMAP, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, ^uintptr(0), 0)
	if errno != 0 {
		return false
	}
	r.move(s, mem, size)
	return true
}

// shrink goes back to the usual memory, if that holds what there is.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *relayRing) shrink(s *relay) {
	if r.mem != r.base && r.end-r.from <= uint64(r.small) {
		r.move(s, r.base, r.small)
	}
}

// move moves the ring into other memory, and releases the memory that it was in unless
// that is its usual memory.
//
//go:norace
//go:nosplit
//go:nocheckptr
func (r *relayRing) move(s *relay, mem, size uintptr) {
	here := uintptr(unsafe.Pointer(s))
	for at := r.from; at < r.end; {
		from, to := uintptr(at%uint64(r.size)), uintptr(at%uint64(size))
		n := min(r.size-from, size-to, uintptr(r.end-at))
		copy(unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), mem+to-here)), n), unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(s), r.mem+from-here)), n))
		at += uint64(n)
	}
	if r.mem != r.base {
		_, _, _ = syscall.RawSyscall6(unix.SYS_MUNMAP, r.mem, r.size, 0, 0, 0, 0)
	}
	r.mem, r.size = mem, size
}
