//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"math"
	"strings"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// newestSyscall is the last one that was looked at when the lists of refused
// calls were made. What comes later does not exist for a confined process.
const newestSyscall = 469

// Values of arguments that the filter looks at.
const (
	anyNamespace = sys.NewUser | sys.NewMount | sys.NewNet | sys.NewIPC | sys.NewUTS | sys.NewCgroup | sys.NewPID

	setIDBits = 0o6000 // set-user-id and set-group-id of a mode

	openCreate = 0o100      // O_CREAT
	openTmp    = 0o20000000 // O_TMPFILE without O_DIRECTORY
	emptyPath  = 0x1000     // AT_EMPTY_PATH of execveat
	noExecSeal = 8          // MFD_NOEXEC_SEAL
	shmExec    = 0o100000   // SHM_EXEC
	protWrite  = 2          // PROT_WRITE
	protExec   = 4          // PROT_EXEC
	typeMask   = 0xf        // of a socket's type without its flags
	routing    = 0          // NETLINK_ROUTE
	tiocSTI    = 0x5412     // types into a terminal
	tiocLINUX  = 0x541c     // the same by another way, on consoles
	tiocSETD   = 0x5423     // loads a line discipline
	byThread   = 0          // PRIO_PROCESS
	whoProcess = 1          // IOPRIO_WHO_PROCESS
	initPID    = 1          // ours, in its namespace
	wholeWord  = math.MaxUint32
)

var refused = sys.FilterErrno(syscall.EPERM)

// filterFor is the filter of a policy at a level.
func filterFor(r *policy.Resolved, level policy.Level, mdwe bool) sys.Filter {
	f := &filterMaker{}
	for _, name := range r.RefusedSyscalls {
		f.refuse(name)
	}
	return sys.NewFilter(newestSyscall, append(f.hot(r, level, mdwe), f.rules...))
}

// filters keeps those that were made: to assemble one takes longer than many
// another step of a start.
type filters struct {
	mu   sync.Mutex
	made map[string][]uint64
}

// maxFilters bounds what is kept; hosts share few policies.
const maxFilters = 64

// get is filterFor, encoded. The result is shared and not changed.
func (f *filters) get(r *policy.Resolved, level policy.Level, mdwe bool) []uint64 {
	key := fmt.Sprintf("%s %t %t %s ", level, mdwe, r.Policy.JIT, r.Policy.Network) + strings.Join(r.RefusedSyscalls, " ")
	f.mu.Lock()
	defer f.mu.Unlock()
	if made, ok := f.made[key]; ok {
		return made
	}
	if f.made == nil || len(f.made) >= maxFilters {
		f.made = map[string][]uint64{}
	}
	f.made[key] = filterFor(r, level, mdwe).Encode()
	return f.made[key]
}

type filterMaker struct {
	rules []sys.FilterRule
	whole map[string]bool // refused whatever the arguments
}

func (f *filterMaker) refuse(name string) {
	n, ok := policy.SyscallNumber(name)
	if !ok {
		return
	}
	if f.whole == nil {
		f.whole = map[string]bool{}
	}
	f.whole[name] = true
	answer := refused
	switch name {
	case "io_uring_setup", "io_uring_enter", "io_uring_register":
		answer = sys.FilterErrno(syscall.ENOSYS) // what programs that can do without are prepared for
	}
	f.rules = append(f.rules, sys.FilterRule{Number: n, Otherwise: answer})
}

