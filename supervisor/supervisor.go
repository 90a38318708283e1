package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/sandbox"
)

// Event is one line of history; see [record.Event].
type Event = record.Event

// CrashReport is what is kept of one crash; see [record.CrashReport].
type CrashReport = record.CrashReport

// Notification is a message of a host that asks for nothing.
type Notification struct {
	Host     string
	Life     uint64
	Method   string
	Params   codec.Raw
	Encoding codec.Encoding // of Params
}

// Supervisor is a running tree. Safe for concurrent use.
type Supervisor struct {
	world    *actors.World
	launcher *sandbox.Launcher
	spec     Spec // without the groups
	parts    []openPart
	core     func(HostSpec) actors.HostSpec
	root     *actor.PID
	started  time.Time

	done    chan struct{}
	mu      sync.Mutex
	err     error
	left    error // what of the tree has not ended; known once done is closed
	stopped bool
	handles map[string]*Host // by name

	applying chan struct{} // full during an Apply
}

// Start runs a tree and returns at once; hosts start beside it (see Ready), and
// their handles can be had and called already.
// The tree lives until Stop, until ctx ends (then it is stopped as by Stop
// without a deadline), or until a host fails under OnFailed Exit. Errors:
// *multiple* errors wrapping ErrSpec, that of a part that cannot be opened, or what
// the system refused.
func Start(ctx context.Context, spec Spec, opts ...Option) (*Supervisor, error) {
	t, err := newTree(spec, opts)
	if err != nil {
		return nil, err
	}
	if t.world.System == nil {
		t.world.System = safeactor.NewSystem(t.world.Log.Named("actor"))
	}
	s := t.sup
	pid, err := t.world.System.Root.SpawnNamed(t.props(), t.world.System.ProcessRegistry.NextId()+"-hostsup")
	if err != nil {
		t.close()
		return nil, err
	}
	s.mu.Lock()
	s.root = pid
	s.mu.Unlock()
	close(t.spawned)
	// The hosts have their names when Start returns. (The error would be that
	// the tree has ended already.)
	_ = s.ask(context.Background(), func(done func(error)) any {
		return actors.AskGroups(func([]record.GroupStatus) { done(nil) })
	})
	for _, h := range s.Hosts() {
		if err := s.added(h); err != nil {
			return nil, errors.Join(err, s.Stop(context.Background()))
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = s.Stop(context.Background()) })
	go func() { // ends with the tree
		<-s.done
		stop()
	}()
	return s, nil
}

// Props returns the props of a tree for somebody else's actor system: spawn
// them once, anywhere in it, and talk to the PID with the messages of package
// actors (Call, Command, AddHost, GetStatus, Shutdown, …). The tree ends when
// the actor is stopped or gets a Shutdown. Errors as of Start.
func Props(system *actor.ActorSystem, spec Spec, opts ...Option) (*actor.Props, error) {
	t, err := newTree(spec, append(opts, WithSystem(system)))
	if err != nil {
		return nil, err
	}
	if name := t.extended; name != "" {
		t.close()
		return nil, fmt.Errorf("%w: host %q: extensions: a tree in another actor system has none", ErrSpec, name)
	}
	close(t.spawned)
	return t.props(), nil
}

// PID is the address of the tree's root, for the messages of package actors.
func (s *Supervisor) PID() *actor.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// Host returns the handle of a host. The error wraps ErrNoHost, or is ErrClosed
// when the tree has ended.
func (s *Supervisor) Host(name string) (*Host, error) {
	select {
	case <-s.done:
		return nil, ErrClosed
	default:
	}
	if r := s.world.Ref(name); r != nil {
		return s.handle(r), nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoHost, name)
}

// Hosts returns all handles in the order of declaration.
func (s *Supervisor) Hosts() []*Host {
	refs := s.world.Refs()
	hosts := make([]*Host, len(refs))
	for i, r := range refs {
		hosts[i] = s.handle(r)
	}
	return hosts
}

// handle returns the handle of a host: the same one each time, by which programs may
// tell hosts apart.
func (s *Supervisor) handle(r *actors.Ref) *Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.handles[r.Name()]
	if h == nil || h.ref != r { // new, or its name was free again
		h = &Host{ref: r}
		h.feed, h.answers = kept(r)
		s.handles[r.Name()] = h
	}
	return h
}

// Attach lets a program speak to a host over rw as if it had started it; see
// package attach, whose Part the tree needs. It returns when the program has left,
// nil when it did so by itself. Errors besides what ended the program: [ErrNoHost],
// [ErrNoPart], and attach.ErrProtocol for a host that cannot be attached to.
func (s *Supervisor) Attach(ctx context.Context, name string, rw io.ReadWriteCloser) error {
	h, err := s.Host(name)
	if err != nil {
		return err
	}
	for _, p := range s.parts {
		if p.Opened.Attach == nil {
			continue
		}
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		go func() { // ends with this call, or the supervisor
			select {
			case <-s.done:
				cancel(ErrClosed)
			case <-ctx.Done():
			}
		}()
		return p.Attach(ctx, h, rw)
	}
	return fmt.Errorf("attach to host %q: %w", name, ErrNoPart)
}

