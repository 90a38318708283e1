package actors

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// simulation is a tree in a synctest bubble: its processes exist in the test
// alone, and its clock is the bubble's. Its tests are scenarios; what a tree
// tells is compared as text.
type simulation struct {
	t       *testing.T
	world   *World
	root    *actor.PID
	begin   time.Time
	told    uint64 // events so far
	failed  []string
	stopped bool
	seen    func(actor string, message any) // nil, or gets the messages of all actors below the root
	started func()                          // nil, or called when a process is started

	mu      sync.Mutex
	pids    map[string]int         // processes of a host so far
	running map[string]*simProcess // by host
	refuse  map[string]error       // starts of a host fail with it
	hold    map[string]chan struct{}
	wedge   string              // processes of this host are stuck from their start on
	peers   map[string]*simPeer // of the running lives with a protocol
	mute    map[string]bool     // hosts that do not shake hands
}

// simProcess is a process that ends at a signal, unless it is deaf to SIGTERM, or
// stuck in the kernel.
type simProcess struct {
	*sandbox.Simulated
	peer        *simPeer // nil: the host has no protocol
	deaf, stuck bool     // under simulation.mu
	over        bool
}

// strategies stand in for those of package supervisor.
type (
	toHost struct{}
	stops  struct{}
)

func (toHost) HandleFailure(sys *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	f, ok := reason.(*Failure)
	if !ok {
		f = &Failure{Cause: lifecycle.CauseInternal, Detail: fmt.Sprintf("panic: %v", reason)}
	}
	ReportFailure(sys, parent.(actor.Context).Self(), child, f)
	parent.StopChildren(child)
}

func (stops) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _, _ any) {
	parent.StopChildren(child)
}

// newSimulation makes the processes of a world.
func newSimulation(t *testing.T, w *World) *simulation {
	s := &simulation{
		t: t, begin: time.Now(), pids: make(map[string]int), running: make(map[string]*simProcess), refuse: make(map[string]error), hold: make(map[string]chan struct{}),
		peers: make(map[string]*simPeer), mute: make(map[string]bool), world: w,
	}
	w.Launcher, w.Wires = s, s.wire
	return s
}

// simulate runs f with a tree of groups, which is shut down behind it.
func simulate(t *testing.T, change func(*simulation), groups []GroupSpec, f func(s *simulation), parts ...PartSpec) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		log := hclog.NewNullLogger()
		crashes, err := reports.Open[record.CrashReport]("", reports.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := newSimulation(t, &World{
			System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil), Reports: crashes,
			Strategies: Strategies{Root: stops{}, Group: stops{}, Host: toHost{}, Life: stops{}},
		})
		if change != nil {
			change(s)
		}
		for i := range groups {
			for j := range groups[i].Hosts {
				groups[i].Hosts[j] = simSpec(groups[i].Hosts[j])
			}
		}
		failed := func(group, host, reason string) { s.failed = append(s.failed, group+" "+host+": "+reason) }
		root := NewRoot(s.world, RootSpec{Groups: groups, Parts: parts, OnFailed: failed, OnEnd: func() { s.stopped = true }})
		if s.seen != nil {
			root.Configure(actor.WithSpawnMiddleware(s.watch))
		}
		s.root, err = s.world.System.Root.SpawnNamed(root, "hostsup")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		f(s)
		if !s.stopped {
			s.shutdown()
			s.passes(10 * time.Second) // hosts with a connection do not hear the goodbye
		}
		if err := s.world.Close(); err != nil {
			t.Error(err)
		}
		s.world.Journal.Close()
		s.passes(time.Second) // dead letters have a clock of their own
		if err := crashes.Close(); err != nil {
			t.Error(err)
		}
	})
}

// watch shows the messages of actors to s.seen.
func (s *simulation) watch(spawn actor.SpawnFunc) actor.SpawnFunc {
	return func(sys *actor.ActorSystem, id string, props *actor.Props, parent actor.SpawnerContext) (*actor.PID, error) {
		props.Configure(actor.WithSpawnMiddleware(s.watch), actor.WithReceiverMiddleware(func(receive actor.ReceiverFunc) actor.ReceiverFunc {
			return func(ctx actor.ReceiverContext, e *actor.MessageEnvelope) {
				s.seen(id[strings.LastIndexByte(id, '/')+1:], e.Message)
				receive(ctx, e)
			}
		}))
		return spawn(sys, id, props, parent)
	}
}

// simSpec has a program that is there, and no chance in its back-off.
func simSpec(h HostSpec) HostSpec {
	h.Command = []string{os.Args[0]}
	h.Restart.Backoff.Initial = 100 * time.Millisecond
	return h.WithDefaults()
}

