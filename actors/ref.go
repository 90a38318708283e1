package actors

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Ref is the handle of one host over all its lives. Calls go through it
// without a mailbox in between as long as the host runs; when it does not, the
// host's actor decides what becomes of them. Safe for concurrent use.
type Ref struct {
	world *World
	now   atomic.Pointer[config]
	group string
	gated bool // its restarts ask its group
	log   *capture.Log
	pid   *actor.PID                    // of the Host
	child atomic.Pointer[sandbox.Child] // started last, if it is confined or limited

	chain         atomic.Pointer[chain]
	held          atomic.Int64  // bytes of the parameters of calls that are held
	noisy         atomic.Uint64 // the last life that printed such
	noises        atomic.Uint64 // lines of text where messages belong, skipped
	requestPrefix string
	conn          atomic.Pointer[conn] // of the running life
	pending       atomic.Int32         // requests open or waiting
	inbox         inbox                // what the host's actor must answer
	lasting       context.Context      // ends with the host's actor
	cancel        context.CancelFunc

	mu   sync.Mutex
	snap snapshot
}

// config is the configuration of a host, with what follows from it. It is not changed:
// [Ref.adopt] puts another one in its place.
type config struct {
	HostSpec
	can       codec.Features  // of its protocol
	deadlines *link.Deadlines // of requests with the host's own time-out
}

func newConfig(w *World, spec HostSpec) *config {
	spec.Interceptors = nil // they have been made, or are next; what makes them would be kept for nothing
	return &config{spec, spec.Features(), link.NewDeadlines(w.env(), spec.Requests.Timeout)}
}

// protocol is the name of the host's.
func (c *config) protocol() string {
	if c.Protocol == nil {
		return "none"
	}
	return c.Protocol.Name()
}

// spec returns the present configuration.
func (r *Ref) spec() *config { return r.now.Load() }

// snapshot is what the host's actor last said of itself.
type snapshot struct {
	machine  lifecycle.Host
	life     uint64
	child    *sandbox.Child // nil: no process
	liveness string
	startup  time.Duration
	lastExit *record.ExitInfo
	crashID  string // of the last crash; "" before the first
}

func newRef(w *World, group string, spec HostSpec) *Ref {
	r := &Ref{world: w, group: group}
	r.now.Store(newConfig(w, spec))
	r.log = capture.New(capture.Options{
		Dir: w.LogDir, Name: spec.Name, Rules: fileRules(spec.Log), Archiver: &w.archiver, Packer: w.Packer, Journal: w.SystemJournal,
		Redact:  w.redactor(),
		OnError: r.outputError, OnRecover: r.outputRecovered,
		OnArchiveError: func(err error) { r.Log().Warn("output", "error", err) },
	})
	r.lasting, r.cancel = context.WithCancel(context.Background())
	r.chain.Store(newChain(nil, nil))
	made := spec.Interceptors
	if made == nil {
		made = w.Interceptors
	}
	if made != nil {
		r.chain.Store(newChain(made(r), nil))
	}
	r.snap = snapshot{machine: lifecycle.NewHost(lifecycle.HostRules{}, 0, w.now()), liveness: "none"}
	return r
}

// outputError tells that the host's output cannot be written; the host goes on.
func (r *Ref) outputError(err error) {
	r.Log().Warn("output", "error", err)
	Record(r, record.Event{Kind: record.KindLogFailed, Reason: err.Error()})
}

// outputRecovered tells that the host's output can be written again.
func (r *Ref) outputRecovered(lost uint64) {
	reason := fmt.Sprintf("captured output is written again; %d lines are missing", lost)
	r.Log().Info("output", "reason", reason)
	Record(r, record.Event{Kind: record.KindLogRecovered, Reason: reason})
}

// fileRules returns the rules of the files of a host's log.
func fileRules(r hostspec.LogRule) capture.Rules {
	return capture.Rules{
		MaxSize: r.MaxSize, Files: r.Files, RotateEvery: r.RotateEvery, MaxAge: r.MaxAge, Compress: r.Compress, JSON: r.JSON, Journal: r.Journal,
	}
}

// logStatus returns what became of the host's output.
func (r *Ref) logStatus() record.LogStatus {
	s := r.log.Stats()
	out := record.LogStatus{Written: s.Lines, WrittenBytes: s.Bytes, Lost: s.LostLines, LostBytes: s.LostBytes}
	if s.Err != nil {
		text := r.world.redactor().String(s.Err.Error())
		out.Error = &text
	}
	return out
}

