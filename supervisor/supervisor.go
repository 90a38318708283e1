package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/internal/inspector"
	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/secret"
)

// Host is the handle of one host, valid over all its lives; see [actors.Ref].
type Host = actors.Ref

// Event is one line of history; see [actors.Event].
type Event = actors.Event

// CrashReport is what is kept of one crash; see [actors.CrashReport].
type CrashReport = actors.CrashReport

// Notification is what a host says without being asked; see
// [actors.Notification].
type Notification = actors.Notification

// Option changes how a tree is run.
type Option func(*options)

type options struct {
	log    hclog.Logger
	system *actor.ActorSystem
	kill   sandbox.Kill
	notify func(Notification)
}

// WithLogger sends the tree's log lines to l. Default: nothing is logged.
func WithLogger(l hclog.Logger) Option { return func(o *options) { o.log = l } }

// WithSystem spawns the tree in an actor system of the caller's. Default: one
// of its own (which takes about 3 MiB).
func WithSystem(s *actor.ActorSystem) Option { return func(o *options) { o.system = s } }

// WithKill takes this way of ending process trees instead of the strongest
// that works here.
func WithKill(k sandbox.Kill) Option { return func(o *options) { o.kill = k } }

// WithNotifications hands what hosts say of themselves to f. It is called on
// the read loop of a connection: it must not wait, and must not keep Params'
// bytes unless it copies them.
func WithNotifications(f func(Notification)) Option { return func(o *options) { o.notify = f } }

// Supervisor is a running tree. Safe for concurrent use.
type Supervisor struct {
	world   *actors.World
	spec    Spec // without the groups
	execs   []*execServer
	root    *actor.PID
	started time.Time

	done    chan struct{}
	mu      sync.Mutex
	err     error
	hubs    map[*Host]*attach.Hub // of hosts that somebody has attached to
	stopped bool

	extended map[string]*service.Service // of hosts with extensions, by their names
	ports    *inspector.Ports            // of hosts that are inspected
}

