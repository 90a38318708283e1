package sandbox

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Options choose how a Launcher works. The zero value takes the strongest way
// that works here.
type Options struct {
	Kill Kill // "" picks the strongest; another one is taken or NewLauncher fails

	// Users are what policies with user "auto" are given by root, each to one
	// living process.
	Users Range
	// Strongest is a bound on the level of confinement, for comparisons and for
	// machines on which namespaces are not wanted; "" is policy.Full.
	Strongest policy.Level
	// Unrecorded leaves the kernel's records of what it denies unread. Denials of
	// commands are then those that observing finds, and limits that were reached.
	Unrecorded bool
}

// Launcher starts processes and ends their trees. One serves a whole
// supervisor; it owns the thread that spawns, the keeper and the cgroup. Its
// methods are safe for concurrent use. It must be closed.
type Launcher struct {
	impl      launcher
	strongest policy.Level
}

// launcher is what an operating system provides.
type launcher interface {
	kind() Kill
	missing() []string
	start(*Command) (*Child, error)
	announce(owner string, p *policy.Policy)
	close() error
}

// NewLauncher probes the system once and sets up what the way of killing
// needs, which takes some milliseconds. The error wraps [ErrUnsupported] when
// the way asked for does not work here, and says why.
func NewLauncher(opt Options) (*Launcher, error) {
	impl, err := newLauncher(opt)
	if err != nil {
		return nil, err
	}
	return &Launcher{impl, opt.Strongest}, nil
}

// Kill names the way in force.
func (l *Launcher) Kill() Kill { return l.impl.kind() }

// Missing says, in words for a person, what is not as strong as it could be:
// why stronger ways of killing are not in force, and whether the keeper is
// gone at the moment. It is nil when nothing is missing.
func (l *Launcher) Missing() []string { return l.impl.missing() }

// Announce tells which folders p, the policy of a command with that
// Command.Owner, lets be written, before one is started: an earlier life of it,
// under an earlier Launcher, may have put symbolic links there. No start follows
// one that lies in such a folder.
func (l *Launcher) Announce(owner string, p *policy.Policy) { l.impl.announce(owner, p) }

// Start starts cmd as the leader of a session and process group of its own
// and returns once its execve has succeeded. Errors are *StartError.
func (l *Launcher) Start(cmd *Command) (*Child, error) {
	if cmd.Self {
		path, err := thisProgram()
		if err != nil {
			return nil, &StartError{Name: cmd.Name, Step: StepExec, Err: err}
		}
		this := *cmd
		this.Path, cmd = path, &this
	}
	return l.impl.start(cmd)
}

// Close kills the children that are still alive, with their trees, reaps them,
// removes the cgroups and ends the keeper. It waits for processes that the
// kernel does not let go of until ten seconds after their SIGKILL, and names
// them in its error, which wraps a *StuckError for each tree.
// A second Close returns what the first did.
func (l *Launcher) Close() error { return l.impl.close() }

// Child is one started process with its tree. Safe for concurrent use.
type Child struct {
	name    string
	pid     int
	started time.Time
	tree    tree
	held    *held // nil: neither confined nor limited

	done  chan struct{}
	ended func(Exit) // Command.Ended
	exit  Exit       // written before done is closed

	killed   atomic.Int64 // when KillTree was called first, in nanoseconds of Unix time; 0: it was not
	hunting  sync.Once
	hunted   chan struct{} // closed by a KillTree after Done: from then on the backend looks for the end of the tree
	vanished sync.Once
	gone     chan struct{} // closed by vanish

	releasing sync.Once
	released  chan struct{} // closed by Release
}

// tree is how one child is reached, by the way of killing in force.
type tree interface {
	signal(os.Signal) error
	kill() error
	pids() ([]int, error)
	// cpu is the processor time of the tree where the kernel keeps that sum,
	// else false.
	cpu() (time.Duration, bool)
}

func newChild(cmd *Command, started time.Time) *Child {
	return &Child{name: cmd.Name, ended: cmd.Ended, started: started, done: make(chan struct{}),
		hunted: make(chan struct{}), gone: make(chan struct{}), released: make(chan struct{})}
}

// Name is the Command's.
func (c *Child) Name() string { return c.name }

// Pid is the process id as seen from outside.
func (c *Child) Pid() int { return c.pid }

// Done is closed when the process itself has ended. Its children may still be
// there; see KillTree.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how it ended; valid once Done is closed.
func (c *Child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{}
	}
}

// Signal sends sig to the process (not to its tree). os.ErrProcessDone after
// its end.
func (c *Child) Signal(sig os.Signal) error {
	select {
	case <-c.done:
		return os.ErrProcessDone
	default:
		return c.tree.signal(sig)
	}
}

// KillTree sends SIGKILL to the process and everything it started, as far as
// Launcher.Kill can reach. It does not wait. Idempotent; also valid after
// Done, for what the process left behind; without effect after Release.
func (c *Child) KillTree() error {
	c.killed.CompareAndSwap(0, time.Now().UnixNano())
	err := c.tree.kill()
	select {
	case <-c.done:
		c.hunting.Do(func() { close(c.hunted) })
	default:
	}
	return err
}

// Release frees what is kept for the tree (cgroup folder, descriptors, and
// with KillGroup the ended process's entry). Call it after Done; it kills what
// is left of the tree first. It does not wait; Launcher.Close does.
func (c *Child) Release() {
	c.releasing.Do(func() {
		_ = c.KillTree()
		close(c.released)
	})
}

// end publishes how the process ended. Called once, by the child's goroutine.
func (c *Child) end(e Exit) {
	e.At, e.Started = time.Now(), c.started
	if c.held != nil {
		c.held.judge(&e)
	}
	c.exit = e
	close(c.done)
	if c.ended != nil {
		c.ended(c.exit)
	}
}