// hot are the rules that look at arguments, of calls that are made often.
func (f *filterMaker) hot(r *policy.Resolved, level policy.Level, mdwe bool) []sys.FilterRule {
	var out []sys.FilterRule
	rule := func(name string, otherwise sys.FilterAction, checks ...sys.FilterCheck) {
		if n, ok := policy.SyscallNumber(name); ok && !f.whole[name] {
			out = append(out, sys.FilterRule{Number: n, Checks: checks, Otherwise: otherwise})
		}
	}
	refuse := func(tests ...sys.FilterTest) sys.FilterCheck { return sys.FilterCheck{Tests: tests, Action: refused} }
	pass := func(tests ...sys.FilterTest) sys.FilterCheck {
		return sys.FilterCheck{Tests: tests, Action: sys.FilterAllow}
	}
	any := func(arg int, bits uint32) sys.FilterTest { return sys.FilterTest{Arg: arg, Mask: bits, Differ: true} }
	none := func(arg int, bits uint32) sys.FilterTest { return sys.FilterTest{Arg: arg, Mask: bits} }
	is := func(arg int, value uint32) sys.FilterTest {
		return sys.FilterTest{Arg: arg, Mask: wholeWord, Value: value}
	}
	isnt := func(arg int, value uint32) sys.FilterTest {
		return sys.FilterTest{Arg: arg, Mask: wholeWord, Value: value, Differ: true}
	}
	allow := sys.FilterAllow
	missing := sys.FilterErrno(syscall.ENOSYS)

	// Files that give others rights are not made.
	mode := func(name string, arg int) { rule(name, allow, refuse(any(arg, setIDBits))) }
	creating := func(name string, flags int) {
		rule(name, allow, pass(none(flags, openCreate|openTmp)), refuse(any(flags+1, setIDBits)))
	}
	creating("openat", 2)
	creating("open", 1)
	rule("openat2", missing) // its mode is in memory, which a filter cannot see
	if !r.Policy.JIT {
		if !mdwe {
			rule("mmap", allow, refuse(any(2, protWrite), any(2, protExec)))
			rule("mprotect", allow, refuse(any(2, protExec)))
			rule("pkey_mprotect", allow, refuse(any(2, protExec)))
		}
		rule("shmat", allow, refuse(any(2, shmExec)))
		rule("memfd_create", refused) // sealed or not, what is written to one can be mapped to be run
		rule("execveat", allow, refuse(any(4, emptyPath)))
	}
	rule("ioctl", allow, refuse(is(1, tiocSTI)), refuse(is(1, tiocLINUX)), refuse(is(1, tiocSETD)))
	rule("clone", allow, refuse(any(0, anyNamespace)))
	rule("clone3", missing) // its flags are in memory
	f.sockets(rule, r, level)
	mode("creat", 1)
	mode("chmod", 1)
	mode("fchmod", 1)
	mode("fchmodat", 2)
	mode("fchmodat2", 2)
	mode("mkdir", 1)
	mode("mkdirat", 2)
	mode("mknod", 1)
	mode("mknodat", 2)
	// Other processes' limits and priorities: with namespaces that is our init,
	// without them everybody of its user.
	for _, name := range []string{"prlimit64", "sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"} {
		if level == policy.Landlock {
			rule(name, refused, pass(is(0, 0)))
		} else {
			rule(name, allow, refuse(is(0, initPID)))
		}
	}
	for name, own := range map[string]uint32{"setpriority": byThread, "ioprio_set": whoProcess} {
		if level == policy.Landlock {
			rule(name, refused, pass(is(0, own), is(1, 0)))
		} else {
			rule(name, allow, pass(is(0, own), isnt(1, initPID)), refuse(isnt(0, own)), refuse(is(1, initPID)))
		}
	}
	if level == policy.Landlock {
		for _, name := range []string{"shmget", "shmat", "shmctl", "semget", "semop", "semtimedop", "semctl", "msgget", "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink"} {
			rule(name, refused)
		}
	}
	return out
}

// sockets says which kinds of socket there are.
func (f *filterMaker) sockets(rule func(string, sys.FilterAction, ...sys.FilterCheck), r *policy.Resolved, level policy.Level) {
	family := func(n uint32, more ...sys.FilterTest) sys.FilterCheck {
		return sys.FilterCheck{Tests: append([]sys.FilterTest{{Arg: 0, Mask: wholeWord, Value: n}}, more...), Action: sys.FilterAllow}
	}
	plain := func(kind uint32) sys.FilterTest { return sys.FilterTest{Arg: 1, Mask: typeMask, Value: kind} }
	absent := sys.FilterErrno(syscall.EAFNOSUPPORT)
	if level == policy.Landlock && r.Policy.Network != policy.NetworkHost {
		rule("socket", refused) // UDP, and sockets in the file system, are not Landlock's
		return
	}
	stream, datagram := plain(syscall.SOCK_STREAM), plain(syscall.SOCK_DGRAM)
	rule("socket", absent,
		family(syscall.AF_UNIX),
		family(syscall.AF_INET, stream), family(syscall.AF_INET, datagram),
		family(syscall.AF_INET6, stream), family(syscall.AF_INET6, datagram),
		family(syscall.AF_NETLINK, sys.FilterTest{Arg: 2, Mask: wholeWord, Value: routing}))
}
