//go:build !hostsup_posix

package denial

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// WatchedCalls is what the filter of an observed process hands to its
// Observer: calls that open, run, change or look at files by a path, that map
// executable memory, and that connect or bind sockets. With all, what is sent
// on connected sockets is looked at too, for the names that are asked for:
// programs that talk much are slowed down much.
func WatchedCalls(all bool) []sys.WatchedCall {
	var list []sys.WatchedCall
	for _, w := range watched {
		if all && w.name == "sendto" {
			w.when = always
		}
		if nr, ok := policy.SyscallNumber(w.name); ok {
			list = append(list, sys.WatchedCall{NR: nr, Arg: w.when.arg, Mask: w.when.mask, Want: w.when.want, Not: w.when.not})
		}
	}
	return list
}

// Observer is told of the watched calls of a process and all it starts, and
// lets them pass. A call that is handed to it and is not one of WatchedCalls, or
// that it was told to refuse, is refused with EPERM, by its number alone, and told
// as a refused system call: so a filter may hand over what it would refuse itself,
// to have it told.
//
// It must be closed. When it is, or this process ends, calls that are watched
// fail with ENOSYS from then on: it is closed after the processes it watches
// are gone.
type Observer struct {
	f    *os.File
	sink func(Denial)
	see  map[int32]func(*frame) []Denial
	done chan struct{}
	once sync.Once
}

// Observe starts an Observer on the listener of a filter, which it owns from
// then on. sink is called for every path, address or call, one after the
// other, while the process waits; it says what was tried, whether or not it
// was refused then. refused are the names of calls that are refused although
// they are among WatchedCalls.
func Observe(listener int, refused []string, sink func(Denial)) (*Observer, error) {
	f, err := sys.NewFile(listener, "seccomp listener")
	if err != nil {
		return nil, fmt.Errorf("observe: %w", err)
	}
	o := &Observer{f: f, sink: sink, see: map[int32]func(*frame) []Denial{}, done: make(chan struct{})}
	for _, w := range watched {
		if nr, ok := policy.SyscallNumber(w.name); ok && !slices.Contains(refused, w.name) {
			o.see[int32(nr)] = w.see
		}
	}
	go o.run()
	return o, nil
}

// Close ends it and waits for a sink that is being called. Idempotent.
func (o *Observer) Close() error {
	o.once.Do(func() { _ = o.f.Close() })
	<-o.done
	return nil
}

func (o *Observer) run() {
	defer close(o.done)
	// A call that nobody answers any more fails with ENOSYS, where it would wait.
	defer o.once.Do(func() { _ = o.f.Close() })
	for {
		if err := sys.Readable(o.f, o.some); err != nil {
			return
		}
	}
}

// soon is how long the next call is waited for on the thread: most come in
// close succession.
const soon = time.Millisecond

// some takes calls as long as they come, and answers them.
func (o *Observer) some(listener int) error {
	for {
		if err := o.one(listener); err != nil || !sys.NotificationComes(listener, soon) {
			return err
		}
	}
}

// one takes one call and answers it.
func (o *Observer) one(listener int) error {
	n, err := sys.ReceiveNotification(listener)
	if errors.Is(err, syscall.ENOENT) {
		return nil // its thread is gone
	}
	if err != nil {
		return err
	}
	see, ok := o.see[n.NR]
	if !ok || n.Arch != sys.NativeArch {
		o.sink(refusedCall(int(n.NR), time.Now())) // first: who sees the process end finds it on record
		return answered(sys.RefuseNotification(listener, n.ID, syscall.EPERM))
	}
	pid := int(n.Pid)
	f := frame{
		args: n.Args,
		memory: func(addr uint64, b []byte) int {
			n, err := sys.ReadMemory(pid, addr, b)
			if err != nil {
				return 0
			}
			return n
		},
		link: func(name string) (string, bool) {
			s, err := os.Readlink(fmt.Sprintf("/proc/%d/%s", pid, name))
			return s, err == nil
		},
		datagram: func(fd int) (is, known bool) { return sys.IsDatagram(pid, fd) },
	}
	var seen []Denial
	if pid != 0 {
		seen = see(&f)
	}
	if sys.NotificationValid(listener, n.ID) { // else it may have been another process that was read
		now := time.Now()
		for _, d := range seen {
			d.Source, d.Hint = Seccomp, true
			d.complete(now)
			o.sink(d)
		}
	}
	return answered(sys.ContinueNotification(listener, n.ID))
}

// answered returns the error of an answer. A thread that is gone is no error.
func answered(err error) error {
	if errors.Is(err, syscall.ENOENT) {
		return nil
	}
	return err
}

func refusedCall(nr int, now time.Time) Denial {
	d := callDenial(nr)
	d.Source = Seccomp
	d.complete(now)
	return d
}
