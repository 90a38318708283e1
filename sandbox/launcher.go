package sandbox

import (
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Options configures a Launcher. The zero value selects the strongest kill method that
// works on this machine.
type Options struct {
	Kill Kill // "" selects the strongest; NewLauncher fails if another one does not work

	// Users is the range of user ids for policies with user "auto", as root. Each id is
	// used by at most one living process tree.
	Users Range
	// Strongest bounds the level of confinement, for comparisons and for machines
	// without namespaces; "" is policy.Full.
	Strongest policy.Level
	// Unrecorded disables reading of the kernel's records of denials. Denials of
	// commands are then those of observation, and limits that were reached.
	Unrecorded bool
}

// Launcher starts processes and ends their trees. One Launcher serves a whole
// supervisor; it owns the spawning thread, the keeper and the cgroup. Its methods are
// safe for concurrent use. It must be closed.
type Launcher struct {
	impl      launcher
	strongest policy.Level
}

// launcher is the implementation for an operating system.
type launcher interface {
	kind() Kill
	missing() []string
	start(*Command) (*Child, error)
	announce(owner string, p *policy.Policy)
	close() error
}

// NewLauncher probes the system once and sets up the kill method, which takes some
// milliseconds. The error wraps [ErrUnsupported], with the reason, if the requested
// method does not work on this machine.
func NewLauncher(opt Options) (*Launcher, error) {
	impl, err := newLauncher(opt)
	if err != nil {
		return nil, err
	}
	return &Launcher{impl, opt.Strongest}, nil
}

// Kill returns the kill method in use.
func (l *Launcher) Kill() Kill { return l.impl.kind() }

// Missing returns texts for people on what is weaker than possible: why stronger kill
// methods are not in use, and whether the keeper is currently not running. It returns
// nil if nothing is missing.
func (l *Launcher) Missing() []string { return l.impl.missing() }

// Announce tells the Launcher which folders p makes writable, before a command with
// that Command.Owner is started: an earlier life of it, under an earlier Launcher, may
// have created symbolic links there. No start follows links in such a folder.
func (l *Launcher) Announce(owner string, p *policy.Policy) { l.impl.announce(owner, p) }

// Start starts cmd as the leader of its own session and process group, and returns
// after its execve has succeeded. Errors are *StartError.
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

// Close kills the remaining children with their trees, reaps them, removes the cgroups
// and ends the keeper. It waits at most ten seconds after SIGKILL for processes that
// the kernel does not end; then its error wraps a *StuckError for each such tree. A
// second Close returns the same error.
func (l *Launcher) Close() error { return l.impl.close() }

// Child is one started process with its tree. It is safe for concurrent use.
type Child struct {
	name    string
	pid     int
	started time.Time
	tree    tree
	held    *held // nil if neither confined nor limited

	done  chan struct{}
	ended func(Exit) // Command.Ended
	exit  Exit       // written before done is closed

	killed   atomic.Int64 // time of the first KillTree, in nanoseconds of Unix time; 0: not called
	hunting  sync.Once
	hunted   chan struct{} // closed by a KillTree after Done: the backend then waits for the end of the tree
	vanished sync.Once
	gone     chan struct{} // closed by vanish

	releasing sync.Once
	released  chan struct{} // closed by Release
}

// tree accesses one child by the kill method in use.
type tree interface {
	signal(os.Signal) error
	kill() error
	pids() ([]int, error)
	// account returns where the tree is counted: its cgroup, folder below the open folder
	// dir, if folder is not "", and the process outside of the tree that waits for those of
	// it whose parent has ended, if reaper is not 0.
	account() (dir int, folder string, reaper int)
}

func newChild(cmd *Command, started time.Time) *Child {
	return &Child{name: cmd.Name, ended: cmd.Ended, started: started, done: make(chan struct{}),
		hunted: make(chan struct{}), gone: make(chan struct{}), released: make(chan struct{})}
}

// Name returns Command.Name.
func (c *Child) Name() string { return c.name }

// Pid returns the process id on the host side.
func (c *Child) Pid() int { return c.pid }

// Started returns when the process was started.
func (c *Child) Started() time.Time { return c.started }

// Done returns a channel that is closed when the process itself has ended. Its
// descendants may still run; see KillTree.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how the process ended. It is valid after Done is closed.
func (c *Child) Exit() Exit {
	select {
	case <-c.done:
		return c.exit
	default:
		return Exit{}
	}
}

// Signal sends sig to the process, not to its tree. It returns os.ErrProcessDone after
// the end of the process.
func (c *Child) Signal(sig os.Signal) error {
	select {
	case <-c.done:
		return os.ErrProcessDone
	default:
		return c.tree.signal(sig)
	}
}

// KillTree sends SIGKILL to the process and its descendants, as far as the kill method
// reaches them. It does not wait. It is idempotent, also ends remaining descendants
// after Done, and has no effect after Release.
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

// Release frees the resources of the tree (cgroup folder, descriptors, and with
// KillGroup the zombie). It should be called after Done, and first kills what is left
// of the tree. It does not wait; Launcher.Close does.
func (c *Child) Release() {
	c.releasing.Do(func() {
		_ = c.KillTree()
		close(c.released)
	})
}

// end publishes how the process ended. The child's goroutine calls it once.
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
