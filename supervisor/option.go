package supervisor

import (
	"fmt"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// Option changes how a tree is run.
type Option func(*options)

type options struct {
	log    hclog.Logger
	system *actor.ActorSystem
	kill   sandbox.Kill
	starts actors.Launcher
	env    link.Env // nil: that of the system
	wires  func(*sandbox.Command) link.Wire
	notify func(Notification)
	advice func(host, crashID string) string
	events func(Event)
	packer capture.Packer

	evidence Evidence // nil: the tree's own store

	journal interface { // of the system; nil: there is none
		capture.Journal
		Close() error
	}
}

// WithLogger sends the tree's log lines to l. Default: nothing is logged.
func WithLogger(l hclog.Logger) Option { return func(o *options) { o.log = l } }

// WithSlog sends the tree's log lines to l: the name of the logger within the tree as
// the attribute "logger", and lines of hclog's level trace as slog.LevelDebug - 4.
func WithSlog(l *slog.Logger) Option { return WithLogger(slogLog{to: l}) }

// WithSystem spawns the tree in an actor system of the caller's. Default: one
// of its own (which takes about 3 MiB).
func WithSystem(s *actor.ActorSystem) Option { return func(o *options) { o.system = s } }

// WithKill takes this way of ending process trees instead of the strongest
// that works here.
func WithKill(k sandbox.Kill) Option { return func(o *options) { o.kill = k } }

// WithLauncher has l start the processes of hosts, for a program that does itself what a host
// does, or simulates it. Parts of the tree start theirs as without it.
func WithLauncher(l actors.Launcher) Option { return func(o *options) { o.starts = l } }

// Machine stands for the machine below a tree: its clock and goroutines, its processes, and the
// connections to them.
type Machine interface {
	actors.Launcher
	link.Env
	// Wire returns the connection of a life, before its process is started.
	Wire(*sandbox.Command) link.Wire
}

// WithMachine has the tree run on m instead of this machine; see package simulation. Parts of the tree
// start their processes on this machine.
func WithMachine(m Machine) Option {
	return func(o *options) { o.starts, o.env, o.wires = m, m, m.Wire }
}

// WithNotifications hands what hosts say of themselves to f. It is called on
// the read loop of a connection: it must not wait, and must not keep Params'
// bytes unless it copies them. A panic in f is logged and changes nothing else.
func WithNotifications(f func(Notification)) Option { return func(o *options) { o.notify = f } }

// WithAdvice adds to the log line of a host that has failed what f says a person
// can do about it; crashID is "" when the host failed without a crash.
func WithAdvice(f func(host, crashID string) string) Option {
	return func(o *options) { o.advice = f }
}

// WithCompression lets hosts have Log.Compress, and reads files that were compressed. Without
// it such a host is refused, and the program does not link what compresses.
func WithCompression() Option { return func(o *options) { o.packer = capture.Gzip{} } }

// Evidence keeps crash reports in the place of the tree's own store, and adds to them what it has
// seen of hosts. Package control/evidence has one.
type Evidence interface {
	// Open returns the store of a folder, "" for one in memory. What it keeps must not have what
	// the redactor of the world knows.
	Open(dir string, world *actors.World) (actors.Reports, error)
	// Interceptors returns what watches a host. They must not change what passes.
	Interceptors(host *actors.Ref) []*actors.Interceptor
}

// WithEvidence has e keep the crash reports of the tree.
func WithEvidence(e Evidence) Option { return func(o *options) { o.evidence = e } }

// checkLog returns what a host asks of its log that the program does not have.
func checkLog(w *actors.World, h *HostSpec) error {
	if h.Log.Compress && w.Packer == nil {
		return fmt.Errorf("%w: host %q: log compress: without WithCompression", ErrSpec, h.Name)
	}
	if h.Log.Journal && w.SystemJournal == nil {
		return fmt.Errorf("%w: host %q: log journal: without WithJournal", ErrSpec, h.Name)
	}
	return nil
}

// WithEvents hands the tree's events to f, one after the other in their order,
// for a tree made by [Props] above all, which has no History. f may wait: when it
// falls behind it gets an Event with only Lost set in place of those it missed. The
// tree does not end before f has returned from the last event, so f must not wait
// for the end of the tree.
func WithEvents(f func(Event)) Option { return func(o *options) { o.events = f } }
