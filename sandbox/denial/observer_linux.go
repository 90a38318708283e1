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

// WatchedCalls returns the calls that the filter of an observed process passes to
// its Observer: calls that open, run, change or stat files by a path, that map
// executable memory, and that connect or bind sockets. With all, the list includes
// sends on connected sockets, to find names in DNS queries; this slows down
// programs that send much.
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

// Observer reports the watched calls of a process and its descendants, and lets them
// pass. It refuses a call with EPERM, by its number alone, if the call is not one of
// WatchedCalls or is on its list of refused calls, and reports it as a refused
// system call. So a filter can pass the calls that it would refuse, to have them
// reported.
//
// It must be closed. After Close, or the end of this process, watched calls fail with
// ENOSYS: Close must be called after the watched processes have ended.
type Observer struct {
	f    *os.File
	sink func(Denial)
	see  map[int32]func(*frame) []Denial
	done chan struct{}
	once sync.Once
}

// Observe starts an Observer on the listener of a filter and takes ownership of the
// listener. sink is called for every path, address or call, one after the other,
// while the process waits, whether or not the kernel then refuses the call. refused
// lists calls that are refused although they are among WatchedCalls.
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

// Close stops o and waits for a sink that is being called. It is idempotent.
func (o *Observer) Close() error {
	o.once.Do(func() { _ = o.f.Close() })
	<-o.done
	return nil
}

func (o *Observer) run() {
	defer close(o.done)
	// Closing makes unanswered calls fail with ENOSYS; otherwise they would block.
	defer o.once.Do(func() { _ = o.f.Close() })
	for {
		if err := sys.Readable(o.f, o.serve); err != nil {
			return
		}
	}
}

// spinTime is how long serve waits for the next call on its thread, because most
// calls follow each other closely.
const spinTime = time.Millisecond

// serve answers calls until none arrives within spinTime.
func (o *Observer) serve(listener int) error {
	for {
		if err := o.answer(listener); err != nil || !sys.NotificationComes(listener, spinTime) {
			return err
		}
	}
}

// answer receives one call and answers it.
func (o *Observer) answer(listener int) error {
	n, err := sys.ReceiveNotification(listener)
	if errors.Is(err, syscall.ENOENT) {
		return nil // the thread has ended
	}
	if err != nil {
		return err
	}
	see, ok := o.see[n.NR]
	if !ok || n.Arch != sys.NativeArch {
		o.sink(refusedCall(int(n.NR), time.Now())) // before the answer, so that the report exists when the process ends
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
	if sys.NotificationValid(listener, n.ID) { // otherwise memory of another process may have been read
		now := time.Now()
		for _, d := range seen {
			d.Source, d.Hint = Seccomp, true
			d.complete(now)
			o.sink(d)
		}
	}
	return answered(sys.ContinueNotification(listener, n.ID))
}

// answered returns the error of an answer; nil if the thread has ended.
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
