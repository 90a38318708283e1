package denial

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Kind is what was tried.
type Kind string

// What can be tried.
const (
	Stat    Kind = "stat"    // look at a file's metadata, or whether it is there
	Read    Kind = "read"    // open a file or list a folder
	Write   Kind = "write"   // open for writing, make, remove, rename, change
	Exec    Kind = "exec"    // run a program, or map a library
	Device  Kind = "device"  // open a device file
	Connect Kind = "connect" // reach an address: "1.2.3.4:443", "udp 1.2.3.4:53", "unix /path", "unix @name", or by the proxy "db.example:443"
	Resolve Kind = "resolve" // ask for the addresses of a name
	Bind    Kind = "bind"    // take an address, written as for connect
	Process Kind = "process" // signal or trace another process
	Syscall Kind = "syscall" // a system call that the filter refuses
	Limit   Kind = "limit"   // a limit was reached: "memory", "tasks", "files", …
)

// Source says who reported it.
type Source string

// The sources.
const (
	Landlock Source = "landlock" // the kernel's audit record of a Landlock domain
	Seccomp  Source = "seccomp"  // the system call filter: an audit record, or the observer
	Proxy    Source = "proxy"    // the network proxy
	Cgroup   Source = "cgroup"   // a limit's event counter
)

// Denial is something that was refused, or tried and outside of the policy, as
// often as Count says.
type Denial struct {
	Kind    Kind      `json:"kind"`
	Path    string    `json:"path"`              // a path, an address, the name of a call or of a limit, by Kind
	Field   string    `json:"field,omitempty"`   // the policy's field that would allow it ("read", "limits.memory"); "" when none would
	Suggest string    `json:"suggest,omitempty"` // the line, or lines, of policy that would allow it; "" when none would
	Grant   string    `json:"grant,omitempty"`   // the path that Suggest names, when it is not Path: the folder of an entry to be made
	Via     string    `json:"via,omitempty"`     // the link that leads to Path; a grant of the link is one of Path too
	Detail  string    `json:"detail,omitempty"`  // what the source said: "fs.write_file", "resolves to 10.0.0.5 (private)"
	Source  Source    `json:"source"`
	Hint    bool      `json:"hint,omitempty"` // seen by the observer: true at the moment of the call, as far as the process let it be
	Count   uint64    `json:"count"`
	First   time.Time `json:"first"`
	Last    time.Time `json:"last"`
}

// String is one line for a person: `read /etc/shadow (3 times): add to sandbox: read = ["/etc/shadow"]`.
func (d Denial) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", d.Kind, d.Path)
	if d.Count > 1 {
		fmt.Fprintf(&b, " (%d times)", d.Count)
	}
	if d.Detail != "" && d.Source != Landlock && (d.Kind == Connect || d.Kind == Exec) { // why it would be allowed by that
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
