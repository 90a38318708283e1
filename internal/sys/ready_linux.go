//go:build !hostsup_posix

package sys

import (
	"os"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// Waiter is notified when its descriptor is ready.
type Waiter interface {
	// Ready is called when the descriptor can be read or is at its end, once for each
	// time it was armed. It runs on the goroutine that all watches share and must not
	// block.
	Ready()
}

// Watch waits for a descriptor to become ready without a goroutine of its own: all
// watches of this process share one, which runs while there is a watch. The zero
// value watches nothing.
type Watch struct {
	id     uint64
	fd     int
	events uint32
}

// NewWatch arms a watch of fd, which should be non-blocking and must stay open until
// Close. Ready may be called before NewWatch has returned. Errors: EPERM for
// descriptors that cannot be polled (files, folders); EEXIST for a descriptor that
// is watched already; ENOSPC and ENOMEM, ENFILE and EMFILE.
func NewWatch(fd int, w Waiter) (Watch, error) {
	return shared.add(fd, unix.EPOLLIN|unix.EPOLLRDHUP, w)
}

// NewChangeWatch is NewWatch for a kernel file that signals changes (cgroup.events):
// Ready is called when the file has changed since it was last read.
func NewChangeWatch(fd int, w Waiter) (Watch, error) { return shared.add(fd, unix.EPOLLPRI, w) }

// Arm requests one more call of Ready. It must be called only after such a call. If
// the descriptor is ready already, Ready is called at once.
func (w Watch) Arm() error { return shared.control(unix.EPOLL_CTL_MOD, w) }

// Close ends the watch; the descriptor stays open. One call of Ready may still be
// under way or about to begin. Arm must not be called after Close, nor Close from a
// Ready.
func (w Watch) Close() {
	if w.id != 0 {
		shared.remove(w)
	}
}

// AwaitReadable returns when fd can be read or is at its end. It takes no thread
// while it waits, unless the system has no room for a watch.
func AwaitReadable(fd int) {
	ready := make(Told, 1)
	w, err := NewWatch(fd, ready)
	if err != nil {
		pollReadable(fd)
		return
	}
	<-ready
	w.Close()
}

// Told is a Waiter that records in a buffer of one that its descriptor was ready.
type Told chan struct{}

// Ready implements Waiter.
func (c Told) Ready() {
	select {
	case c <- struct{}{}:
	default:
	}
}

func pollReadable(fd int) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(p, -1); err != unix.EINTR {
			return
		}
	}
}

// shared is the only poller. Its first watch starts it, its last one ends it.
var shared poller

// poller has an epoll set whose descriptor is in the runtime's poller, so that its
// goroutine takes no thread while it waits.
type poller struct {
	mu      sync.Mutex
	set     *os.File // nil while there is no watch
	fd      int      // of set
	waiters map[uint64]Waiter
	telling sync.Mutex // held while ready watches are notified; locked before mu
	last    uint64     // ids are never reused: a late event finds no watch
}

func (p *poller) add(fd int, events uint32, waiter Waiter) (w Watch, err error) {
	p.mu.Lock()
	if p.set == nil {
		err = p.start()
	}
	if err == nil {
		p.last++
		w = Watch{p.last, fd, events}
		p.waiters[w.id] = waiter
		if err = p.control(unix.EPOLL_CTL_ADD, w); err != nil {
			p.forget(w)
			return Watch{}, err
		}
	}
	p.mu.Unlock()
	return w, err
}

// control needs no lock: while there is a watch, the set is open.
func (p *poller) control(op int, w Watch) error {
	ev := unix.EpollEvent{Events: w.events | unix.EPOLLONESHOT, Fd: int32(w.id), Pad: int32(w.id >> 32)}
	return unix.EpollCtl(p.fd, op, w.fd, &ev)
}

func (p *poller) remove(w Watch) {
	p.mu.Lock()
	if p.waiters[w.id] == nil {
		p.mu.Unlock()
		return
	}
	_ = p.control(unix.EPOLL_CTL_DEL, w)
	p.forget(w)
}

// forget removes a watch, and ends the goroutine with the last one. The caller must hold
// mu, which forget releases: the goroutine may need it before it can end.
func (p *poller) forget(w Watch) {
	delete(p.waiters, w.id)
	var last *os.File
	if len(p.waiters) == 0 {
		last, p.set, p.waiters = p.set, nil, nil
	}
	p.mu.Unlock()
	if last != nil {
		last.Close()
	}
}

// start makes the set. The caller must hold mu.
func (p *poller) start() error {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	set, err := NewFile(fd, "epoll")
	if err != nil {
		return err
	}
	raw, err := set.SyscallConn()
	if err != nil {
		set.Close()
		return err
	}
	p.set, p.fd, p.waiters = set, fd, make(map[uint64]Waiter)
	go p.run(raw)
	return nil
}

func (p *poller) run(raw syscall.RawConn) {
	for raw.Read(func(fd uintptr) bool { return p.tell(fd) != 0 }) == nil { // until it is closed
	}
}

// atOnce is how many ready watches are notified in one pass.
const atOnce = 64

// tell calls Ready of the watches that have become ready, in that order, and returns
// their number, or -1 for an error.
func (p *poller) tell(fd uintptr) int {
	p.telling.Lock()
	defer p.telling.Unlock()
	var events [atOnce]unix.EpollEvent
	n, err := 0, error(unix.EINTR)
	for err == unix.EINTR {
		n, err = unix.EpollWait(int(fd), events[:], 0)
	}
	for _, ev := range events[:max(n, 0)] {
		p.mu.Lock()
		w := p.waiters[uint64(uint32(ev.Fd))|uint64(uint32(ev.Pad))<<32]
		p.mu.Unlock()
		if w != nil {
			w.Ready()
		}
	}
	return n
}

// TellReady returns after Ready was called for each watch whose descriptor is ready
// now. A caller that learns otherwise of the end of a process uses it to process the
// output first. It must not be called from a Ready, nor with a lock held that a
// Ready takes.
func TellReady() {
	shared.mu.Lock()
	set := shared.set
	shared.mu.Unlock()
	if set == nil {
		return
	}
	if raw, err := set.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { // an error means that it was closed: there is no watch
			for shared.tell(fd) == atOnce {
			}
		})
	}
}
