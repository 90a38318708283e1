package actors

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// explaining is a protocol that knows why some of its hosts end.
type explaining struct{ codec.Protocol }

func (e explaining) Features() codec.Features {
	return codec.Features{Explain: e.explain}
}

func (explaining) explain(e codec.End) (meaning string, final bool) {
	text := strings.Join(e.Output, " ")
	switch {
	case strings.Contains(text, "wrong version"):
		return "another version", true
	case strings.Contains(text, "out of memory"):
		return "its heap is full", false
	}
	return "", false
}

// ends runs a life with a connection, and compares how it ends with a line: the
// reason of its crash, or of its stop, with the time since the begin of f.
func ends(t *testing.T, name string, h HostSpec, want string, f func(s *simulation, p *simProcess)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		h.Name, h.Restart.MaxCrashes = "a", 1
		if h.Protocol == nil {
			h.Protocol = native.New()
		}
		simulate(t, nil, alone(h), func(s *simulation) {
			p := s.process("a")
			begin := time.Now()
			f(s, p)
			s.passes(time.Minute)
			var got string
			for e := range s.world.Journal.Events(context.Background(), 0, false) {
				if e.Kind == record.KindState && e.Exit != nil || e.Kind == record.KindState && *e.To == lifecycle.Stopped || e.Kind == record.KindStuck {
					got += " | " + e.Time.Sub(begin).String() + " " + e.Reason
				}
			}
			if got = strings.TrimPrefix(got, " | "); got != want {
				t.Errorf("it ended: %s\nwant: %s", got, want)
			}
			s.set(func() { p.stuck = false })
		})
	})
}

// exit ends a process and closes its stream, unless somebody holds that open.
func (s *simulation) exit(p *simProcess, e sandbox.Exit) {
	s.set(func() { p.over = true })
	p.hangUp()
	p.End(e)
	synctest.Wait()
}

// call sends a call to a host that runs.
func (s *simulation) call(host string) *Request {
	s.t.Helper()
	q := fakeCall(s.world.Ref(host))
	if err := s.world.Ref(host).conn.Load().sendNow(q); err != nil {
		s.t.Fatal(err)
	}
	synctest.Wait()
	return q
}

