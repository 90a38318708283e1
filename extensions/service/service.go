package service

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/location"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Tree is what a service needs from the supervisor.
type Tree struct {
	Host    func(name string) *actors.Ref                // nil if no host has that name
	Add     func(ctx context.Context, name string) error // adds a lazy host like the one with the extensions
	Remove  func(ctx context.Context, name string) error
	Journal *record.Journal
	Log     hclog.Logger
	Redact  func(string) string // removes secrets from texts of hosts

	// Profile takes a CPU profile of a life of a host, in V8's format; nil disables
	// profiles.
	Profile func(ctx context.Context, host string, life uint64, d time.Duration) ([]byte, error)
	// Allocations samples the allocations of a life of a host until ctx ends, and passes V8's heap
	// profile, and a CPU profile, to take after each interval; nil disables that.
	Allocations func(ctx context.Context, host string, life uint64, every time.Duration, take func(heap, cpu json.RawMessage)) error
	// Notes makes a life note its calls that block, large allocations and native code; nil disables that.
	Notes func(ctx context.Context, host string, life uint64) (Notes, error)
	// Changed is called after changes of what [Service.Offers] returns, also when it may be
	// unchanged. It must not block. May be nil.
	Changed func()

	// Profiles is the folder for profiles of crash reports; "" disables them.
	Profiles string
}

// Service manages the extensions of one host. It must be made by [New].
type Service struct {
	tree    Tree
	base    *actors.Ref
	own     *actors.Interceptor // of base
	spec    plan.Spec
	dialect dialect
	log     hclog.Logger
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup // slow tasks; only the loop starts them
	queue   queue
	done    chan struct{} // the loop has ended

	// Owned by the loop.
	found      []extensions.Extension
	refused    map[extensions.ID]string // why an extension is not in the registry
	disabled   map[extensions.ID]string // "disabled by …"
	registry   extensions.Registry
	index      blame.Index
	active     *activation.Machine
	alarm      *time.Timer // of active
	placed     location.Assignment
	notes      map[location.Note]bool
	faults     map[int]*faults   // by the number of the host
	unled      map[int]time.Time // by that number: the latest crash that calls for notes
	owner      map[string]int    // of a cell
	hosts      map[string]*extHost
	dirty      bool     // the activation machine does not know the latest assignment
	deltas     int      // updates that hosts have not answered, and hosts that are to note their calls
	then       []func() // reports to the activation machine after that
	tag        uint64
	waits      map[uint64]*waiter
	idle       []chan struct{} // closed when nothing is in progress
	why        map[extensions.ID]string
	history    map[extensions.ID]*history
	command    map[string]extensions.ID        // commands that no manifest has
	uses       uses                            // shared with other goroutines
	registered map[string]registration         // where a command was registered last
	reported   map[string]bool                 // reported mistakes in announcements
	wrong      map[string]bool                 // mistakes of the last scan
	scans      chan struct{}                   // semaphore for scans; shared with other goroutines
	methods    atomic.Pointer[map[string]bool] // methods of extensions; shared with other goroutines
	workspace  atomic.Pointer[[]string]        // its folders; nil: those of spec; shared with other goroutines
}

// history is what became of an extension.
type history struct {
	crashes  map[crash]bool
	decision string
}

type crash struct {
	cell string
	life uint64
}

// New finds the extensions of a host and starts to manage them: the hosts for affinities
// exist when it returns. It reports mistakes of extensions in the journal.
func New(base *actors.Ref, spec plan.Spec, tree Tree) *Service {
	s := &Service{
		tree: tree, base: base, spec: spec, log: tree.Log.Named(base.Name()).Named("extensions"),
		done: make(chan struct{}), refused: map[extensions.ID]string{}, disabled: map[extensions.ID]string{},
		notes: map[location.Note]bool{}, faults: map[int]*faults{}, unled: map[int]time.Time{}, owner: map[string]int{}, hosts: map[string]*extHost{},
		waits: map[uint64]*waiter{}, why: map[extensions.ID]string{}, history: map[extensions.ID]*history{},
		command: map[string]extensions.ID{}, registered: map[string]registration{},
		reported: map[string]bool{}, wrong: map[string]bool{}, scans: make(chan struct{}, 1),
	}
	s.queue.wake = make(chan struct{}, 1)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.dialect = dialectOf(base, spec)
	home := s.newHost(base.Name(), 0, "")
	home.ref = base
	s.own = home.interceptor()
	base.Intercept(s.own)
	s.hosts[home.name] = home
	s.scan()
	s.active = activation.New(activation.Rules{Startup: s.spec.Startup, Hosts: s.initialHosts()})
	go s.run()
	s.post(s.relocate)
	_ = s.waitIdle(s.ctx) // it can only fail after Close, which cannot have been called yet
	s.post(func() {
		s.activation(activation.Boot{})
		for _, event := range s.spec.Events {
			s.activation(activation.Request{Event: event})
		}
	})
	return s
}

// initialHosts returns the initial hosts and how they start.
func (s *Service) initialHosts() []activation.HostSpec {
	out := []activation.HostSpec{{Name: s.base.Name(), Eager: s.spec.Eager, Own: s.dialect.own(), Tells: s.dialect.tells()}}
	for _, n := range slices.Compact(slices.Sorted(maps.Values(s.spec.Affinity))) {
		out = append(out, activation.HostSpec{Name: s.name(location.Place{Kind: location.Process, Number: n}), Eager: s.spec.Eager, Own: s.dialect.own(), Tells: s.dialect.tells()})
	}
	return out
}

