//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// latch makes a host wait in each of its starts until somebody lets it in.
type latch struct {
	t    testing.TB
	path string
	file *os.File
}

func newLatch(t testing.TB) *latch {
	t.Helper()
	l := &latch{t: t, path: filepath.Join(t.TempDir(), "latch")}
	if err := syscall.Mkfifo(l.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if l.file, err = os.OpenFile(l.path, os.O_RDWR, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.file.Close() })
	return l
}

// latched makes a demo host of a spec that waits for the latch first.
func latched(l *latch) change {
	return func(s *supervisor.HostSpec) {
		s.Command = []string{"/bin/sh", "-c", `read -r _ <"$0" && exec "$1"`, l.path, self}
	}
}

// open lets one life in.
func (l *latch) open() {
	l.t.Helper()
	if _, err := l.file.WriteString("\n"); err != nil {
		l.t.Fatal(err)
	}
}

// hasProcess waits until a host that starts has a process in this life.
func hasProcess(t testing.TB, h *supervisor.Host, life uint64) {
	t.Helper()
	eventually(t, func() bool {
		s := h.Status()
		return s.State == lifecycle.Starting && s.PID != nil && s.Life == life
	}, h.Name(), "has no process")
}

// awaitsPlace waits until a host waits for its turn to start.
func awaitsPlace(t testing.TB, h *supervisor.Host, reason string) {
	t.Helper()
	eventually(t, func() bool {
		s := h.Status()
		return s.State == lifecycle.Starting && s.PID == nil && s.Reason != nil && *s.Reason == reason
	}, h.Name(), "does not say", reason)
}

// TestMaxStarting follows the places of a tree: to those that come first, and on
// as soon as one is ready, has crashed or is stopped.
func TestMaxStarting(t *testing.T) {
	t.Parallel()
	const waiting = "asked for, waiting for a place: 2 hosts are starting"
	latches := map[string]*latch{}
	var hosts []supervisor.HostSpec
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		latches[name] = newLatch(t)
		hosts = append(hosts, demoHost(name, lazy, latched(latches[name])))
	}
	sup := start(t, supervisor.Spec{MaxStarting: 2, Groups: []supervisor.GroupSpec{{Name: "all", Hosts: hosts}}})
	outcome := map[string]chan error{}
	begin := func(name string) *supervisor.Host {
		h := host(t, sup, name)
		done := make(chan error, 1)
		outcome[name] = done
		go func() { done <- h.Start(ctx(t)) }()
		return h
	}
	a, b := begin("a"), begin("b")
	hasProcess(t, a, 1)
	hasProcess(t, b, 1)
	c := begin("c")
	awaitsPlace(t, c, waiting)
	d := begin("d")
	awaitsPlace(t, d, waiting)
	e := begin("e")
	awaitsPlace(t, e, waiting)

	// One that waits is stopped as any other, and restarting it changes nothing.
	if err := d.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	var state *supervisor.StateError
	if err := <-outcome["d"]; !errors.As(err, &state) {
		t.Errorf("the start of a host that was stopped: %v", err)
	}
	again := make(chan error, 1)
	go func() { again <- c.Restart(ctx(t)) }()

	latches["a"].open() // ready: the first in the queue has its place
	until(t, a, lifecycle.Running)
	hasProcess(t, c, 1)
	awaitsPlace(t, e, waiting)

	signal(t, b, syscall.SIGKILL) // a crash: so has the next, and the next life has to wait
	hasProcess(t, e, 1)
	awaitsPlace(t, b, "restart, waiting for a place: 2 hosts are starting")
	latches["c"].open()
	if err := <-again; err != nil {
		t.Errorf("restart of a host that waits: %v", err)
	}
	hasProcess(t, b, 2)
	expect(t, sup, "c", "starting: "+waiting+"\nrunning: ready")
	expect(t, sup, "d", "starting: "+waiting+"\nstopping: stopped by request\nstopped: stopped by request")

	d = begin("d")
	awaitsPlace(t, d, waiting)
	if err := e.Stop(ctx(t)); err != nil { // with the process of a start that goes on
		t.Fatal(err)
	}
	hasProcess(t, d, 2)
	latches["b"].open()
	latches["d"].open()
	until(t, b, lifecycle.Running)
	until(t, d, lifecycle.Running)

	// Nothing was lost: there are two places again. The end of the tree finds one
	// that starts and one that waits.
	for _, h := range []*supervisor.Host{a, b, c} {
		if err := h.Stop(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
	hasProcess(t, begin("a"), 2)
	hasProcess(t, begin("b"), 3)
	awaitsPlace(t, begin("c"), waiting)
	end(t, sup)
	for _, name := range []string{"a", "b", "c"} {
		if err := <-outcome[name]; err == nil {
			t.Errorf("the start of %s went well although the tree ended", name)
		}
	}
}

// TestMaxStartingAndTimeouts: a start that takes too long holds up its brothers
// no longer than its time-out, whether it is killed then or waited for.
func TestMaxStartingAndTimeouts(t *testing.T) {
	t.Parallel()
	for name, with := range map[string]struct {
		change change
		want   string
	}{
		"killed":     {crashes(1), "starting: …\ncrashed: not ready …\nfailed: …"},
		"waited for": {waitsForSlow, "starting: …\nslow: not ready …"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stuck := demoHost("stuck", lazy, startsLike("never"), startTimeout(300*time.Millisecond), with.change)
			sup := start(t, supervisor.Spec{MaxStarting: 1, Groups: []supervisor.GroupSpec{
				supervisor.Alone(stuck), supervisor.Alone(demoHost("brother", lazy)),
			}})
			h := host(t, sup, "stuck")
			failed := make(chan error, 1)
			go func() { failed <- h.Start(ctx(t)) }()
			eventually(t, func() bool { return h.Status().Life == 1 }, "the host that is stuck does not start")
			echoes(t, host(t, sup, "brother"))
			expect(t, sup, "stuck", with.want)
			end(t, sup)
			if err := <-failed; err == nil {
				t.Error("it has started")
			}
		})
	}
}

