package denial

import (
	"fmt"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// callDenial returns the denial of a system call, with the line that allows it if a
// policy may.
func callDenial(nr int) Denial {
	name, ok := policy.SyscallName(nr)
	if !ok {
		return Denial{Kind: Syscall, Path: fmt.Sprintf("#%d", nr)}
	}
	d := Denial{Kind: Syscall, Path: name}
	switch name {
	case "memfd_create":
		return jit(name)[0]
	case "socket", "socketpair":
		d.Field, d.Suggest = "network", `network = "host"`
		return d
	}
	if valid(policy.Policy{Syscalls: policy.Syscalls{Allow: []string{name}}}) {
		d.Field, d.Suggest = "syscalls.allow", "syscalls { "+policy.Line("allow", name)+" }"
	}
	return d
}
