package denial

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Kind is the kind of an attempted operation.
type Kind string

// The kinds of operations.
const (
	Stat    Kind = "stat"    // read a file's metadata, or test whether it exists
	Read    Kind = "read"    // open a file or list a folder
	Write   Kind = "write"   // open for writing, create, remove, rename, change
	Exec    Kind = "exec"    // run a program, or map a library
	Device  Kind = "device"  // open a device file
	Connect Kind = "connect" // reach an address: "1.2.3.4:443", "udp 1.2.3.4:53", "unix /path", "unix @name", or through the proxy "db.example:443"
	Resolve Kind = "resolve" // look up the addresses of a name
	Bind    Kind = "bind"    // bind an address, written as for connect
	Process Kind = "process" // signal or trace another process
	Syscall Kind = "syscall" // a system call that the filter refuses
	Limit   Kind = "limit"   // a limit was reached: "memory", "tasks", "files", …
)

// Source is the reporter of a Denial.
type Source string

// The sources.
const (
	Landlock Source = "landlock" // the kernel's audit record of a Landlock domain
	Seccomp  Source = "seccomp"  // the system call filter: an audit record, or the observer
	Proxy    Source = "proxy"    // the network proxy
	Cgroup   Source = "cgroup"   // a limit's event counter
)

// Denial is an operation that was refused, or attempted beyond the policy, Count
// times.
type Denial struct {
	Kind    Kind      `json:"kind"`
	Path    string    `json:"path"`              // a path, an address, the name of a call or of a limit, by Kind
	Field   string    `json:"field,omitempty"`   // the policy field that would allow it ("read", "limits.memory"); "" if no field would
	Suggest string    `json:"suggest,omitempty"` // the lines of policy that would allow it; "" if no policy would
	Grant   string    `json:"grant,omitempty"`   // the path in Suggest, if it is not Path: the folder of a new entry
	Via     string    `json:"via,omitempty"`     // a link to Path; a grant of the link also grants Path
	Detail  string    `json:"detail,omitempty"`  // from the source: "fs.write_file", "resolves to 10.0.0.5 (private)"
	Source  Source    `json:"source"`
	Hint    bool      `json:"hint,omitempty"` // from the observer, which reads memory that the process can change
	Count   uint64    `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// String returns one line for people: `read /etc/shadow (3 times): add to sandbox: read = ["/etc/shadow"]`.
func (d Denial) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", d.Kind, d.Path)
	if d.Count > 1 {
		fmt.Fprintf(&b, " (%d times)", d.Count)
	}
	if d.Detail != "" && d.Source != Landlock && (d.Kind == Connect || d.Kind == Exec) { // explains the suggestion
		fmt.Fprintf(&b, " (%s)", d.Detail)
	}
	switch {
	case strings.HasPrefix(d.Field, "limits.") && d.Suggest != "":
		fmt.Fprintf(&b, ": %s", d.Suggest) // a block of its own
	case d.Suggest != "":
		fmt.Fprintf(&b, ": %s", policy.Add(strings.ReplaceAll(d.Suggest, "\n", " and ")))
	}
	return b.String()
}
