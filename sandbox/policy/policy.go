package policy

import (
	"path/filepath"
	"strconv"
)

// Level names which parts of a policy are enforced.
type Level string

// The levels, strongest first.
const (
	Full     Level = "full"      // namespaces, mounts, Landlock, system call filter and cgroup limits
	NoCgroup Level = "no-cgroup" // the same, with limits by rlimit and sampling only
	Landlock Level = "landlock"  // Landlock, system call filter and rlimits; no namespaces
	None     Level = "none"      // nothing is enforced
)

// Caller as Policy.User means the user who called hostsup: for root the user that
// sudo names, for others the user itself.
const Caller = "caller"

// Network says what a process may reach.
type Network string

// The values of Network.
const (
	NetworkNone  Network = "none"  // nothing; the default
	NetworkHost  Network = "host"  // what the supervisor may reach
	NetworkAllow Network = "allow" // the entries of Policy.Allow, through a proxy on the host side
)

// Policy describes what a confined process may do. The zero value grants nothing.
// Paths are absolute and include everything below them. A path in Read, Exec,
// Write, ReadOnly or Devices must exist, unless a dash stands before it: then it
// is skipped where it is missing. Grants add up, with two exceptions: without JIT
// writable files cannot be run, and ReadOnly removes the right to write.
type Policy struct {
	Profile string // the profile that the policy is based on, for messages; "" without one
	Level   Level  // the weakest level accepted; "" is Full for root and NoCgroup for others
	User    string // "" and "auto": for root a user id of its own, for others their own; "caller": the user that started sudo, by SUDO_UID; or a number or name, for root

	Read  []string // may be read
	Exec  []string // may be read and run
	Write []string // may be read and written; the real folder
	// ReadOnly removes the right to write within a path of Write and keeps the other
	// rights. A path of Write below it may be written again.
	ReadOnly []string
	// Absent lists paths that must not be created where Write would allow it: while
	// such a path is missing, an empty read-only folder stands in for it. An existing
	// path is not affected. Absent cannot be set in a configuration.
	Absent []string
	Deny   []string // overrides every grant, also for paths that do not exist yet; a glob (*, ?, [a-z], ** for any folders, \ before a literal one) applies to what matches at the start

	Network Network  // "" is NetworkNone
	Allow   []string // host:port entries of NetworkAllow

	// Listen lists addresses of this machine, IP:PORT, whose connections are forwarded
	// to the same port of the loopback on the confined side. It must be empty with
	// NetworkHost.
	Listen []string

	// Ordinary shows the command what an unconfined program of the supervisor's user
	// sees: that user, by name and number and with its rights to files, terminals, the
	// machine's data in /proc, and its host name. Without namespaces it has no effect.
	// It cannot be set in a configuration.
	Ordinary bool

	JIT      bool     // allows memory that is writable and executable, memfd, and running files that the process wrote
	Devices  []string // device files beyond null, zero, full, random, urandom and tty
	Syscalls Syscalls

	Tmp  Tmp
	Work Work

	// Within bounds this policy: only what both policies grant is granted, and what
	// either denies is denied. The user, Work and Syscalls.Deny of Within apply too;
	// of Allow, Listen, Devices and Syscalls.Allow the entries that both have. It
	// cannot be set in a configuration.
	Within *Policy

	// Source maps a field ("level") or an entry ("read[2]") to its position
	// ("config.hcl:41"). It may be nil, and is used in messages only.
	Source map[string]string
}

// Syscalls changes the list of refused system calls.
type Syscalls struct {
	Deny  []string // added to the list
	Allow []string // removed from the list; a call that no policy may allow is an error
}

// Tmp bounds the private /tmp, which is in memory.
type Tmp struct {
	Size   int64 // bytes; 0 is 64 MiB
	Inodes int64 // 0 is 4096
}

// Work is a bounded folder that belongs to the host.
type Work struct {
	Path   string // "" for no folder
	Size   int64  // bytes; 0 is 128 MiB
	Inodes int64  // 0 is 8192
	Keep   bool   // the content outlives the process: a loop image, for root only
}

// Image returns the path of the file that holds the file system of a Work with
// Keep.
func (w *Work) Image() string { return filepath.Clean(w.Path) + ".image" }

// Limits bounds what a process and its descendants may consume. Zero values are
// unlimited. Core dumps are disabled for every process that has a Policy or any
// limit.
type Limits struct {
	Memory       int64   // bytes, of the whole tree
	Tasks        int     // processes and threads
	CPU          float64 // processors: 1.5 is one and a half
	Files        int     // open descriptors, per process
	FileSize     int64   // bytes, per file
	AddressSpace int64   // bytes, per process; aborts many runtimes

	// Enforce applies where no cgroup can enforce Memory, Tasks or CPU; "" is Strict.
	// The kernel enforces the other limits on every machine.
	Enforce Enforcement
}

// Enforcement says what happens to a limit that the machine cannot enforce for the
// whole tree.
type Enforcement string

// The ways to enforce limits.
const (
	Strict     Enforcement = "strict"      // the start is refused; the default
	BestEffort Enforcement = "best-effort" // the limit is enforced by weaker means or not at all, and reported as such
)

// FormatSize writes a number of bytes as policy files do, in the largest unit
// that divides it: "512MiB", "1GiB".
func FormatSize(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if bytes := int64(1) << (30 - 10*i); n >= bytes && n%bytes == 0 {
			return strconv.FormatInt(n/bytes, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// Any reports whether l has a limit.
func (l Limits) Any() bool {
	l.Enforce = ""
	return l != Limits{}
}
