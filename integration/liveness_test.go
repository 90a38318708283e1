//go:build linux

package integration

import (
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// offers gives the host these capabilities and no others.
func offers(c codec.Caps) change {
	return func(s *supervisor.HostSpec) {
		s.Env[roleEnv], s.Env[capsEnv] = "caps", strconv.Itoa(int(c))
	}
}

// neverHung fails the test if the host is called unresponsive within d.
func neverHung(t testing.TB, sup *supervisor.Supervisor, d time.Duration) {
	t.Helper()
	over := time.NewTimer(d)
	defer over.Stop()
	hung := make(chan supervisor.Event)
	c := ctx(t)
	go func() {
		for e := range sup.Follow(c) {
			if e.Kind == "state" && *e.To == lifecycle.Unresponsive {
				select {
				case hung <- e:
				case <-c.Done():
				}
				return
			}
		}
	}()
	select {
	case e := <-hung:
		t.Errorf("called unresponsive: %s", e.Reason)
	case <-over.C:
	}
}

// TestLongCallIsNoHang lets a call run for much longer than a host may be
// silent: it was acknowledged, so nothing is owed.
func TestLongCallIsNoHang(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]codec.Caps{
		"acks and pings": codec.CapAck | codec.CapPing | codec.CapCancel,
		"acks alone":     codec.CapAck | codec.CapCancel, // nothing but the one ack tells that it lives
		"pings alone":    codec.CapPing | codec.CapCancel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts", watched, offers(caps)))
			p, err := h.Go(ctx(t), "sleep", map[string]int{"ms": 60_000})
			if err != nil {
				t.Fatal(err)
			}
			neverHung(t, sup, 4*time.Second)
			p.Cancel()
			if err := p.Result(nil); !errors.Is(err, supervisor.ErrCancelled) {
				t.Error(err)
			}
			echoes(t, h)
			if s := h.Status(); s.Life != 1 || s.State != lifecycle.Running {
				t.Errorf("%+v", s)
			}
		})
	}
}

// TestEvidence says for every set of capabilities what the verdict rests on,
// and holds it to that.
func TestEvidence(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		title string
		caps  codec.Caps
		want  string
		idle  bool // a host that is stopped is seen without a call
		call  bool // and with one
	}{
		{"acks and pings", codec.CapAck | codec.CapPing, "ack", true, true},
		{"acks", codec.CapAck, "ack", false, true},
		{"pings", codec.CapPing, "ping", true, true},
		{"nothing", 0, "none", false, false},
	} {
		t.Run(row.title, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts", reported, offers(row.caps), grace(200*time.Millisecond)))
			if s := h.Status(); s.Liveness != row.want {
				t.Errorf("liveness %q, want %q", s.Liveness, row.want)
			}
			signal(t, h, syscall.SIGSTOP)
			if row.idle {
				until(t, h, lifecycle.Unresponsive)
			} else {
				neverHung(t, sup, 3*time.Second)
				if err := h.Call(ctx(t), "echo", 1, nil, supervisor.Timeout(time.Second)); !errors.Is(err, supervisor.ErrTimeout) {
					t.Errorf("call of a stopped process: %v", err)
				}
				if row.call {
					until(t, h, lifecycle.Unresponsive)
				} else {
					neverHung(t, sup, 3*time.Second)
				}
			}
			signal(t, h, syscall.SIGCONT)
			until(t, h, lifecycle.Running)
			echoes(t, h)
		})
	}
}

// TestHangWithCallsInFlight holds that one late answer is enough to be back.
func TestHangWithCallsInFlight(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", reported))
	if err := h.Call(ctx(t), "hang", map[string]int{"ms": 4000}, nil); err != nil {
		t.Errorf("a hang that ends is answered: %v", err)
	}
	until(t, h, lifecycle.Running)
	expect(t, sup, "ts", `starting: configured
		running: ready
		unresponsive: no sign of life
		running: answers again`)
}

// TestTalkIsNoSignOfLife: what a hung host says by itself says nothing about the
// loop that does its work.
func TestTalkIsNoSignOfLife(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", plays("chatterbox"), watched))
	said := make(chan struct{})
	go func() {
		defer close(said)
		for range h.Messages(ctx(t)) {
			return
		}
	}()
	if _, err := h.Go(ctx(t), "hang", nil); err != nil {
		t.Fatal(err)
	}
	<-said
	expect(t, sup, "ts", `starting: configured
		running: ready
		unresponsive: no sign of life
		crashed: killed: unresponsive for 500ms
		restarting: killed: unresponsive for 500ms: again now, crash 1 of 3 in 5m0s
		starting: restart
		running: ready`)
}

// TestDeafHost: a host that closes the end that it reads from is ended, although
// it goes on talking; no call waits for its time-out.
func TestDeafHost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		transport hostspec.Transport
		reason    string
	}{
		"socket": {hostspec.TransportFD, "reads no more from its connection"},
		"pipe":   {hostspec.TransportStdio, "closed its standard input"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sup, h := alone(t, demoHost("ts", plays("chatterbox"), func(s *supervisor.HostSpec) {
				s.Transport = c.transport
				s.Liveness.After, s.Liveness.Ping = time.Hour, time.Hour
			}))
			if err := h.Call(ctx(t), "deafen", nil, nil); err != nil {
				t.Fatal(err)
			}
			if err := h.Call(ctx(t), "echo", nil, nil, supervisor.Timeout(patience)); !errors.Is(err, supervisor.ErrCrashed) {
				t.Errorf("a call: %v", err)
			}
			expect(t, sup, "ts", `starting: configured
				running: ready
				crashed: `+c.reason+` and lived on
				restarting: `+c.reason+` and lived on: again now, crash 1 of 3 in 5m0s
				starting: restart
				running: ready`)
		})
	}
}