// noise keeps a line that a host printed where messages belong. The first of
// each life is worth a remark.
func (r *Ref) noise(life uint64, line []byte) {
	r.noises.Add(1)
	line = r.world.redactor().Bytes(line) // before it is cut
	r.log.Print(capture.Stdout, life, line)
	if r.noisy.Swap(life) != life {
		r.world.Log.Named(r.spec().Name).Warn("text on stdout where messages belong is skipped", "life", life, "text", string(line[:min(len(line), 200)]))
	}
}

// over tells interceptors that nothing is left to be heard of a life, nor of those before.
func (r *Ref) over(life uint64) {
	for _, i := range r.chain.Load().list {
		if i.Over != nil {
			i.Over(life)
		}
	}
}

// Name is the host's name.
func (r *Ref) Name() string { return r.spec().Name }

// Group is the name of its group.
func (r *Ref) Group() string { return r.group }

// Spec is what it was made from, with its defaults.
func (r *Ref) Spec() HostSpec { return r.spec().HostSpec }

// Features returns what only some protocols can, of that of the host.
func (r *Ref) Features() codec.Features { return r.spec().can }

// Log returns the logger of the host.
func (r *Ref) Log() hclog.Logger { return r.world.Log.Named(r.spec().Name) }

// Env returns where the tree takes time, timers and goroutines from.
func (r *Ref) Env() link.Env { return r.world.env() }

// StateDir returns the folder in which the tree of a host keeps its state; "" without one.
func StateDir(r *Ref) string { return r.world.StateDir }

// Now returns the time of day of Env.
func (r *Ref) Now() time.Time { return r.world.now() }

// PID is the address of the host's actor.
func (r *Ref) PID() *actor.PID { return r.pid }

// Encoding is how payloads of this host are encoded, nil without a protocol.
func (r *Ref) Encoding() codec.Encoding {
	if r.spec().Protocol == nil {
		return nil
	}
	return r.spec().Protocol
}

// State returns the state of the host.
func (r *Ref) State() lifecycle.State { return r.snapshot().machine.State() }

// Pending returns how many calls to the host have no outcome yet, those that are held included.
func (r *Ref) Pending() int { return int(r.pending.Load()) }

// Life is the number of the current life, 0 before the first.
func (r *Ref) Life() uint64 { return r.snapshot().life }

func (r *Ref) snapshot() snapshot {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snap
}

func (r *Ref) publish(s snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap = s
}

// rest leaves the handle of a host that is there no more in a state at rest.
func (r *Ref) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.snap.child, r.snap.machine = nil, r.snap.machine.Over(r.world.now())
}

// ReopenLog opens the file of the host's output again, which another program has moved.
func (r *Ref) ReopenLog() { r.log.Reopen() }

// Status returns what there is to say of the host now. Memory and CPU time are those of
// its process tree, read from the system at the call.
func (r *Ref) Status() record.HostStatus {
	s := r.snapshot()
	out := r.status(&s)
	if s.child != nil {
		if rss, cpu, err := s.child.Usage(); err == nil {
			seconds := cpu.Seconds()
			out.RSSBytes, out.CPUSeconds = &rss, &seconds
		}
	}
	return out
}

// Peek returns Status without memory and CPU time, which take most of its time.
func (r *Ref) Peek() record.HostStatus {
	s := r.snapshot()
	return r.status(&s)
}

func (r *Ref) status(s *snapshot) record.HostStatus {
	spec, red := r.spec(), r.world.redactor()
	out := record.StatusOf(&s.machine, r.world.now(), red)
	out.Name, out.Group, out.Protocol, out.Life, out.MaxCrashes = spec.Name, r.group, spec.protocol(), s.life, spec.Restart.MaxCrashes
	out.Pending, out.Liveness, out.LastExit, out.Sandbox = r.Pending(), s.liveness, s.lastExit, r.sandboxStatus()
	out.Log = r.logStatus()
	out.DependsOn, out.Noise, out.Throttle, out.Eager, out.Job = append([]string{}, spec.Start.DependsOn...), r.noises.Load(), []record.ThrottleStatus{}, !spec.Start.Lazy, spec.Job
	for _, i := range r.chain.Load().list {
		if i.Status != nil {
			i.Status(&out)
		}
	}
	out.Health = out.Health.Redacted(red)
	if red.Active() {
		out.Sandbox.Denials = record.Denials(red, out.Sandbox.Denials)
	}
	if id := s.crashID; id != "" { // a copy, so that a snapshot needs no memory of its own
		out.CrashID = &id
	}
	if s.startup > 0 {
		seconds := s.startup.Seconds()
		out.StartupSeconds = &seconds
	}
	if s.child != nil {
		pid, started := s.child.Pid(), s.child.Started()
		out.PID, out.Started = &pid, &started
	}
	return out
}

