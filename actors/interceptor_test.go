package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link/linktest"
)

// interceptedBy is the handle of a host with these interceptors.
func interceptedBy(list ...*Interceptor) *Ref {
	ref := fakeRef()
	spec := ref.Spec()
	spec.Interceptors = func(*Ref) []*Interceptor { return list }
	return Detached(ref.world, spec)
}

// connects begins a life of the host with a number.
func connects(t testing.TB, ref *Ref, life uint64) (*Line, *linktest.Wire) {
	t.Helper()
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	w := linktest.NewWire()
	line, end := ref.Connect(life, session, w, linktest.Shaken(codec.CapAll))
	<-w.Idle
	t.Cleanup(func() { end(ErrStopped) })
	return line, w
}

func request(method string) *codec.Message {
	return &codec.Message{Kind: codec.Request, ID: 1, Method: method}
}

func TestInterceptorsAreAskedInOrder(t *testing.T) {
	var asked []string
	note := func(name string, stage Stage) *Interceptor {
		return &Interceptor{
			Name: name, Stage: stage, Value: name,
			Outbound: func(uint64, *codec.Message) (v Verdict) { asked = append(asked, name); return v },
			Up:       func(_ *Line, publish func()) { asked = append(asked, "up "+name); publish() },
		}
	}
	ref := interceptedBy(note("last", StageLast), note("serve 1", StageServe), note("watch", StageWatch))
	ref.Intercept(note("serve 2", StageServe))
	if v := ref.Interceptor("watch"); v != "watch" {
		t.Errorf("%v", v)
	}
	connects(t, ref, 1)
	p, err := ref.Go(t.Context(), "m", nil)
	if err != nil {
		t.Fatal(err)
	}
	p.Cancel()
	if got := strings.Join(asked, ", "); got != "up watch, up serve 1, up serve 2, up last, watch, serve 1, serve 2, last" {
		t.Error(got)
	}
}

// Then is called once, with what the call has come to.
func TestThen(t *testing.T) {
	ref := fakeRef()
	connects(t, ref, 1)
	for _, want := range []error{nil, ErrCancelled} {
		var got codec.Raw
		var failed error
		calls := 0
		p, err := ref.Go(t.Context(), "m", nil, Then(func(result codec.Raw, err error) {
			calls++
			got, failed = result, err
		}))
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			p.q.Settle(codec.Raw("x"), nil)
		}
		p.Cancel()
		<-p.Done()
		if calls != 1 || !errors.Is(failed, want) || (want == nil) != (string(got) == "x") {
			t.Errorf("%v: %d calls, %q, %v", want, calls, got, failed)
		}
	}
}

