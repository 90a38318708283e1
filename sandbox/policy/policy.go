package policy

import (
	"path/filepath"
	"strconv"
)

// Level names what of a policy is enforced, and the weakest that is accepted.
type Level string

// The levels, strongest first.
const (
	Full     Level = "full"      // namespaces, mounts, Landlock, system call filter and cgroup limits
	NoCgroup Level = "no-cgroup" // the same, with limits by rlimit and sampling only
	Landlock Level = "landlock"  // Landlock, system call filter and rlimits; no namespaces
	None     Level = "none"      // nothing is enforced
)

// Caller as a Policy.User stands for the user who has called hostsup: for root the
// one that sudo names, for others themselves.
const Caller = "caller"

// Network says what a process may reach.
type Network string

// What a process may reach.
const (
	NetworkNone  Network = "none"  // nothing; the default
	NetworkHost  Network = "host"  // what the supervisor may reach
	NetworkAllow Network = "allow" // the entries of Policy.Allow, through a proxy outside
)

// Policy says what a confined process may do. The zero value grants nothing.
// Paths are absolute and name themselves and everything below them. One in
// Read, Exec, Write or Devices with a dash in front is granted where it exists;
// without one it has to. ReadOnly has dashes as well. Grants add up, except that
// without JIT what may be written is not run, and that ReadOnly takes writing
// away.
type Policy struct {
	Profile string // the named profile it started from, for messages; "" for none
	Level   Level  // the weakest accepted; "" is Full for root and NoCgroup for others
	User    string // "" and "auto": for root a user id of its own, for others their own; "caller": the user that started sudo, by SUDO_UID; or a number or name, for root

	Read  []string // may be read
	Exec  []string // may be read and run
	Write []string // may be read and written; the real folder
	// ReadOnly may not be written although it lies in what Write names: it keeps
	// the rest of the access that it has there. What Write names below it may.
	ReadOnly []string
	// Absent must not come to be where Write would let it: as long as a path of
	// it is missing, an empty folder stands there that can only be read. Nothing
	// is done about one that exists. It cannot be set in a configuration.
	Absent []string
	Deny   []string // wins over every grant, also when missing yet; a glob (*, ?, [a-z], ** for any folders, \ before one that is meant) holds for what matches at the start

	Network Network  // "" is NetworkNone
	Allow   []string // host:port entries of NetworkAllow

	// Listen are addresses of this machine, IP:PORT, whose connections are forwarded
	// to the same port of the loopback inside. NetworkHost has no use for it.
	Listen []string

	// Ordinary has the command see what a program of the supervisor's user sees
	// that is not confined: that user, by name and number and with its rights to
	// files, terminals, what /proc tells of the machine, and its name. Without
	// namespaces it has no effect. It cannot be set in a configuration.
	Ordinary bool

	JIT      bool     // memory that is writable and executable, memfd, and running files that it wrote
	Devices  []string // device files beyond null, zero, full, random, urandom and tty
	Syscalls Syscalls

	Tmp  Tmp
	Work Work

	// Within bounds this policy: what it does not grant too is not granted, and what
	// it denies is denied. Its user, its Work and its fields of Syscalls.Deny hold as
	// well, and of Allow, Listen, Devices and Syscalls.Allow what both name. It cannot be
	// set in a configuration.
	Within *Policy

	// Source tells where a value stands: the key is a field ("level") or an
	// entry of one ("read[2]"), the value a place ("config.hcl:41"). It may be
	// nil, and is used in messages only.
	Source map[string]string
}

// Syscalls change the list of system calls that are refused.
type Syscalls struct {
	Deny  []string // refused beyond the list
	Allow []string // taken off the list; what no policy may allow is an error
}

// Tmp is the private /tmp, in memory.
type Tmp struct {
	Size   int64 // bytes; 0 is 64 MiB
	Inodes int64 // 0 is 4096
}

// Work is a bounded folder of the host's own.
type Work struct {
	Path   string // "" for none
	Size   int64  // bytes; 0 is 128 MiB
	Inodes int64  // 0 is 8192
	Keep   bool   // what is in it outlives the process: a loop image, for root only
}

// Image returns the path of the file that holds the file system of a Work with
// Keep.
func (w *Work) Image() string { return filepath.Clean(w.Path) + ".image" }

// Limits bound what a process with everything it starts may use up. Zero
// values are unlimited. Core dumps are off for every process that has a Policy
// or any limit.
type Limits struct {
	Memory       int64   // bytes, of the whole tree
	Tasks        int     // processes and threads
	CPU          float64 // processors: 1.5 is one and a half
	Files        int     // open descriptors, per process
	FileSize     int64   // bytes, per file
	AddressSpace int64   // bytes, per process; aborts many runtimes

	// Enforce says what happens where no cgroup can hold Memory, Tasks or CPU;
	// "" is Strict. The other limits are held by the kernel everywhere.
	Enforce Enforcement
}

// Enforcement says what happens to a limit that the machine cannot hold for the
// whole tree.
type Enforcement string

// The ways to enforce limits.
const (
	Strict     Enforcement = "strict"      // the start is refused; the default
	BestEffort Enforcement = "best-effort" // the limit is held by weaker means or not at all, which is told
)

// FormatSize writes a number of bytes as a policy file does, in the largest unit
// of which it is a whole number: "512MiB", "1GiB".
func FormatSize(n int64) string {
	for i, unit := range []string{"GiB", "MiB", "KiB"} {
		if bytes := int64(1) << (30 - 10*i); n >= bytes && n%bytes == 0 {
			return strconv.FormatInt(n/bytes, 10) + unit
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// Any reports whether anything is limited.
func (l Limits) Any() bool {
	l.Enforce = ""
	return l != Limits{}
}