// History returns the events kept so far, oldest first: the last 4,096.
func (s *Supervisor) History() []Event {
	return slices.Collect(s.Events(context.Background(), 0, false))
}

// Follow yields the events of History, and then what comes until ctx or the tree
// ends. A reader that falls behind gets an Event with only Lost set in place of those
// it missed.
func (s *Supervisor) Follow(ctx context.Context) iter.Seq[Event] { return s.Events(ctx, 0, true) }

// Events yields the events after number since, and with follow what comes until ctx or
// the tree ends. An Event with only Lost set stands for those that are kept no longer,
// if since is not 0. A number that no event has yet is one of another supervisor, and
// counts as 0.
func (s *Supervisor) Events(ctx context.Context, since uint64, follow bool) iter.Seq[Event] {
	if since > s.world.Journal.Last() {
		since = 0
	}
	return s.world.Journal.Events(ctx, since, follow)
}

// EventCounts returns how many events there were, and how many readers have missed because
// they fell behind, once for each reader.
func (s *Supervisor) EventCounts() (written, missed uint64) {
	return s.world.Journal.Last(), s.world.Journal.Lost()
}

// Note writes an event of kind supervisor, for what the program around the tree
// has to tell whoever reads its events.
func (s *Supervisor) Note(reason string) {
	s.world.Journal.Write(Event{Kind: record.KindSupervisor, Reason: reason})
}

// Crashes returns the crash reports of a host ("" for all), newest last.
func (s *Supervisor) Crashes(host string) ([]CrashReport, error) { return s.world.Reports.List(host) }

// Crash returns the report with this id, or the only one whose id begins so.
// The error wraps ErrNoCrash.
func (s *Supervisor) Crash(id string) (*CrashReport, error) {
	r, err := s.world.Reports.Get(id)
	if err != nil {
		return nil, err
	}
	return &r, nil
}

