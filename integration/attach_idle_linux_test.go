package integration

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// idleAfter is the time without a client after which the hosts of these tests are stopped.
const idleAfter = 20 * time.Millisecond

// idles is a host that programs share, and that is stopped without one. It is any program
// that ends with its input.
func idles(name string, command ...string) supervisor.HostSpec {
	return supervisor.HostSpec{
		Name: name, Command: command, Protocol: msgpackrpc.New(msgpackrpc.Options{}), Attach: true,
		Features: []supervisor.Feature{attach.Rule{IdleStop: idleAfter}},
	}
}

// leaves ends a program that is attached.
func (a *attached) leaves() {
	_ = a.rw.Close()
	<-a.served
}

// isIdle waits until a host is stopped as nobody uses it.
func isIdle(t testing.TB, h *supervisor.Host) {
	t.Helper()
	until(t, h, lifecycle.Stopped)
	eventually(t, func() bool {
		s := h.Status()
		return s.State == lifecycle.Stopped && s.Reason != nil && *s.Reason == "idle: no program needs it"
	}, "it does not say that it is idle")
}

// A shared server is stopped when its last client has left, and the next client, or a call,
// starts it again.
func TestIdleHostIsStopped(t *testing.T) {
	t.Parallel()
	talker := supervisor.HostSpec{
		Name: "talker", Command: []string{self}, Env: hostEnv("talker"), Protocol: jsonrpc.Lines(jsonrpc.Options{}), Attach: true,
		Features: []supervisor.Feature{attach.Rule{IdleStop: idleAfter}},
	}
	sup, h := alone(t, talker)
	for life := uint64(1); life <= 3; life++ {
		a, b := attachTo(t, sup, "talker", talker.Protocol), attachTo(t, sup, "talker", talker.Protocol)
		for _, c := range []*attached{a, b} {
			c.must("initialize", dict{"protocolVersion": "2025-06-18", "capabilities": dict{}, "clientInfo": dict{"name": "agent", "version": "1"}})
		}
		a.leaves()
		b.must("ping", nil) // one is left
		if s := h.Status(); s.Life != life || s.Restarts != 0 {
			t.Fatalf("life %d, %d restarts, want life %d", s.Life, s.Restarts, life)
		}
		b.leaves()
		isIdle(t, h)
	}
	var out codec.Raw
	if err := h.Call(ctx(t), "anything", nil, &out); err != nil {
		t.Errorf("a call: %v", err)
	}
	isIdle(t, h)
	if err := h.Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if err := h.Raise(ctx(t)); err == nil {
		t.Error("a program has started what a person stopped")
	}
}

// A client that comes while an idle host stops waits for the next life of it.
func TestClientOfHostThatStops(t *testing.T) {
	t.Parallel()
	h := idles("slow", "sh", "-c", `trap "" TERM; while :; do sleep 0.01; done`)
	h.Stop.Grace = 300 * time.Millisecond
	sup, slow := alone(t, h)
	attachTo(t, sup, "slow", h.Protocol).leaves()
	if err := slow.Raise(ctx(t)); err != nil {
		t.Fatal(err)
	}
	until(t, slow, lifecycle.Stopping)
	life := slow.Life()
	attachTo(t, sup, "slow", h.Protocol)
	runs(t, slow, life+1)
}

// What is in use is not stopped: a host with a call that is open, and one that another host
// needs.
func TestHostInUseIsNotStopped(t *testing.T) {
	t.Parallel()
	db, web := idles("db", "sleep", "1000"), supervisor.HostSpec{Name: "web", Command: []string{"sleep", "1000"}}
	web.Start.DependsOn = []string{"db"}
	sup := start(t, supervisor.Spec{Groups: []supervisor.GroupSpec{
		{Name: "pair", Hosts: []supervisor.HostSpec{db, web}}, supervisor.Alone(idles("busy", "sleep", "1000")), supervisor.Alone(idles("free", "cat")),
	}})
	busy, free := host(t, sup, "busy"), host(t, sup, "free")
	open, cancel := context.WithCancel(ctx(t))
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- busy.Call(open, "any", nil, nil, actors.Timeout(time.Hour)) }()
	// The call starts the host: one that came later could find it stopping already.
	eventually(t, func() bool { s := busy.Status(); return s.State == lifecycle.Running && s.Pending == 1 }, "no call is open")
	for range 5 { // each takes as long as the others would
		if err := free.Raise(ctx(t)); err != nil {
			t.Fatal(err)
		}
		isIdle(t, free)
	}
	for _, h := range []*supervisor.Host{busy, host(t, sup, "db")} {
		if s := h.Status(); s.State != lifecycle.Running || s.Life != 1 {
			t.Errorf("%s is %s, life %d", s.Name, s.State, s.Life)
		}
	}
	cancel()
	<-done
	isIdle(t, busy)
	if err := host(t, sup, "web").Stop(ctx(t)); err != nil {
		t.Fatal(err)
	}
	isIdle(t, host(t, sup, "db"))
}

// The time is changed while the host runs, which is not restarted for it.
func TestIdleStopChanges(t *testing.T) {
	t.Parallel()
	h := idles("cat", "cat")
	h.Features = []supervisor.Feature{attach.Rule{IdleStop: time.Hour}}
	sup, cat := alone(t, h)
	if err := cat.Raise(ctx(t)); err != nil {
		t.Fatal(err)
	}
	h.Features = []supervisor.Feature{attach.Rule{IdleStop: idleAfter}}
	if err := sup.Replace(ctx(t), h); err != nil {
		t.Fatal(err)
	}
	isIdle(t, cat)
	if s := cat.Status(); s.Life != 1 {
		t.Errorf("life %d", s.Life)
	}
}

// 50 shared servers that nobody uses are a line each in the status: no process, no memory,
// no goroutine.
func TestIdleHostsCostNothing(t *testing.T) {
	const hosts = 50
	var spec supervisor.Spec
	for n := range hosts {
		spec.Groups = append(spec.Groups, supervisor.Alone(idles(fmt.Sprintf("ls-%d", n), "cat")))
	}
	sup := start(t, spec)
	before := runtime.NumGoroutine()
	var clients []*attached
	for _, h := range sup.Hosts() {
		clients = append(clients, attachTo(t, sup, h.Name(), h.Spec().Protocol))
	}
	pids := map[int]string{}
	for _, h := range sup.Hosts() {
		until(t, h, lifecycle.Running)
		pids[*h.Status().PID] = h.Name()
	}
	if len(pids) != hosts {
		t.Fatalf("%d processes", len(pids))
	}
	for _, c := range clients {
		c.leaves()
	}
	for _, h := range sup.Hosts() {
		isIdle(t, h)
		if s := h.Status(); s.PID != nil || s.RSSBytes != nil || s.CrashesInWindow != 0 {
			t.Errorf("%s: %+v", s.Name, s)
		}
	}
	for pid, name := range pids {
		if syscall.Kill(pid, 0) == nil {
			t.Errorf("process %d of %s is left", pid, name)
		}
	}
	eventually(t, func() bool { return runtime.NumGoroutine() <= before }, "goroutines are left")
}
