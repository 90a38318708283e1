package sandbox

import (
	"errors"
	"os"
)

// ErrUnsupported is returned where this system cannot do what was asked.
var ErrUnsupported = errors.New("not supported on this system")

// Options choose how a Launcher works. The zero value takes the strongest way
// that works here.
type Options struct {
	Kill Kill // "" picks the strongest; another one is taken or NewLauncher fails
}

// Launcher starts processes and ends their trees. One serves a whole
// supervisor; it owns the thread that spawns, the keeper and the cgroup. Its
// methods are safe for concurrent use.
type Launcher struct{ impl launcher }

// NewLauncher probes the system once and sets up what the way of killing needs.
func NewLauncher(opt Options) (*Launcher, error) { return nil, ErrUnsupported }

// Kill names the way in force; Missing says, in words for a person, why the
// stronger ways are not in force (nil when the strongest is).
func (l *Launcher) Kill() Kill        { return "" }
func (l *Launcher) Missing() []string { return nil }

// Start starts cmd as the leader of a session and process group of its own
// and returns once its execve has succeeded. Errors are *StartError.
func (l *Launcher) Start(cmd *Command) (*Child, error) { return nil, ErrUnsupported }

// Close ends the keeper and removes the cgroup. Children still alive are
// killed with their trees and reaped first.
func (l *Launcher) Close() error { return nil }

type launcher interface{}

// Child is one started process with its tree. Safe for concurrent use.
type Child struct{}

// Pid is the process id as seen from outside.
func (c *Child) Pid() int { return 0 }

// Done is closed when the process itself has ended and is reaped. Its
// children may still be there; see KillTree.
func (c *Child) Done() <-chan struct{} { return nil }

// Exit is how it ended; valid once Done is closed.
func (c *Child) Exit() Exit { return Exit{} }

// Signal sends sig to the process (not to its tree). os.ErrProcessDone after
// its end.
func (c *Child) Signal(sig os.Signal) error { return nil }

// KillTree sends SIGKILL to the process and everything it started, as far as
// Launcher.Kill can reach. It does not wait. Idempotent; also valid after
// Done, for what the process left behind.
func (c *Child) KillTree() error { return nil }

// Release frees what is kept for the tree (cgroup folder, descriptors). Call
// once after Done; it kills what is left of the tree first.
func (c *Child) Release() {}