// name returns the name of the host for a location.
func (s *Service) name(p location.Place) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', strings.ContainsRune("._-~", r):
			return r
		}
		return '_'
	}, p.Name(s.base.Name()))
}

// scan finds the extensions that are known before any host has run.
func (s *Service) scan() {
	result := s.dialect.find(s.ctx, nil)
	for _, err := range result.problems {
		s.wrong[err.Error()] = true
		s.problem("", err)
	}
	for _, text := range s.spec.Disabled {
		s.disabled[extensions.MakeID(text)] = "disabled by the configuration"
	}
	s.found, s.index = result.list, result.index
	s.publishMethods()
	var list []extensions.Extension
	for _, e := range s.found {
		if s.disabled[e.ID] == "" {
			list = append(list, e)
		}
	}
	r, problems := extensions.NewRegistry(list)
	s.registry = r
	for _, err := range problems {
		s.wrong[err.Error()] = true
	}
	s.problems(problems)
}

// problems reports the refusals of a registry.
func (s *Service) problems(list []error) {
	for _, err := range list {
		var e *extensions.Error
		if errors.As(err, &e) {
			s.refuse(err)
			s.problem(e.ID, err)
			continue
		}
		s.problem("", err)
	}
}

// refuse records why an extension is not in the registry.
func (s *Service) refuse(err error) {
	var e *extensions.Error
	if errors.As(err, &e) && !s.registry.Has(e.ID) {
		s.refused[e.ID] = err.Error()
	}
}

func (s *Service) problem(id extensions.ID, err error) {
	s.log.Warn("problem", "error", err)
	s.emit(record.Event{Kind: record.KindExtension, Extension: string(id), Reason: err.Error()}, s.base.Name(), 0)
}

// emit writes an event about a host.
func (s *Service) emit(e record.Event, host string, life uint64) {
	group := s.base.Group()
	e.Host, e.Group = &host, &group
	if life != 0 {
		e.Life = &life
	}
	e.Reason = s.tree.Redact(e.Reason)
	s.tree.Journal.Write(e)
}

// Close ends the service. It does not change the hosts.
func (s *Service) Close() {
	s.base.Withdraw(s.own)
	s.cancel()
	<-s.done
	s.work.Wait()
}

// SetWorkspace changes the workspace folders, in which hosts look for what extensions wait for.
// The hosts themselves ask again for folders that they are told of.
func (s *Service) SetWorkspace(dirs []string) { s.workspace.Store(&dirs) }

// folders returns the workspace folders.
func (s *Service) folders() []string {
	if dirs := s.workspace.Load(); dirs != nil {
		return *dirs
	}
	return s.spec.Workspace
}

// Base returns the name of the host that specifies the extensions.
func (s *Service) Base() string { return s.base.Name() }

// Made returns the hosts that the service has added.
func (s *Service) Made(ctx context.Context) ([]string, error) {
	return get(ctx, s, func() []string {
		var out []string
		for _, name := range slices.Sorted(maps.Keys(s.hosts)) {
			if name != s.base.Name() {
				out = append(out, name)
			}
		}
		return out
	})
}

// queue has the tasks of the loop.
type queue struct {
	mu    sync.Mutex
	items []func()
	wake  chan struct{}
	room  chan struct{} // closed when the items are taken; nil if no host waits
	ended bool
}

// post adds a task for the loop. It never blocks.
func (s *Service) post(f func()) {
	s.queue.mu.Lock()
	s.queue.items = append(s.queue.items, f)
	s.queue.mu.Unlock()
	select {
	case s.queue.wake <- struct{}{}:
	default:
	}
}

// run is the loop. It ends with Close.
func (s *Service) run() {
	defer close(s.done)
	defer s.queue.end()
	defer s.stopTimers()
	for {
		select {
		case <-s.queue.wake:
		case <-s.ctx.Done():
			return
		}
		for _, f := range s.queue.take() {
			f()
		}
		s.checkIdle()
	}
}

// stopTimers stops the timers.
func (s *Service) stopTimers() {
	if s.alarm != nil {
		s.alarm.Stop()
	}
	for _, f := range s.faults {
		if f.alarm != nil {
			f.alarm.Stop()
		}
	}
}

// get runs f on the loop and waits for its result.
func get[T any](ctx context.Context, s *Service, f func() T) (T, error) {
	result := make(chan T, 1)
	s.post(func() { result <- f() })
	var none T
	select {
	case v := <-result:
		return v, nil
	case <-s.done:
		return none, ErrClosed
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// waitIdle waits until nothing is in progress: no host is being started, stopped, added or
// updated.
func (s *Service) waitIdle(ctx context.Context) error {
	done := make(chan struct{})
	s.post(func() { s.idle = append(s.idle, done) })
	select {
	case <-done:
		return nil
	case <-s.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkIdle wakes the callers of waitIdle if nothing is in progress.
func (s *Service) checkIdle() {
	if len(s.idle) == 0 || s.deltas > 0 {
		return
	}
	for _, p := range s.hosts {
		if p.busy {
			return
		}
	}
	s.queue.mu.Lock()
	more := len(s.queue.items) > 0
	s.queue.mu.Unlock()
	if more {
		return
	}
	for _, done := range s.idle {
		close(done)
	}
	s.idle = nil
}
