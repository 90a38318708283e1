package actors

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/startslots"
	"github.com/hostsup/hostsup/internal/transport"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Strategies are the supervisor strategies of the tree's levels, each towards
// the children of that level.
type Strategies struct {
	Root  actor.SupervisorStrategy // towards groups
	Group actor.SupervisorStrategy // towards hosts
	Host  actor.SupervisorStrategy // towards lives
	Life  actor.SupervisorStrategy // towards process and connection
}

// Launcher starts the processes of lives, as a *sandbox.Launcher does.
type Launcher interface {
	Start(*sandbox.Command) (*sandbox.Child, error)
	Kill() sandbox.Kill // how it ends their trees
}

// Reports keeps crash reports, as a *reports.Store does. It is safe for concurrent use.
type Reports interface {
	// Add keeps a report. It must not wait for the disk.
	Add(id string, at time.Time, host string, r record.CrashReport) error
	// List returns the reports of a host, "" for all hosts, newest last.
	List(host string) ([]record.CrashReport, error)
	// Get returns the report with this id, or the only one whose id begins so.
	Get(id string) (record.CrashReport, error)
	Close() error
}

// World is what all actors of one tree share. It is made before the first
// actor and not changed afterwards, but for the directory of hosts.
type World struct {
	System     *actor.ActorSystem
	Log        hclog.Logger
	Launcher   Launcher
	Journal    *record.Journal
	Reports    Reports
	Strategies Strategies
	// SystemJournal takes the output of hosts whose spec has Log.Journal. nil: such
	// hosts are refused.
	SystemJournal capture.Journal
	Packer        capture.Packer // of old log files; nil: they are not compressed
	StateDir      string         // folder of everything that is kept; "": memory only
	LogDir        string         // folder of the hosts' log files; "": memory only
	Version       string         // of the program, for the handshake

	Redactor record.Redactor // nil: nothing is taken out of what is kept and shown
	Withheld []string        // names of variables that no host inherits

	// MaxStarting is how many hosts start at once, from spawn to ready; 0: any
	// number.
	MaxStarting int

	// Interceptors returns the features of a host whose spec does not say them. May be
	// nil.
	Interceptors func(*Ref) []*Interceptor

	// Advice says what a person can do about a host that has failed, for the
	// log; crashID is "" when it failed without a crash. nil: nothing is said.
	Advice func(host, crashID string) string

	// Env is where time and goroutines come from; nil: [link.System].
	Env link.Env

	// Wires makes the connection of a life that is about to start, in a simulation.
	// nil: connections are sockets and pipes.
	Wires func(*sandbox.Command) link.Wire

	ending   atomic.Bool        // the tree is being stopped, or has ended
	slots    startslots.Limiter // of those that start
	folders  transport.Folders  // of transports that need a path
	archiver capture.Archiver   // of the hosts' log files
	serving  sync.WaitGroup     // run, and handlers of requests that hosts make

	mu    sync.RWMutex
	refs  map[string]*Ref
	order []string // names in the order in which they were entered
}

// env returns Env.
func (w *World) env() link.Env {
	if w.Env == nil {
		return link.System{}
	}
	return w.Env
}

// redactor returns Redactor.
func (w *World) redactor() record.Redactor {
	if w.Redactor == nil {
		return record.NoRedactor()
	}
	return w.Redactor
}

// now returns the time of day, which can be compared as a monotonic reading.
func (w *World) now() time.Time {
	env := w.env()
	return env.Time(env.Now())
}

// run runs f on a goroutine of its own, for which Served waits.
func (w *World) run(f func()) {
	w.serving.Add(1)
	w.env().Go(func() {
		defer w.serving.Done()
		f()
	})
}

// Ref returns the handle of a host, or nil.
func (w *World) Ref(name string) *Ref {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.refs[name]
}

// noHost returns the error for the name of a host that is not there: ErrClosed
// once the tree is being stopped.
func (w *World) noHost(name string) error {
	if w.ending.Load() {
		return ErrClosed
	}
	return fmt.Errorf("%w: %q", ErrNoHost, name)
}

// Refs returns all handles in the order of declaration.
func (w *World) Refs() []*Ref {
	w.mu.RLock()
	defer w.mu.RUnlock()
	out := make([]*Ref, 0, len(w.order))
	for _, name := range w.order {
		out = append(out, w.refs[name])
	}
	return out
}

func (w *World) enter(r *Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refs == nil {
		w.refs = make(map[string]*Ref)
	}
	w.refs[r.spec().Name] = r
	w.order = append(w.order, r.spec().Name)
}

func (w *World) leave(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.refs, name)
	w.order = slices.DeleteFunc(w.order, func(n string) bool { return n == name })
}

// Served waits until no handler of a host's request runs any more. All hosts
// are gone, so that their contexts have ended.
func (w *World) Served() { w.serving.Wait() }

// Close waits as Served does and for work on log files, and removes the tree's temporary
// folder.
func (w *World) Close() error {
	w.Served()
	w.archiver.Close()
	return w.folders.Close()
}