// Why a life has ended: what of its exit, the end of its stream and what was asked
// of it says most, in each order in which they come.
func TestHowALifeEnds(t *testing.T) {
	garbage := []byte{0, 0, 0, 0}
	closes := func(p *simProcess) { p.hangUp(); synctest.Wait() }
	says := func(p *simProcess, b []byte) { p.peer.write(b); synctest.Wait() }
	code := func(n int) sandbox.Exit { return sandbox.Exit{Code: n} }
	killed := func(sig syscall.Signal) sandbox.Exit { return sandbox.Exit{Code: -1, Signal: int(sig)} }
	ends(t, "exit", HostSpec{}, "0s exit 3", func(s *simulation, p *simProcess) { s.exit(p, code(3)) })
	ends(t, "exit, and a stranger holds the stream", HostSpec{}, "500ms exit 3", func(s *simulation, p *simProcess) {
		p.peer.held = true
		s.exit(p, code(3))
		s.passes(time.Second)
		p.peer.out.Close()
	})
	ends(t, "exit behind the end of the stream", HostSpec{}, "900ms exit 3", func(s *simulation, p *simProcess) {
		closes(p)
		s.passes(900 * time.Millisecond)
		s.exit(p, code(3))
	})
	ends(t, "the end of the stream alone", HostSpec{}, "1s closed its connection and lived on", func(s *simulation, p *simProcess) {
		closes(p)
	})
	ends(t, "exit at the kill for the end of the stream", HostSpec{}, "1.5s exit 3", func(s *simulation, p *simProcess) {
		s.set(func() { p.stuck = true })
		closes(p)
		s.passes(1500 * time.Millisecond)
		s.exit(p, code(3))
	})
	ends(t, "bad bytes", HostSpec{}, "0s protocol: empty frame: length 0", func(s *simulation, p *simProcess) {
		says(p, garbage)
	})
	ends(t, "exit at the kill for bad bytes", HostSpec{}, "500ms protocol: empty frame: length 0", func(s *simulation, p *simProcess) {
		s.set(func() { p.stuck = true })
		says(p, garbage)
		s.passes(500 * time.Millisecond)
		s.exit(p, code(3))
	})
	for exit, want := range map[sandbox.Exit]string{
		code(0): "0s protocol: empty frame: length 0", code(3): "0s protocol: empty frame: length 0", killed(syscall.SIGSEGV): "0s killed by SIGSEGV",
	} {
		ends(t, "exit before bad bytes", HostSpec{}, want, func(s *simulation, p *simProcess) {
			p.peer.held = true
			s.exit(p, exit)
			says(p, garbage)
		})
	}
	ends(t, "a torn frame before the exit", HostSpec{}, "0s protocol: truncated: the stream ended after 1 of a frame's 9 bytes", func(s *simulation, p *simProcess) {
		says(p, []byte{0, 0, 0, 9, 1})
		closes(p)
		s.exit(p, code(3))
	})
	ends(t, "a torn frame before a kill", HostSpec{}, "0s killed by SIGKILL", func(s *simulation, p *simProcess) {
		says(p, []byte{0, 0, 0, 9, 1})
		closes(p)
		s.exit(p, killed(syscall.SIGKILL))
	})
	ends(t, "exit while it is stopped", HostSpec{}, "1s stopped by request", func(s *simulation, p *simProcess) {
		s.do("a", VerbStop)
		s.passes(time.Second)
		s.exit(p, code(3))
	})
	ends(t, "bad bytes while it is stopped", HostSpec{}, "2.5s stopped by request", func(s *simulation, p *simProcess) {
		s.do("a", VerbStop)
		says(p, garbage)
	})
	ends(t, "stop when it has exited", HostSpec{}, "300ms stopped by request", func(s *simulation, p *simProcess) {
		p.peer.held = true
		s.exit(p, code(3))
		s.do("a", VerbStop)
		s.passes(300 * time.Millisecond)
		p.peer.out.Close()
	})
	ends(t, "stop when it is being killed", HostSpec{}, "1.5s stopped by request", func(s *simulation, p *simProcess) {
		s.set(func() { p.stuck = true })
		says(p, garbage)
		s.do("a", VerbStop)
		s.passes(1500 * time.Millisecond)
		s.exit(p, killed(syscall.SIGKILL))
	})
	ends(t, "stop behind the end of the stream", HostSpec{}, "500ms stopped by request", func(s *simulation, p *simProcess) {
		closes(p)
		s.passes(500 * time.Millisecond)
		s.do("a", VerbStop)
	})
	ends(t, "stuck after SIGKILL", HostSpec{}, "10s protocol: empty frame: length 0; a.1 is still there 10s after SIGKILL | 10s a.1 is still there 10s after SIGKILL",
		func(s *simulation, p *simProcess) {
			s.set(func() { p.stuck = true })
			says(p, garbage)
		})
	ends(t, "it reads no more", HostSpec{}, "1s reads no more from its connection and lived on", func(s *simulation, p *simProcess) {
		p.peer.in.Close()
		_ = s.world.Ref("a").Notify(context.Background(), "note", nil)
		synctest.Wait()
	})
	ends(t, "its own exit", HostSpec{}, "0s exit 0", func(s *simulation, p *simProcess) { s.exit(p, code(0)) })
	explained := HostSpec{Spec: hostspec.Spec{Protocol: explaining{native.New()}}}
	prints := func(s *simulation, text string) { s.world.Ref("a").log.Print(capture.Stderr, 1, []byte(text)) }
	ends(t, "an explained exit", explained, "0s exit 0: its heap is full", func(s *simulation, p *simProcess) {
		prints(s, "out of memory")
		s.exit(p, code(0))
	})
	ends(t, "an exit that is final", explained, "0s version: exit 9: another version", func(s *simulation, p *simProcess) {
		prints(s, "wrong version")
		s.exit(p, code(9))
	})
	ends(t, "an exit that nothing explains", explained, "0s exit 9", func(s *simulation, p *simProcess) { s.exit(p, code(9)) })
	ends(t, "a start without a handshake", HostSpec{}, "0s exit 0 | 1m0.999s not ready 1m0s after its start", func(s *simulation, p *simProcess) {
		s.exit(p, code(0)) // ends
		s.set(func() { s.mute["a"] = true })
		s.passes(time.Second - time.Millisecond)
		s.do("a", VerbStart)
		s.passes(time.Minute)
	})
}