// ask sends a message with a done func to the root and waits for its call.
func (s *Supervisor) ask(ctx context.Context, send func(done func(error)) any) error {
	result := make(chan error, 1)
	s.world.System.Root.Send(s.PID(), send(func(err error) {
		select {
		case result <- err:
		default:
		}
	}))
	select {
	case err := <-result:
		return err
	case <-s.done:
		select {
		case err := <-result:
			return err
		default:
			return ErrClosed
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// order has the root carry something out.
func (s *Supervisor) order(ctx context.Context, m actors.Order) error {
	return s.ask(ctx, func(done func(error)) any { return &actors.Ask{Order: m, Done: done} })
}

// Ready returns when every host that is not lazy is running or has had its
// first try (it crashed, failed, or is slow and waited for). Errors: ctx's,
// ErrClosed.
func (s *Supervisor) Ready(ctx context.Context) error { return s.order(ctx, &actors.Ready{}) }

// Ping returns when the root of the tree has answered, which it does in no time unless
// it is stuck: what a watchdog wants to know. Errors: ctx's, ErrClosed.
func (s *Supervisor) Ping(ctx context.Context) error { return s.order(ctx, &actors.Ping{}) }

// Add adds a host to a group, or makes a group of its own for it when group is
// "", and returns its handle. The host is started unless it is lazy; Add does not
// wait for that. Errors: ErrNameTaken, ErrSpec, *lifecycle.OrderError, ErrClosed,
// ctx's, and what a part has against the host, which is in the tree then.
func (s *Supervisor) Add(ctx context.Context, group string, h HostSpec) (*Host, error) {
	h = sharing(h.WithDefaults())
	if err := errors.Join(s.spec.check(h), checkLog(s.world, &h)); err != nil {
		return nil, err
	}
	if group != "" {
		if err := hostspec.CheckName(group); err != nil {
			return nil, err
		}
	}
	if err := s.order(ctx, &actors.AddHost{Group: group, Host: s.core(h)}); err != nil {
		return nil, err
	}
	host, err := s.Host(h.Name)
	if err != nil {
		return nil, err
	}
	return host, s.added(host)
}

// Remove stops a host and takes it out; its name is free again. A host that
// others depend on is refused. When ctx ends first, the removal goes on. Errors:
// ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) Remove(ctx context.Context, name string) error {
	h, err := s.Host(name)
	if err != nil {
		return err
	}
	return s.persist(ctx, func(whole context.Context) error {
		err := s.order(whole, &actors.RemoveHost{Host: name})
		if err == nil {
			err = s.removed(whole, h)
		}
		return err
	})
}

// persist waits for f, which the end of ctx does not end; the end of the tree does.
func (s *Supervisor) persist(ctx context.Context, f func(whole context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- f(context.WithoutCancel(ctx)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Replace gives the host of h.Name the configuration h, and returns when that is in force,
// without waiting for the host to run. If h is [HostSpec.Equal] to the present one, nothing
// is touched. A change of what the supervisor alone has to know (Start, Restart, Requests,
// Stop, Log, a [Live] feature) leaves the process alone, and so does one of Memory, Tasks and CPU of Resources where cgroups enforce
// them; see [sandbox.Child.SetLimits]. For any other the life that runs is stopped as by
// Restart; the next one is of the new configuration. A host that has failed is started;
// one that a person stopped stays down.
//
// Calls that wait, followers, handlers that were set by [Host.Handle] and programs that
// are attached stay, the latter unless Attach or the protocol is another one, for which
// calls that wait end, too. When ctx ends first, the replacement goes on. Errors: ErrSpec,
// ErrNoHost, *lifecycle.OrderError, ErrClosed, ctx's, and what a part has against it.
func (s *Supervisor) Replace(ctx context.Context, h HostSpec) error {
	h = sharing(h.WithDefaults())
	if err := errors.Join(s.spec.check(h), checkLog(s.world, &h)); err != nil {
		return err
	}
	host, err := s.Host(h.Name)
	if err != nil {
		return err
	}
	return s.persist(ctx, func(whole context.Context) error {
		host.replacing.Lock()
		defer host.replacing.Unlock()
		before := host.Spec()
		if before.Equal(h) {
			return nil
		}
		anew := before.partsDiffer(h)
		if anew {
			if err := s.partsRemove(whole, host); err != nil {
				return err
			}
		}
		core := s.core(h)
		if before.sameFeatures(h) {
			core.Interceptors = nil // it keeps them
		}
		keep := host.relimits(before, h)
		err := s.order(whole, &actors.ReplaceHost{Host: core, Keep: keep})
		for _, f := range h.Features {
			if f, live := f.(Live); live && err == nil {
				f.Change(host.ref)
			}
		}
		if keep && err == nil && host.ref.Limit(h.Resources, false) != nil && !host.ref.Status().State.AtRest() {
			err = host.restart(whole) // it crashed meanwhile, or has taken more memory
		}
		if anew && !errors.Is(err, ErrNoHost) && !errors.Is(err, ErrClosed) {
			err = errors.Join(err, s.added(host)) // as it was, if err is not nil
		}
		return err
	})
}

// Stop stops all hosts, dependents before what they depend on, and all parts
// with what they run, and ends the tree: when it returns nil, no
// process, goroutine or file of it is left. When ctx ends first, what is left is
// killed at once, and the error of Stop wraps that of ctx after that is done.
// Processes that do not end within ten seconds of a SIGKILL are not waited for
// any longer; the error then wraps a *[sandbox.StuckError] that names them.
// Later calls wait for the first and return the same about processes.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopped
	s.stopped = true
	s.mu.Unlock()
	if first {
		s.world.System.Root.Send(s.PID(), &actors.Ask{Order: &actors.Shutdown{}, Done: func(error) {}})
	}
	select {
	case <-s.done:
		return s.leftBehind()
	case <-ctx.Done():
		// Stopping the root actor stops all below it; each life kills its
		// process tree on the way.
		s.world.System.Root.Stop(s.PID())
		<-s.done
		return errors.Join(ctx.Err(), s.leftBehind())
	}
}

// leftBehind is what has not ended of a tree that is done.
func (s *Supervisor) leftBehind() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.left
}

// Done is closed when the tree has ended.
func (s *Supervisor) Done() <-chan struct{} { return s.done }

// Err says why the tree ended by itself: it wraps ErrHostFailed under OnFailed
// Exit; nil after Stop, or while it runs.
func (s *Supervisor) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Call asks a host for something and returns its answer as an Out; see
// [actors.Ref.Call], whose errors it has.
func Call[Out any](ctx context.Context, host *Host, method string, in any, opts ...CallOption) (Out, error) {
	var out Out
	err := host.Call(ctx, method, in, &out, opts...)
	return out, err
}

// CallOption changes one call.
type CallOption = actors.CallOption

// Idempotent allows a call to be sent again, at most once, to the next life
// when the host crashes before it has answered.
func Idempotent() CallOption { return actors.Idempotent() }

// Timeout bounds a call, in addition to its context. Without either, the
// host's requests.timeout holds.
func Timeout(d time.Duration) CallOption { return actors.Timeout(d) }

// Trace sends W3C trace context along with a call, when the host understands it.
func Trace(parent, state string) CallOption { return actors.Trace(parent, state) }
