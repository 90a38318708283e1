package sandbox

import (
	"os"
	"time"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Kill names the way in which a whole process tree is ended, also when the
// supervisor itself was killed.
type Kill string

// The ways, strongest first; a Launcher takes the first that works here.
const (
	KillCgroup Kill = "cgroup" // a v2 cgroup per life and one keeper per launcher
	KillPidns  Kill = "pidns"  // a pid namespace per host
	KillKeeper Kill = "keeper" // a subreaping keeper per host
	KillGroup  Kill = "group"  // the process group only: setsid children escape
)

// Command says what to start. It is not changed by starting.
type Command struct {
	Name  string     // for logs and folder names: "host.life"
	Path  string     // with a slash: absolute, relative to Dir, or found by LookPath first
	Args  []string   // with Args[0]
	Env   []string   // "K=V"; the whole environment; only with NetworkAllow the variables that name a proxy are added where they are not set
	Dir   string     // "" means the supervisor's own; with a Policy, its work folder or else "/"
	Files []*os.File // become fd 0, 1, 2, 3 …; nil entries, and a missing 0, 1 or 2, are /dev/null. The caller closes its copies after Start.

	// Terminal makes Files[0], a terminal, the controlling one of the session
	// that the process leads.
	Terminal bool

	// Policy confines the process and everything it starts; nil does not. A
	// policy that cannot be enforced here as strictly as it demands makes Start
	// fail; nothing is ever enforced more weakly in silence.
	Policy *policy.Policy
	// Owner names whose Policy it is, such as a host, over all its starts. The
	// Launcher remembers to which folders its granted paths led: where a confined
	// process or another user may have replaced one, Start fails with an error that
	// is a [policy.ErrUntrusted]. "" remembers nothing.
	Owner string
	// Accept takes what granted paths lead to now as right: a person has asked for
	// this start.
	Accept bool
	// Limits bound what the process and everything it starts may use up.
	Limits policy.Limits
	// Self starts this very program once more; Path is not used. On Linux it may
	// have been replaced. The Policy need not grant the program or its shared
	// libraries.
	Self bool
	// Observe has a confined process watched by a system call filter that lets
	// everything pass as before, so that Child.Denials tells also what is not
	// recorded otherwise. It makes the process slower.
	Observe bool

	observed func(denial.Denial) // with Observe: is told of everything that is tried, instead of Child.Denials of what is denied

	// Ended, when not nil, is called once right after Done is closed, on a
	// goroutine of the Launcher's: it must not wait. It saves its user a
	// goroutine per child. It is not called when Start fails, and may be
	// called before Start has returned.
	Ended func(Exit)
}

// Exit is how a process ended.
type Exit struct {
	Code    int           // exit code; -1 when a signal ended it, or when it cannot be known because foreign code reaped it
	Signal  int           // signal number; 0 when it exited by itself
	Core    bool          // a core was dumped
	At      time.Time     // when the end was noticed
	User    time.Duration // processor time of it and of the children it waited for
	System  time.Duration // likewise, in the kernel
	MaxRSS  int64         // bytes; the peak of the largest of them, on Linux never less than what its starter had
	Started time.Time     // when its start was asked for

	// With Command.Limits:
	OutOfMemory bool   // it, or a process it had started and depended on, was killed for want of memory within Limits.Memory
	MemoryPeak  int64  // bytes of the whole tree; 0 when it is not known
	Limit       string // the limit that was reached and is likely the reason: "memory", "tasks", "file_size"; "" for none
}