// Start runs a tree and returns at once; hosts start beside it (see Ready), and
// their handles can be had and called already.
// The tree lives until Stop, until ctx ends (then it is stopped as by Stop
// without a deadline), or until a host fails under OnFailed Exit. Errors:
// *multiple* errors wrapping ErrSpec, an *ExecServerError for one that cannot
// listen, or what the system refused.
func Start(ctx context.Context, spec Spec, opts ...Option) (*Supervisor, error) {
	t, err := newTree(spec, opts)
	if err != nil {
		return nil, err
	}
	if t.world.System == nil {
		t.world.System = actors.NewSystem(t.world.Log.Named("actor"))
	}
	s := t.sup
	pid, err := t.world.System.Root.SpawnNamed(t.props(), t.world.System.ProcessRegistry.NextId()+"-hostsup")
	if err != nil {
		err = errors.Join(append(discard(t.execs), err)...)
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
		return actors.AskGroups(func([]actors.GroupStatus) { done(nil) })
	})
	for _, h := range s.Hosts() {
		if err := s.extend(h); err != nil {
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
	for _, g := range t.groups {
		for _, h := range g.Hosts {
			if h.Extensions != nil {
				err := errors.Join(append(discard(t.execs), fmt.Errorf("%w: host %q: extensions: a tree in another actor system has none", ErrSpec, h.Name))...)
				t.close()
				return nil, err
			}
		}
	}
	close(t.spawned)
	return t.props(), nil
}

// tree is a Supervisor before it runs.
type tree struct {
	sup     *Supervisor
	world   *actors.World
	groups  []GroupSpec   // until there are props
	execs   []*execServer // those that listen
	spawned chan struct{} // closed once sup.root may be used
}

func newTree(spec Spec, opts []Option) (*tree, error) {
	var o options
	for _, opt := range opts {
		opt(&o)
	}
	if o.log == nil {
		o.log = hclog.NewNullLogger()
	}
	spec = spec.WithDefaults()
	if err := spec.Validate(); err != nil {
		return nil, err
	}
	launcher, err := sandbox.NewLauncher(sandbox.Options{Kill: o.kill, Users: spec.Users})
	if err != nil {
		return nil, fmt.Errorf("processes cannot be started here: %w", err)
	}
	redactor := secret.NewRedactor(spec.Secrets.Cache)
	o.log = redactedLog(o.log, redactor)
	w := &actors.World{
		System: o.system, Log: o.log, Launcher: launcher, Journal: actors.NewJournal(), Version: version.Version(),
		OnNotification: o.notify, MaxStarting: spec.MaxStarting, Secrets: secret.Open(spec.Secrets), Redactor: redactor,
		Strategies: actors.Strategies{
			Root: Contain{o.log, "group"}, Group: Contain{o.log, "host"}, Host: Restart{}, Life: Contain{o.log, "part of a life"},
		},
	}
	w.Journal.Redact(redactor)
	crashes := ""
	if spec.StateDir != "" {
		w.LogDir, crashes = filepath.Join(spec.StateDir, "logs"), filepath.Join(spec.StateDir, "crashes")
	}
	w.Reports, err = reports.Open[CrashReport](crashes, reports.Options{OnError: func(err error) { o.log.Warn("crash reports", "error", err) }})
	if err != nil {
		return nil, errors.Join(err, launcher.Close())
	}
	t := &tree{world: w, groups: spec.Groups, spawned: make(chan struct{})}
	for _, e := range spec.ExecServers {
		srv, err := t.newExecServer(e)
		if err != nil {
			return nil, errors.Join(append([]error{err}, append(discard(t.execs), launcher.Close(), w.Reports.Close())...)...)
		}
		t.execs = append(t.execs, srv)
	}
	spec.Groups, spec.ExecServers = nil, nil // the hosts have their own copies; these would only take memory
	t.sup = &Supervisor{world: w, spec: spec, execs: t.execs, started: time.Now(), done: make(chan struct{}), ports: inspector.NewPorts()}
	return t, nil
}

// props are those of the root actor; they are to be spawned once.
func (t *tree) props() *actor.Props {
	groups := t.groups
	t.groups = nil
	if len(t.execs) > 0 {
		return t.house(groups)
	}
	return actors.NewRoot(t.world, groups, t.onFailed, t.close)
}

func (t *tree) onFailed(group, host, reason string) {
	if t.sup.spec.OnFailed != Exit || t.sup.apart(host) {
		return
	}
	t.sup.mu.Lock()
	if t.sup.err == nil {
		t.sup.err = fmt.Errorf("%w: %s: %s", ErrHostFailed, host, reason)
	}
	t.sup.mu.Unlock()
	go func() { // ends with the tree at the latest
		<-t.spawned
		_ = t.sup.Stop(context.Background())
	}()
}

// close gives back what the tree held. The actors are gone.
func (t *tree) close() {
	t.sup.endExtensions()
	t.sup.ports.Close()
	t.world.Served()
	if err := t.world.Launcher.Close(); err != nil {
		t.world.Log.Error("process trees", "error", err)
	}
	if err := t.world.Reports.Close(); err != nil {
		t.world.Log.Error("crash reports", "error", err)
	}
	t.world.Journal.Close()
	t.world.Secrets.Close()
	t.world.Redactor.Close()
	close(t.sup.done)
}

// PID is the address of the tree's root, for the messages of package actors.
func (s *Supervisor) PID() *actor.PID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.root
}

// Host returns the handle of a host. The error wraps ErrNoHost.
func (s *Supervisor) Host(name string) (*Host, error) {
	if r := s.world.Ref(name); r != nil {
		return r, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrNoHost, name)
}

// Hosts returns all handles in the order of declaration.
func (s *Supervisor) Hosts() []*Host { return s.world.Refs() }