func TestVerdictsAboutWhatIsSent(t *testing.T) {
	wrong := errors.New("not this one")
	other := fakeRef()
	ref := interceptedBy(&Interceptor{Outbound: func(_ uint64, m *codec.Message) (v Verdict) {
		switch m.Method {
		case "refused":
			v.Err = wrong
		case "changed":
			v.Message = &codec.Message{Kind: m.Kind, Method: "instead", Params: m.Params}
		case "redirected":
			v.To = func(context.Context) (*Ref, error) { return other, nil }
		case "lost":
			v.To = func(context.Context) (*Ref, error) { return nil, wrong }
		}
		return v
	}}, &Interceptor{Stage: StageLast, Write: func(_ *Line, m *codec.Message, _ int) (v Verdict) {
		v.Taken = m.Method == "taken"
		return v
	}})
	_, w := connects(t, ref, 1)
	_, ow := connects(t, other, 1)
	for method, want := range map[string]error{"refused": wrong, "lost": wrong} {
		if err := ref.Call(t.Context(), method, nil, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", method, err)
		}
	}
	for _, method := range []string{"changed", "redirected"} {
		p, err := ref.Go(t.Context(), method, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Cancel()
	}
	for method, want := range map[string]error{"refused": wrong, "taken": nil, "passed": nil} {
		if err := ref.Notify(t.Context(), method, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", method, err)
		}
	}
	for wire, want := range map[*linktest.Wire]string{w: "instead passed", ow: "redirected"} {
		methods := func() string {
			var out []string
			for _, m := range wire.Written(t) {
				out = append(out, m.Method)
			}
			return strings.Join(out, " ")
		}
		for deadline := time.Now().Add(time.Minute); methods() != want; {
			if time.Now().After(deadline) {
				t.Fatalf("written: %s, want %s", methods(), want)
			}
		}
	}
}

func TestVerdictsAboutWhatIsRead(t *testing.T) {
	var told []string
	ref := interceptedBy(&Interceptor{Inbound: func(_ uint64, m *codec.Message) (v Verdict) {
		switch m.Method {
		case "refused":
			v.Err = &codec.Error{Name: "No", Message: "not this"}
		case "answered":
			v.Reply = &codec.Message{Result: codec.Raw{1}}
		case "handled":
			v.Handle = func(ctx context.Context, in *Incoming) (any, error) {
				result, ok, err := in.Rest(ctx)
				return fmt.Sprint(result, ok, err), nil
			}
		case "changed":
			v.Message = &codec.Message{Kind: m.Kind, ID: m.ID, Method: "instead"}
		case "taken":
			v.Taken = true
		}
		return v
	}}, &Interceptor{Stage: StageLast, Inbound: func(_ uint64, m *codec.Message) (v Verdict) {
		told = append(told, m.Method)
		if m.Kind == codec.Request && m.Method != "passed" {
			v.Reply = &codec.Message{Result: codec.Raw{2}}
		}
		return v
	}})
	connects(t, ref, 1)
	c := ref.conn.Load()
	for method, want := range map[string]string{
		"refused": "No: not this", "answered": "[1]", "changed": "[2]", "passed": `MethodNotFound: the supervisor has no method "passed"`,
	} {
		reply, _ := c.Asked(request(method))
		got := fmt.Sprint([]byte(reply.Result))
		if reply.Err != nil {
			got = reply.Err.Name + ": " + reply.Err.Message
		}
		if got != want {
			t.Errorf("%s: %s, want %s", method, got, want)
		}
	}
	reply, handle := c.Asked(request("handled"))
	if reply != nil || handle == nil {
		t.Fatalf("%v", reply)
	}
	for _, method := range []string{"taken", "refused", "changed", "passed"} {
		c.Notified(&codec.Message{Kind: codec.Notification, Method: method})
	}
	if got := strings.Join(told, " "); strings.Count(got, "instead") != 2 || !strings.HasSuffix(got, "instead passed") {
		t.Error(got)
	}
}

// A held call waits within its deadline, with a bounded number of bytes; what an
// interceptor says when it is asked again decides.
func TestHeldCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		open := false
		ref := interceptedBy(&Interceptor{Outbound: func(uint64, *codec.Message) (v Verdict) {
			if !open {
				v.Hold = free
			}
			return v
		}})
		_, w := connects(t, ref, 1)
		large := make([]byte, heldBytes/2+1)
		short, err := ref.Go(t.Context(), "short", nil, Timeout(time.Second))
		if err != nil {
			t.Fatal(err)
		}
		first, err := ref.Go(t.Context(), "first", large)
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if err := ref.Call(t.Context(), "too much", large, nil); !errors.Is(err, ErrOverloaded) {
			t.Error(err)
		}
		if err := short.Result(nil); !errors.Is(err, ErrTimeout) {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ref.Notify(ctx, "note", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if len(w.Written(t)) > 0 {
			t.Error("a held message was written")
		}
		open = true
		close(free)
		synctest.Wait()
		if list := w.Written(t); len(list) != 1 || list[0].Method != "first" || ref.held.Load() != 0 {
			t.Errorf("%d written, %d bytes are held", len(list), ref.held.Load())
		}
		first.Cancel()
	})
}

func TestHeldReading(t *testing.T) {
	hold := make(chan struct{})
	ref := interceptedBy(&Interceptor{}, &Interceptor{Reading: func() <-chan struct{} { return hold }})
	c := newConn(ref, 1, native.Open(codec.Limits{}), linktest.NewWire())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.Pace(ctx) // the end of the life ends it
	paced := make(chan struct{})
	go func() {
		c.Pace(t.Context())
		close(paced)
	}()
	select {
	case <-paced:
		t.Error("it is read")
	case <-time.After(time.Millisecond):
	}
	close(hold)
	<-paced
	c.Conn.Close()
}