// A stop waits for calls, says goodbye, and sends the signal, each in its time.
func TestStepsOfAStop(t *testing.T) {
	h := HostSpec{Spec: hostspec.Spec{Name: "a", Protocol: native.New()}}
	h.Stop.Drain = 2 * time.Second
	simulate(t, nil, alone(h), func(s *simulation) {
		p := s.process("a")
		q := s.call("a")
		stop := s.do("a", VerbStop)
		s.passes(1999 * time.Millisecond)
		if got := p.peer.asked(); got != "echo" || q.IsSettled() {
			t.Errorf("%q, and the call is settled: %v", got, q.IsSettled())
		}
		s.passes(time.Millisecond)
		if _, err := q.Outcome(); !errors.Is(err, ErrCutOff) {
			t.Errorf("%v", err)
		}
		if got := p.peer.asked(); got != "echo shutdown" {
			t.Errorf("%q", got)
		}
		s.passes(2500 * time.Millisecond)
		s.tells(`
			0s a: - → starting (configured)
			0s a: starting → running (ready), pid 1
			0s a: running → stopping (stopped by request), pid 1
			4.5s a: stopping → stopped (stopped by request)
			0s supervisor: ready
		`)
		if stop() != "done" {
			t.Errorf("stop: %s", stop())
		}
	})
}

// A stop goes on as soon as nothing is open, and a host that exits while it is
// waited for has its calls answered.
func TestDrainIsCutShort(t *testing.T) {
	h := HostSpec{Spec: hostspec.Spec{Name: "a", Protocol: native.New()}}
	h.Stop.Drain = time.Minute
	for _, how := range []string{"answer", "exit", "close"} {
		t.Run(how, func(t *testing.T) {
			simulate(t, nil, alone(h), func(s *simulation) {
				p := s.process("a")
				q := s.call("a")
				stop := s.do("a", VerbStop)
				s.passes(10 * time.Second) // pings are answered
				switch how {
				case "answer":
					p.peer.mu.Lock()
					m := codec.Message{Kind: codec.Response, ID: p.peer.calls[0].ID}
					p.peer.mu.Unlock()
					p.peer.say(&m)
				case "exit":
					s.exit(p, sandbox.Exit{Code: 3})
				case "close":
					p.hangUp()
				}
				synctest.Wait()
				_, err := q.Outcome()
				switch {
				case how == "answer" && (err != nil || p.peer.asked() != "echo shutdown"):
					t.Errorf("%v, %q", err, p.peer.asked())
				case how != "answer" && !errors.Is(err, ErrStopped):
					t.Errorf("%v", err)
				}
				if how != "answer" != (stop() == "done") {
					t.Errorf("stop: %s", stop())
				}
				s.passes(time.Minute)
				if stop() != "done" {
					t.Errorf("stop: %s", stop())
				}
			})
		})
	}
}

// A life that is prepared beside the mailbox can be stopped and killed meanwhile,
// and what comes of it then is not used.
func TestPreparationIsCutShort(t *testing.T) {
	for _, how := range []string{"stop", "time-out", "error", "in time"} {
		t.Run(how, func(t *testing.T) {
			h := HostSpec{Spec: hostspec.Spec{Name: "a"}}
			h.Restart.MaxCrashes = 1
			ended := false
			h.Interceptors = func(*Ref) []*Interceptor {
				return []*Interceptor{{Starting: func(ctx context.Context, _ *Start) error {
					switch how {
					case "error":
						return errors.New("no port")
					case "in time":
						return nil
					}
					<-ctx.Done()
					ended = true
					return nil
				}}}
			}
			want := map[string]string{
				"stop": "stopped by request", "time-out": "not ready 1m0s after its start: crash 1 in 5m0s, given up",
				"error": "spawn: no port: crash 1 in 5m0s, given up", "in time": "ready",
			}[how]
			simulate(t, nil, alone(h), func(s *simulation) {
				if how == "stop" {
					if stop := s.do("a", VerbStop); stop() != "done" {
						t.Errorf("stop: %s", stop())
					}
				}
				s.passes(time.Minute)
				if got := s.world.Ref("a").snapshot().machine.Reason(); got != want {
					t.Errorf("%q, want %q", got, want)
				}
				if ended != (how == "stop" || how == "time-out") || (s.pids["a"] > 0) != (how == "in time") {
					t.Errorf("ended %v, %d processes", ended, s.pids["a"])
				}
			})
		})
	}
}
