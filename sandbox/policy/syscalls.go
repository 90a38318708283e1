package policy

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// SyscallNumber returns the number of a system call of Linux on this
// processor; false for a name that does not exist, or not here.
func SyscallNumber(name string) (int, bool) {
	e, ok := findSyscall(name)
	n := int16(-1)
	if ok {
		switch runtime.GOARCH {
		case "amd64":
			n = e.amd64
		case "arm64":
			n = e.arm64
		}
	}
	return int(n), n >= 0
}

func findSyscall(name string) (syscallNumbers, bool) {
	i, ok := slices.BinarySearchFunc(syscallTable[:], name, func(e syscallNumbers, name string) int { return cmp.Compare(e.name, name) })
	if !ok {
		return syscallNumbers{}, false
	}
	return syscallTable[i], true
}

// neverSyscalls are refused always, and no policy takes them off the list:
// they undo the confinement, or act on the machine as a whole.
var neverSyscalls = map[string]string{
	"_sysctl": machine, "acct": machine, "adjtimex": machine, "afs_syscall": machine, "bpf": around, "chroot": namespaces,
	"clock_adjtime": machine, "clock_settime": machine, "create_module": machine, "delete_module": machine,
	"fanotify_init": around, "finit_module": machine, "fsconfig": mounts, "fsmount": mounts, "fsopen": mounts, "fspick": mounts,
	"get_kernel_syms": machine, "init_module": machine,
	"io_uring_enter": around, "io_uring_register": around, "io_uring_setup": around, "ioperm": machine, "iopl": machine,
	"kexec_file_load": machine, "kexec_load": machine, "add_key": keyrings, "keyctl": keyrings, "request_key": keyrings,
	"lookup_dcookie": machine, "mount": mounts, "mount_setattr": mounts, "move_mount": mounts, "nfsservctl": machine,
	"open_by_handle_at": around, "open_tree": mounts, "open_tree_attr": mounts, "pivot_root": mounts, "query_module": machine,
	"quotactl": machine, "quotactl_fd": machine, "reboot": machine, "setdomainname": machine, "sethostname": machine,
	"setns": namespaces, "settimeofday": machine, "swapoff": machine, "swapon": machine, "sysfs": machine, "syslog": machine,
	"umount2": mounts, "unshare": namespaces, "uselib": machine, "vhangup": machine, "vserver": machine,
}

// Why a call can never be allowed.
const (
	around     = "it goes around the confinement"
	keyrings   = "keyrings are shared with processes outside"
	machine    = "it acts on the whole machine"
	mounts     = "it changes what is mounted"
	namespaces = "it leaves the namespaces of the confinement"
)

// refusedSyscalls are refused unless a policy takes them off the list. What
// they reach is bounded by the rest of the confinement, but few programs need
// them, and they are where holes were found.
var refusedSyscalls = []string{
	"get_mempolicy", "kcmp", "mbind", "memfd_secret", "migrate_pages", "modify_ldt", "move_pages", "name_to_handle_at",
	"perf_event_open", "personality", "pidfd_getfd", "process_madvise", "process_mrelease", "process_vm_readv", "process_vm_writev",
	"ptrace", "set_mempolicy", "set_mempolicy_home_node", "userfaultfd", "ustat",
}

// neededSyscalls cannot be denied: every start needs them after the filter is
// in force.
var neededSyscalls = []string{
	"close", "execve", "exit", "exit_group", "futex", "prlimit64", "rt_sigreturn", "write",
}

// refused is the list that a policy comes to, sorted, without names that this
// processor does not have.
func (p *Policy) refused() []string {
	if len(p.Syscalls.Deny) == 0 && len(p.Syscalls.Allow) == 0 {
		return slices.Clone(refusedByDefault())
	}
	return p.listRefused()
}

// refusedByDefault is what most policies come to, made once.
var refusedByDefault = sync.OnceValue(new(Policy).listRefused)

func (p *Policy) listRefused() []string {
	out := slices.Concat(refusedSyscalls, p.Syscalls.Deny)
	for name := range neverSyscalls {
		out = append(out, name)
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(name string) bool {
		_, here := SyscallNumber(name)
		return !here || slices.Contains(p.Syscalls.Allow, name)
	})
}

func (p *Policy) checkSyscalls(bad *problems) {
	for i, name := range p.Syscalls.Deny {
		field := fmt.Sprintf("syscalls.deny[%d]", i)
		switch {
		case !checkSyscall(bad, field, name):
		case slices.Contains(neededSyscalls, name):
			bad.add(field, name, "no program can start or end without it", "")
		case slices.Contains(p.Syscalls.Allow, name):
			bad.add(field, name, "it is both denied and allowed", "keep one of the two")
		}
	}
	for i, name := range p.Syscalls.Allow {
		field := fmt.Sprintf("syscalls.allow[%d]", i)
		if !checkSyscall(bad, field, name) {
			continue
		}
		if why, never := neverSyscalls[name]; never {
			bad.add(field, name, "no policy may allow it: "+why, "")
		} else if !slices.Contains(refusedSyscalls, name) {
			bad.add(field, name, "it is not refused, so that there is nothing to allow", "remove it")
		}
	}
}

func checkSyscall(bad *problems, field, name string) bool {
	e, ok := findSyscall(name)
	switch {
	case name == "":
		bad.add(field, name, "it is empty", "")
	case !ok && strings.ToLower(name) != name:
		bad.add(field, name, "there is no system call of that name", "names are in small letters")
	case !ok:
		bad.add(field, name, "there is no system call of that name", nearSyscall(name))
	case runtime.GOARCH == "amd64" && e.amd64 < 0, runtime.GOARCH == "arm64" && e.arm64 < 0:
		bad.add(field, name, "this processor ("+runtime.GOARCH+") has no such system call", "remove it for this machine")
	default:
		return true
	}
	return false
}

// nearSyscall is help for a name that does not exist: one that differs in a
// letter, or that has the name in it.
func nearSyscall(name string) string {
	var near []string
	for _, e := range syscallTable {
		if oneEdit(e.name, name) {
			return "did you mean " + e.name + "?"
		}
		if len(name) > 2 && strings.Contains(e.name, name) && len(near) < 4 {
			near = append(near, e.name)
		}
	}
	if len(near) > 0 {
		return "there are " + strings.Join(near, ", ")
	}
	return "names are like ptrace; man 2 syscalls lists them"
}

// oneEdit reports whether a letter added, left out, exchanged or swapped with
// its neighbour makes b of a.
func oneEdit(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	if len(a)-len(b) > 1 || len(b) < 3 {
		return false
	}
	i := 0
	for i < len(b) && a[i] == b[i] {
		i++
	}
	if len(a) > len(b) {
		return a[i+1:] == b[i:]
	}
	if i == len(b) {
		return false // the same
	}
	if a[i+1:] == b[i+1:] {
		return true
	}
	return i+1 < len(b) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
