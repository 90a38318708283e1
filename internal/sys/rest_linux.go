//go:build (amd64 || arm64) && !cgo

package sys

import (
	"bufio"
	"bytes"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// CanRest reports whether Rest works in this program. It does not with a C
// library in the process, whose memory the kernel writes to.
const CanRest = true

// Rest turns this process into one that waits and has almost no memory: all other
// threads end, and the Go runtime never runs again. Begin must be called on the main
// thread, which must be locked, by the owner of every child of this process. Begin
// returns only with an error; then nothing has changed except that signals are
// blocked.
//
// What is left is a loop of system calls. As soon as there is no other thread, it
// releases the memory. It reaps the children of this process and sends an
// [ExitRecord] of the kind Kind to the socket Sock when Child ends. It ends the
// process with code 0 when no child is left. When something comes on Sock, or its
// other end is closed, it ends the process with code 0, or runs Wake instead.
type Rest struct {
	Sock  int
	Child int
	Kind  byte

	// Wake are the arguments of a new run of this program, with the environment Env and
	// with Sock left open; nil ends the process instead. All signals are blocked in it.
	Wake, Env []string
}

// resting is the state of the loop. It is on its own pages, and has no pointer that
// Go knows.
type resting struct {
	waiting
	shedding
}

// shedding is the way of a process from a program of the Go runtime to a single thread
// without its memory. It is on the pages of the loop that goes on then.
type shedding struct {
	tasks, pid, page uintptr

	given [maxGiven]given
	n     int
	stat  unix.Stat_t
}

// given is a mapping whose memory is released.
type given struct {
	start, end uintptr
	fresh      bool // replaced by a new mapping, filled with zeros
}

// Flags of rt_sigaction.
const (
	onStack  = 0x08000000
	restorer = 0x04000000 // x86 requires it to deliver a signal
)

// maxGiven bounds the mappings: a helper has some thirty.
const maxGiven = 128

// restSize is the size of the state and the strings of the program to run.
const restSize = 64 << 10

// Begin begins the rest. It returns only with an error.
func (r *Rest) Begin() error {
	pages, err := ownPages(restSize)
	if err != nil {
		return err
	}
	s := (*resting)(unsafe.Pointer(&pages[0]))
	s.child = uintptr(r.Child)
	s.record[0] = r.Kind
	signals := -1
	if err = s.wakeup(pages[unsafe.Sizeof(*s):], r.Wake, r.Env); err == nil {
		signals, err = s.prepare(uintptr(unsafe.Pointer(s)))
	}
	if err != nil {
		return err
	}
	s.polls[0] = unix.PollFd{Fd: int32(r.Sock), Events: unix.POLLIN}
	s.polls[1] = unix.PollFd{Fd: int32(signals), Events: unix.POLLIN}
	s.run()
	return nil
}

// prepare blocks all signals, and returns a descriptor that tells of ended children.
// The memory that is released later does not include the mapping at keep.
func (s *shedding) prepare(keep uintptr) (signals int, err error) {
	s.pid, s.page = uintptr(os.Getpid()), uintptr(os.Getpagesize())
	if err := s.mappings(keep); err != nil {
		return -1, err
	}
	tasks, err := unix.Open("/proc/self/task", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	s.tasks = uintptr(tasks)
	if s.threads() < 2 { // the runtime has more, so this kernel does not count them
		unix.Close(tasks)
		return -1, unix.ENOSYS
	}
	// From here on this thread handles no signal; those of children are read.
	signals, err = childSignals()
	if err == nil {
		// A signal makes the other threads end.
		action := [4]uint64{uint64(exitThreadPC()), onStack | restorer, uint64(exitThreadPC()), ^uint64(0)}
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(unix.SIGURG), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		if errno != 0 {
			err = errno
			unix.Close(signals)
		}
	}
	if err != nil {
		unix.Close(tasks)
		return -1, err
	}
	return signals, nil
}

// mappings lists the memory to release: all that is possible except the pages at
// keep and those of the arguments, which ps shows.
func (s *shedding) mappings(keep uintptr) error {
	fd, err := unix.Open("/proc/self/maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), "maps") // os.Open would set the network poller up
	defer f.Close()
	shown := uintptr(unsafe.Pointer(unsafe.StringData(os.Args[0]))) &^ (s.page - 1)
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		m, ok := parseMapping(sc.Bytes())
		fields := bytes.Fields(sc.Bytes())
		if !ok || s.n == len(s.given) || m.start <= keep && keep < m.end {
			continue
		}
		name := ""
		if len(fields) > 5 {
			name = string(fields[5])
		}
		switch {
		case m.clean:
			s.give(m.start, m.end, false)
		case name == "[stack]":
			s.give(m.start, min(max(shown, m.start), m.end), false)
		case len(name) > 0 && name[0] == '[' && name != "[heap]" && !bytes.HasPrefix(fields[5], []byte("[anon")):
			// the kernel's
		case string(fields[1]) == "rw-p":
			s.give(m.start, m.end, true)
		}
	}
	return sc.Err()
}

func (s *shedding) give(start, end uintptr, fresh bool) {
	if start < end {
		s.given[s.n] = given{start, end, fresh}
		s.n++
	}
}

// exitThreadPC is the address of the code that ends a thread.
func exitThreadPC() uintptr

// run is the rest of the process's work: nothing of the Go runtime, no growing of
// the stack, no pointer to memory that the runtime manages.
//
//go:norace
//go:nosplit
//go:noinline
func (s *resting) run() {
	for pause := int64(20_000); ; pause = min(2*pause, 100_000_000) {
		left := [2]int64{0, pause} // the kernel writes to it
		s.turn(uintptr(unsafe.Pointer(&left)))
		if s.alone() {
			break
		}
	}
	s.giveBack()
	s.wait()
}

// giveBack releases all memory except the pages of s and of the stack.
//
//go:norace
//go:nosplit
func (s *shedding) giveBack() {
	var here byte
	low := uintptr(unsafe.Pointer(&here))&^(s.page-1) - s.page
	high := low + 3*s.page // the process never returns to frames above
	for i := 0; i < s.n; i++ {
		g := &s.given[i]
		switch {
		case !g.fresh:
			_, _, _ = syscall.RawSyscall6(unix.SYS_MADVISE, g.start, g.end-g.start, unix.MADV_DONTNEED, 0, 0, 0)
		case g.end <= low || high <= g.start:
			renew(g.start, g.end)
		default:
			renew(g.start, low)
			renew(high, g.end)
		}
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_CLOSE, s.tasks, 0, 0, 0, 0, 0)
}

//go:norace
//go:nosplit
func renew(start, end uintptr) {
	if start < end {
		_, _, _ = syscall.RawSyscall6(unix.SYS_MMAP, start, end-start, unix.PROT_READ|unix.PROT_WRITE,
			unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_FIXED|unix.MAP_NORESERVE, ^uintptr(0), 0)
	}
}

// alone reports whether there is no other thread. If there is, it ends one: a signal
// to the process goes to any thread that does not block it, which is every thread
// but this one. Their numbers are not used, because /proc may belong to another
// namespace.
//
//go:norace
//go:nosplit
func (s *shedding) alone() bool {
	_, _, _ = syscall.RawSyscall6(unix.SYS_KILL, s.pid, uintptr(unix.SIGURG), 0, 0, 0, 0)
	return s.threads() == 1
}

// threads returns the number of threads, 0 if it is not known. It comes from the number
// of links of the folder: a list of the folder ends early where a thread ends meanwhile,
// so that one thread could take itself for the only one.
//
//go:norace
//go:nosplit
func (s *shedding) threads() int {
	if _, _, errno := syscall.RawSyscall6(unix.SYS_FSTAT, s.tasks, uintptr(unsafe.Pointer(&s.stat)), 0, 0, 0, 0); errno != 0 {
		return 0
	}
	const folder = 2 // links of a folder without threads
	return int(s.stat.Nlink) - folder
}