// TestMaxStartingAndDependencies: who waits for what it depends on holds no place.
func TestMaxStartingAndDependencies(t *testing.T) {
	t.Parallel()
	var hosts []supervisor.HostSpec
	for i := range 6 {
		hosts = append(hosts, demoHost(fmt.Sprint("h", i), func(s *supervisor.HostSpec) {
			if i < 5 { // each needs the one declared after it
				s.Start.DependsOn = []string{fmt.Sprint("h", i+1)}
			}
		}))
	}
	sup := start(t, supervisor.Spec{MaxStarting: 1, Groups: []supervisor.GroupSpec{{Name: "chain", Strategy: lifecycle.OneForAll, Hosts: hosts}}})
	for _, h := range sup.Hosts() {
		until(t, h, lifecycle.Running)
	}
	signal(t, host(t, sup, "h3"), syscall.SIGKILL) // and all come back, one after the other
	for _, h := range sup.Hosts() {
		runs(t, h, 2)
	}
}

// TestStartOutlivesItsCaller: whoever wanted a start and gives up takes nothing
// with him.
func TestStartOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	l := newLatch(t)
	sup, h := alone(t, demoHost("ts", lazy, latched(l)))
	for what, wait := range map[string]func(context.Context) error{
		"call":  func(c context.Context) error { return h.Call(c, "echo", 1, nil) },
		"start": h.Start,
		"wait":  func(c context.Context) error { return h.Wait(c, lifecycle.Running) },
	} {
		short, giveUp := context.WithCancel(ctx(t))
		done := make(chan error, 1)
		go func() { done <- wait(short) }()
		if what != "wait" {
			hasProcess(t, h, 1)
		}
		giveUp()
		if err := <-done; err == nil || !strings.Contains(err.Error(), "cancel") {
			t.Errorf("%s: %v", what, err)
		}
		// Whatever the caller's end has brought about has come about: the actor
		// answers behind it.
		if err := sup.Ready(ctx(t)); err != nil {
			t.Fatal(err)
		}
	}
	hasProcess(t, h, 1)
	l.open()
	runs(t, h, 1)
	echoes(t, h)
}