// Print adds a line to the host's output: a remark ([capture.Note]), or what a life has sent in a
// message instead of printing it. It may wait for the disk.
func (r *Ref) Print(life uint64, s capture.Stream, line string) { r.log.Print(s, life, []byte(line)) }

// Limit changes the limits of the process that runs, or with dry only reports whether it
// could; see [sandbox.Child.SetLimits].
func (r *Ref) Limit(l policy.Limits, dry bool) error {
	child := r.snapshot().child
	if child == nil {
		return sandbox.ErrLimitsFixed
	}
	return child.SetLimits(l, dry)
}

// Tail returns the last n lines of the host's output, oldest first.
func (r *Ref) Tail(n int) []capture.Line { return r.log.Tail(n) }

// History returns up to n last lines, reading back into the log files when the
// lines in memory are fewer. Errors are those of the files.
func (r *Ref) History(n int) ([]capture.Line, error) { return r.log.History(n) }

// Follow yields the last n lines, then what comes, until ctx ends or the host
// is removed. A reader that falls behind is told how many lines it missed, in
// the Lost of the next one.
func (r *Ref) Follow(ctx context.Context, n int) iter.Seq[capture.Line] { return r.log.Follow(ctx, n) }

// After yields the lines after number seq that are kept in memory, then what comes,
// as Follow does. Without backlog fewer lines wait for a reader that falls behind.
func (r *Ref) After(ctx context.Context, seq uint64, backlog bool) iter.Seq[capture.Line] {
	return r.log.After(ctx, seq, backlog)
}

// Do asks for a verb and waits for its end. Errors: *StateError, ErrNoHost when
// the host was removed, ErrClosed when the supervisor stops, ctx's error.
func (r *Ref) Do(ctx context.Context, v Verb) error { return r.do(ctx, verb{verb: v}) }

func (r *Ref) do(ctx context.Context, v verb) error {
	done := make(chan error, 1)
	v.done = func(err error) { done <- err }
	if !r.hand(&v) {
		return r.world.noHost(r.spec().Name)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Start brings the host to running, after what it depends on. In failed it
// opens a new crash window. Errors as of Do; a *StateError says where it is
// instead.
func (r *Ref) Start(ctx context.Context) error { return r.Do(ctx, VerbStart) }

// Raise brings the host to running for a program that needs it, as a call to a
// lazy host does. Unlike [Ref.Start] it returns a *StateError that is ErrStopped
// when a person stopped the host, and one that is ErrFailed when the host was
// given up: only a person starts it then.
func (r *Ref) Raise(ctx context.Context) error { return r.Do(ctx, VerbRaise) }

// Release stops a host that runs and that no program needs any longer. Another Raise, a
// call, or the start of a host that depends on it starts it again. The error is a
// *StateError if the host does not run, or goes on because a host that depends on it runs,
// or because it was asked to start again meanwhile; else as of Do.
func (r *Ref) Release(ctx context.Context) error { return r.Do(ctx, VerbRelease) }

// RunDue is [Ref.Raise] for the schedule of a job: due, such as "02:00", is the time that has
// come. With again a run that goes on is stopped first. A job that has failed is started.
func (r *Ref) RunDue(ctx context.Context, due string, again bool) error {
	v := verb{verb: VerbStart, by: lifecycle.BySchedule, why: "schedule " + due}
	if again {
		v.verb = VerbRestart
	}
	return r.do(ctx, v)
}

// Renew is [Ref.Restart] for a feature that wants another life in the place of the present one.
// reason is that of the stop. A host that a person stopped, or that was given up, stays as it is,
// which the error, a *StateError, tells.
func (r *Ref) Renew(ctx context.Context, reason string) error {
	return r.do(ctx, verb{verb: VerbRestart, by: lifecycle.ByProgram, why: reason})
}

// Stop takes the host down; it stays down until it is started.
func (r *Ref) Stop(ctx context.Context) error { return r.Do(ctx, VerbStop) }

// Restart stops the host and starts it again.
func (r *Ref) Restart(ctx context.Context) error { return r.Do(ctx, VerbRestart) }

// Reset clears the crash window and the back-off; a failed host starts again.
func (r *Ref) Reset(ctx context.Context) error { return r.Do(ctx, VerbReset) }
