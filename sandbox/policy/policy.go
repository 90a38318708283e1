package policy

// Level names what of a policy is enforced, and the weakest that is accepted.
type Level string

// The levels, strongest first.
const (
	Full     Level = "full"      // namespaces, mounts, Landlock, system call filter and cgroup limits
	NoCgroup Level = "no-cgroup" // the same, with limits by rlimit and sampling only
	Landlock Level = "landlock"  // Landlock, system call filter and rlimits; no namespaces
	None     Level = "none"      // nothing is enforced
)

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
	User    string // "" and "auto": for root a user id of its own, for others their own; or a number or name, for root

	Read  []string // may be read
	Exec  []string // may be read and run
	Write []string // may be read and written; the real folder
	// ReadOnly may not be written although it lies in what Write names: it keeps
	// the rest of the access that it has there. What Write names below it may.
	ReadOnly []string
	Deny     []string // wins over every grant, also when missing yet; a glob (*, ?, [a-z], ** for any folders, \ before one that is meant) holds for what matches at the start

	Network Network  // "" is NetworkNone
	Allow   []string // host:port entries of NetworkAllow

	JIT      bool     // memory that is writable and executable, memfd, and running files that it wrote
	Devices  []string // device files beyond null, zero, full, random, urandom and tty
	Syscalls Syscalls

	Tmp  Tmp
	Work Work

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
}