// Attach lets a program speak to a host over rw as if it had started it; see
// package attach. It returns when the program has left, nil when it did so by
// itself. Errors besides what ended the program: [ErrNoHost], and
// attach.ErrProtocol for a host that cannot be attached to.
func (s *Supervisor) Attach(ctx context.Context, name string, rw io.ReadWriteCloser) error {
	hub, err := s.hub(name)
	if err != nil {
		return err
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
	return hub.Serve(ctx, rw)
}

// hub returns the hub of a host, which is made when somebody first attaches.
func (s *Supervisor) hub(name string) (*attach.Hub, error) {
	h, err := s.Host(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if hub := s.hubs[h]; hub != nil {
		return hub, nil
	}
	hub, err := attach.New(h, s.world.Log)
	if err != nil {
		return nil, err
	}
	if s.hubs == nil {
		s.hubs = make(map[*Host]*attach.Hub)
	}
	s.hubs[h] = hub
	return hub, nil
}

// Events returns the history kept so far (the last 4,096 events), oldest first,
// and with follow what comes until ctx or the tree ends. A reader that falls
// behind gets an Event with only Lost set in place of those it missed.
func (s *Supervisor) Events(ctx context.Context, follow bool) iter.Seq[Event] {
	return s.world.Journal.Events(ctx, 0, follow)
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

// Ready returns when every host that is not lazy is running or has had its
// first try (it crashed, failed, or is slow and waited for). Errors: ctx's,
// ErrClosed.
func (s *Supervisor) Ready(ctx context.Context) error { return s.ask(ctx, actors.AskReady) }

// Add adds a host to a group, or makes a group of its own for it when group is
// "". It is started unless it is lazy; Add does not wait for that. Errors:
// ErrNameTaken, ErrSpec, *lifecycle.OrderError, ErrClosed, ctx's.
func (s *Supervisor) Add(ctx context.Context, group string, h HostSpec) error {
	h = h.WithDefaults()
	if err := h.Validate(); err != nil {
		return err
	}
	if group != "" {
		if err := actors.CheckName(group); err != nil {
			return err
		}
	}
	if err := s.ask(ctx, func(done func(error)) any { return actors.AskAdd(group, h, done) }); err != nil || h.Extensions == nil {
		return err
	}
	ref, err := s.Host(h.Name)
	if err != nil {
		return err
	}
	return s.extend(ref)
}

// Remove stops a host and takes it out; its name is free again. A host that
// others depend on is refused. Errors: ErrNoHost, ErrClosed, ctx's.
func (s *Supervisor) Remove(ctx context.Context, name string) error {
	if h, err := s.Host(name); err == nil {
		defer func() { // its companion goes with it
			s.mu.Lock()
			delete(s.hubs, h)
			s.mu.Unlock()
		}()
	}
	if err := s.ask(ctx, func(done func(error)) any { return actors.AskRemove(name, done) }); err != nil {
		return err
	}
	return s.unextend(ctx, name)
}

// Stop stops all hosts, dependents before what they depend on, and all exec
// servers with what they run, and ends the tree: when it returns nil, no process, goroutine or file of it is left. When
// ctx ends first, what is left is killed at once, and Stop returns ctx's error
// after that is done. Later calls wait for the first.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.mu.Lock()
	first := !s.stopped
	s.stopped = true
	s.mu.Unlock()
	if first {
		var stop any = &stopHouse{func(error) {}}
		if len(s.execs) == 0 {
			stop = actors.AskShutdown(func(error) {})
		}
		s.world.System.Root.Send(s.PID(), stop)
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		// Stopping the root actor stops all below it; each life kills its
		// process tree on the way.
		s.world.System.Root.Stop(s.PID())
		<-s.done
		return ctx.Err()
	}
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

// GroupStatus and HostStatus are parts of Status; see package actors.
type (
	GroupStatus = actors.GroupStatus
	HostStatus  = actors.HostStatus
)

// Status is the whole tree as `status --json` shows it.
type Status struct {
	Supervisor  Info                 `json:"supervisor"`
	Groups      []actors.GroupStatus `json:"groups"`
	Hosts       []actors.HostStatus  `json:"hosts"`
	ExecServers []ExecServerStatus   `json:"exec_servers"`
}

// Info is the supervisor's own part of the status.
type Info struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Config  *string   `json:"config"`
	Socket  *string   `json:"socket"`
	Kill    string    `json:"kill"`    // how process trees are ended: cgroup, pidns, keeper, group
	Missing []string  `json:"missing"` // why stronger ways are not in force
}

// Status returns what there is to say of the tree now.
func (s *Supervisor) Status() Status {
	out := Status{
		Supervisor: Info{
			PID: os.Getpid(), Version: s.world.Version, Started: s.started,
			Kill: string(s.world.Launcher.Kill()), Missing: s.world.Launcher.Missing(),
		},
		Groups: []actors.GroupStatus{}, Hosts: []actors.HostStatus{}, ExecServers: s.ExecServers(),
	}
	if out.Supervisor.Missing == nil {
		out.Supervisor.Missing = []string{}
	}
	if s.spec.Config != "" {
		out.Supervisor.Config = &s.spec.Config
	}
	if s.spec.Socket != "" {
		out.Supervisor.Socket = &s.spec.Socket
	}
	groups := make(chan []actors.GroupStatus, 1)
	err := s.ask(context.Background(), func(done func(error)) any {
		return actors.AskGroups(func(g []actors.GroupStatus) {
			groups <- g
			done(nil)
		})
	})
	if err == nil {
		out.Groups = <-groups
	}
	for _, h := range s.Hosts() {
		out.Hosts = append(out.Hosts, h.Status())
	}
	return out
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