// Start implements Launcher.
func (s *simulation) Start(cmd *sandbox.Command) (*sandbox.Child, error) {
	host, _, _ := strings.Cut(cmd.Name, ".")
	s.mu.Lock()
	gate := s.hold[host]
	s.mu.Unlock()
	if gate != nil {
		<-gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refuse[host]; err != nil {
		return nil, &sandbox.StartError{Name: cmd.Name, Step: sandbox.StepFork, Err: err}
	}
	s.pids[host]++
	if s.started != nil {
		s.started()
	}
	p := &simProcess{peer: s.peers[host], stuck: host == s.wedge}
	if p.peer != nil {
		go p.peer.serve(p)
	}
	p.Simulated = sandbox.NewSimulated(cmd, s.pids[host], func(_ *sandbox.Simulated, sig os.Signal) { s.signal(p, sig) })
	s.running[host] = p
	return p.Child, nil
}

// Kill implements Launcher.
func (s *simulation) Kill() sandbox.Kill { return sandbox.KillGroup }

func (s *simulation) signal(p *simProcess, sig os.Signal) {
	s.mu.Lock()
	ends := !p.over && !p.stuck && (sig == os.Kill || !p.deaf)
	p.over = p.over || ends
	gone := p.over && sig == os.Kill
	s.mu.Unlock()
	if ends {
		number, _ := sig.(syscall.Signal)
		p.hangUp()
		p.End(sandbox.Exit{Code: -1, Signal: int(number)})
	}
	if gone {
		p.Vanish()
	}
}

// process is the one of a host that was started last.
func (s *simulation) process(host string) *simProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.running[host]
	if p == nil {
		s.t.Fatalf("%s has no process", host)
	}
	return p
}

// exits ends the process of a host, and waits for what follows at once.
func (s *simulation) exits(host string, code int) {
	p := s.process(host)
	s.mu.Lock()
	p.over = true
	s.mu.Unlock()
	p.hangUp()
	p.End(sandbox.Exit{Code: code})
	synctest.Wait()
}

// set changes a process.
func (s *simulation) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// passes lets time pass.
func (s *simulation) passes(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // the bubble's time
	synctest.Wait()
}

// do asks a host for a verb, and returns a func that says how that has ended.
func (s *simulation) do(host string, v Verb) (outcome func() string) {
	var out outcomeOf
	if !s.world.Ref(host).hand(&verb{verb: v, done: out.set}) {
		out.set(errors.New("refused"))
	}
	synctest.Wait()
	return out.String
}

// outcomeOf is how something has ended: "open", "done" or an error.
type outcomeOf struct{ text atomic.Pointer[string] }

func (o *outcomeOf) set(err error) {
	text := "done"
	if err != nil {
		text = err.Error()
	}
	o.text.Store(&text)
}

// String implements fmt.Stringer.
func (o *outcomeOf) String() string {
	if text := o.text.Load(); text != nil {
		return *text
	}
	return "open"
}

// ask sends a message to the root, and returns a func that says how it was
// answered.
func (s *simulation) ask(message func(done func(error)) any) (outcome func() string) {
	var out outcomeOf
	safeactor.Tell(s.world.System.Root, s.root, message(out.set))
	synctest.Wait()
	return out.String
}

func (s *simulation) shutdown() func() string {
	return s.ask(func(done func(error)) any { return &Ask{&Shutdown{}, done} })
}

// tells compares the events that came since the last call with a text: for each a
// line with the time since the begin, the host and what has become of it. Hosts go
// on beside each other: the lines of each are in their order, those of different
// hosts by name.
func (s *simulation) tells(want string) {
	s.t.Helper()
	type line struct{ about, text string }
	var told []line
	for e := range s.world.Journal.Events(context.Background(), s.told, false) {
		var b strings.Builder
		s.told = e.Seq
		fmt.Fprintf(&b, "%s ", e.Time.Sub(s.begin))
		about := "~" + e.Kind
		if e.Host != nil {
			about = *e.Host
		}
		switch {
		case e.Kind == record.KindState:
			from := "-"
			if e.From != nil {
				from = string(*e.From)
			}
			fmt.Fprintf(&b, "%s: %s → %s (%s)", *e.Host, from, *e.To, e.Reason)
			if e.PID != nil {
				fmt.Fprintf(&b, ", pid %d", *e.PID)
			}
			if e.CrashID != nil {
				b.WriteString(", report")
			}
			if e.Exit != nil {
				b.WriteString(", exit")
			}
		case e.Host != nil:
			fmt.Fprintf(&b, "%s: %s: %s", *e.Host, e.Kind, e.Reason)
		default:
			fmt.Fprintf(&b, "%s: %s", e.Kind, e.Reason)
		}
		told = append(told, line{about, b.String()})
	}
	slices.SortStableFunc(told, func(a, b line) int { return strings.Compare(a.about, b.about) })
	var got []string
	for _, l := range told {
		got = append(got, strings.TrimSpace(l.text))
	}
	lines := func(text string) []string {
		var out []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
		return out
	}
	if !slices.Equal(got, lines(want)) {
		s.t.Errorf("told:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(lines(want), "\n"))
	}
}