// What an interceptor says of the end of a life is waited for, and not for long.
func TestAdvice(t *testing.T) {
	for _, how := range []string{"at once", "in time", "too late"} {
		t.Run(how, func(t *testing.T) {
			h := HostSpec{Spec: hostspec.Spec{Name: "a"}}
			h.Restart.MaxCrashes = 1
			var ended []uint64
			h.Interceptors = func(*Ref) []*Interceptor {
				return []*Interceptor{{
					Ended: func(e LifeEnd) { ended = append(ended, e.Life) },
					Advise: func(e LifeEnd, tell func(Advice)) {
						a := Advice{Clear: e.Life == 1, Extensions: json.RawMessage(`{"begun":[]}`)}
						switch how {
						case "at once":
							tell(a)
						case "in time":
							time.AfterFunc(lifecycle.AdviceWait/2, func() { tell(a) })
						case "too late":
							time.AfterFunc(2*lifecycle.AdviceWait, func() { tell(a) })
						}
					},
				}}
			}
			simulate(t, nil, alone(h), func(s *simulation) {
				s.exits("a", 3)
				s.passes(3 * lifecycle.AdviceWait)
				unadvised := false
				for e := range s.world.Journal.Events(context.Background(), 0, false) {
					unadvised = unadvised || e.Kind == record.KindUnadvised
				}
				if st := s.world.Ref("a").Status(); st.State != lifecycle.Running || st.CrashesInWindow != 0 || len(ended) != 1 {
					t.Errorf("%s, %d crashes, %v ended", st.State, st.CrashesInWindow, ended)
				}
				if late := how == "too late"; unadvised != late {
					t.Errorf("decided without advice: %v", unadvised)
				}
			})
		})
	}
}

// BenchmarkChain prints what three interceptors, each of which looks at every message,
// add to a call: compare it with BenchmarkCallMirrored.
func BenchmarkChain(b *testing.B) {
	for _, n := range []int{0, 3} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ref, _ := mirrored(b, nil)
			for range n {
				ref.Intercept(&Interceptor{
					Outbound: func(uint64, *codec.Message) (v Verdict) { return v },
					Write:    func(*Line, *codec.Message, int) (v Verdict) { return v },
					Sent:     func(uint64, *codec.Message, bool) {},
					Answered: func(uint64, uint32, time.Duration) {},
				})
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := ref.Call(context.Background(), "echo", nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A life is over for interceptors when those before it are, too: what is kept for all of them
// may be given up then.
func TestOverFollowsTheLivesBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var over []uint64
		ref := interceptedBy(&Interceptor{Name: "watch", Over: func(life uint64) { over = append(over, life) }})
		var lives []*Aftermath
		var before chan struct{}
		for life := range uint64(3) {
			a := &Aftermath{ref: ref, failure: &Failure{Life: life + 1}, before: before, heard: make(chan struct{})}
			lives, before = append(lives, a), a.heard
		}
		for _, step := range []struct {
			life int
			want string
		}{{2, "[]"}, {1, "[1 2]"}, {3, "[1 2 3]"}} {
			go lives[step.life-1].over()
			synctest.Wait()
			if fmt.Sprint(over) != step.want {
				t.Errorf("after life %d: %d, want %s", step.life, over, step.want)
			}
		}
	})
}

// An interceptor is closed once, by the end of the host or that of the tree.
func TestInterceptorIsClosedOnce(t *testing.T) {
	for _, removed := range []bool{false, true} {
		closed := 0
		h := HostSpec{Spec: hostspec.Spec{Name: "a"}}
		h.Interceptors = func(*Ref) []*Interceptor { return []*Interceptor{{Name: "watch", Closed: func() { closed++ }}} }
		simulate(t, nil, alone(h), func(s *simulation) {
			s.passes(time.Second)
			if removed {
				if gone := s.ask(func(done func(error)) any { return &Ask{&RemoveHost{Host: "a"}, done} }); gone() != "done" {
					t.Error(gone())
				}
			}
		})
		if closed != 1 {
			t.Errorf("removed %v: closed %d times", removed, closed)
		}
	}
}

// A life that has ended before it was prepared is not prepared any more.
func TestNoStartingAfterTheEnd(t *testing.T) {
	ref := interceptedBy(&Interceptor{Name: "watch", Starting: func(context.Context, *Start) error {
		t.Error("it is called")
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ref.prepare(ctx, &Start{Path: "/bin/sh"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
