package sandbox

import (
	"os"
	"time"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// Kill is a method to end a whole process tree, even after the supervisor itself was
// killed.
type Kill string

// The methods, strongest first; a Launcher uses the first that works on this machine.
const (
	KillCgroup Kill = "cgroup" // a v2 cgroup per life and one keeper per launcher
	KillPidns  Kill = "pidns"  // a pid namespace per host
	KillKeeper Kill = "keeper" // a subreaping keeper per host
	KillGroup  Kill = "group"  // the process group only: setsid children escape
)

// Command describes a process to start. Start does not change it.
type Command struct {
	Name  string     // for logs and folder names: "host.life"
	Path  string     // with a slash: absolute, relative to Dir, or found by LookPath first
	Args  []string   // with Args[0]
	Env   []string   // "K=V"; the whole environment; with NetworkAllow, Start adds proxy variables that are not set
	Dir   string     // "" means the supervisor's own; with a Policy, its work folder or else "/"
	Files []*os.File // become fd 0, 1, 2, 3 …; nil entries, and a missing 0, 1 or 2, are /dev/null. The caller must close its copies after Start.

	// Terminal makes Files[0], which must be a terminal, the controlling terminal of
	// the session that the process leads.
	Terminal bool

	// Policy confines the process and its descendants; nil does not confine. Start
	// fails if this machine cannot enforce the policy as strictly as it demands; it
	// never enforces a policy more weakly without an error.
	Policy *policy.Policy
	// Owner names the owner of Policy over all its starts, for example the host. The
	// Launcher remembers where granted paths led: if a confined process or another user
	// may have replaced one, Start fails with an error that matches
	// [policy.ErrUntrusted]. "" remembers nothing.
	Owner string
	// Accept accepts the current targets of granted paths, because a person asked for
	// this start.
	Accept bool
	// Limits bounds what the process and its descendants may consume.
	Limits policy.Limits
	// Self starts this program again; Path is not used. On Linux the file of the
	// program may have been replaced. The Policy need not grant the program or its
	// shared libraries.
	Self bool
	// Observe makes a system call filter report the calls of a confined process without
	// changing their results, so that Child.Denials also has denials that are not
	// recorded otherwise. It slows the process down.
	Observe bool

	observed func(denial.Denial) // with Observe: called for every attempt, instead of filling Child.Denials

	// Ended, if not nil, is called once right after Done is closed, on a goroutine of
	// the Launcher, and must not block. It saves the caller a goroutine per child. It
	// is not called if Start fails, and may be called before Start has returned.
	Ended func(Exit)
}

// Exit is how a process ended.
type Exit struct {
	Code    int           // exit code; -1 if a signal ended it, or if the code is unknown because other code reaped it
	Signal  int           // signal number; 0 if it exited by itself
	Core    bool          // a core was dumped
	At      time.Time     // when the end was noticed
	User    time.Duration // user time of the process and of the children it waited for
	System  time.Duration // likewise, system time
	MaxRSS  int64         // bytes; the peak of the largest of them, on Linux at least that of its parent
	Started time.Time     // when Start was called

	// With Command.Limits:
	OutOfMemory bool   // the process, or one it depended on, was killed because Limits.Memory was reached
	MemoryPeak  int64  // bytes of the whole tree; 0 if unknown
	Limit       string // the limit that was reached and is likely the reason: "memory", "tasks", "file_size"; "" if none
}
