package sys

// Process describes a process to start. Start does not modify it.
type Process struct {
	Path string   // passed to execve unchanged, after changing to Dir
	Args []string // with Args[0]
	Env  []string // the whole environment
	Dir  string   // "" keeps the caller's
	// Files become the new program's descriptors 0, 1, 2 …; Closed closes that
	// number. Nothing above len(Files) is closed, except by close-on-exec.
	Files []int

	Session   bool // leader of a session and process group of its own
	Terminal  bool // with Session: descriptor 0 becomes its controlling terminal
	DieWithUs bool // SIGKILL when the *thread* that calls Start ends (Linux)

	// Cgroup is the open folder of a v2 cgroup that the process is born in;
	// 0 leaves it in the caller's (Linux).
	Cgroup int

	// Namespaces asked for (Linux). UserNS maps the caller's own user and group
	// ids to themselves and keeps, over the execve, the capabilities in Ambient.
	PidNS   bool
	MountNS bool
	UserNS  bool
	Ambient []uintptr
}

// Closed in Process.Files means that this number is not open in the new program.
const Closed = -1

// Exit describes how a process ended.
type Exit struct {
	Code   int  // exit code; -1 when a signal ended it
	Signal int  // number; 0 when it exited by itself
	Core   bool // a core was dumped
	Usage  Usage
}

// Usage is the resources used by a process and the children it has waited for.
type Usage struct {
	User   int64 // nanoseconds
	System int64 // nanoseconds
	MaxRSS int64 // bytes
}
