//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// callSite is a system call of a start: the nth call with the number nr, from 0 on, of
// processes of the kind by.
type callSite struct {
	by  string
	nr  int
	nth int
}

func (p callSite) String() string { return fmt.Sprintf("%s: %s %d", p.by, callName(p.nr), p.nth) }

// fault is what happens at a callSite.
type fault struct {
	at    callSite
	errno syscall.Errno // the error of the call; 0: a process is killed instead
	kill  string        // kind of the process that is killed before the call is made
}

// Kinds of processes.
const (
	bySupervisor = "supervisor"
	byKeeper     = "keeper"  // never traced; can only be killed
	bySpace      = "space"   // creates a user namespace
	byNurse      = "nurse"   // makes namespaces and mounts, and waits
	byCommand    = "command" // until its execve
	byHelper     = "helper"  // any other
)

// tracer stops a supervisor and its descendants at each system call, like a debugger.
// All methods must be called on the locked thread that started the supervisor.
type tracer struct {
	root   int
	keeper int // its process id; 0 without a keeper
	fault  fault
	hit    bool // the fault has happened
	seen   map[callSite]int
	calls  []called // until the region ends
	tasks  map[int]*traced
	procs  map[int]*process
	early  map[int]bool // stopped before the event of their parents
	open   bool         // between the two marks of the supervisor

	direct bool // the supervisor starts the command itself
}

// called is an observed system call.
type called struct {
	callSite
	arg int // the first argument, which mostly identifies the object
}

// traced is a thread.
type traced struct {
	*process
	fails syscall.Errno // the error for its current call; 0: no error
}

// process is a traced process.
type process struct {
	pid  int
	kind string
	ran  bool // after its execve its threads are no longer stopped at calls
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK |
	unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

func newTracer(root int, f fault, direct bool) *tracer {
	tr := &tracer{root: root, fault: f, seen: map[callSite]int{}, tasks: map[int]*traced{}, early: map[int]bool{}, direct: direct}
	tr.procs = map[int]*process{root: {pid: root, kind: bySupervisor}}
	return tr
}

// seize starts tracing all threads of the supervisor.
func (tr *tracer) seize() error {
	for {
		dirs, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", tr.root))
		if err != nil {
			return err
		}
		fresh := 0
		for _, dir := range dirs {
			tid, _ := strconv.Atoi(filepath.Base(dir))
			if tr.tasks[tid] != nil {
				continue
			}
			if err := ptrace(unix.PTRACE_SEIZE, tid, 0, traceOptions); err != nil {
				if err == syscall.ESRCH || err == syscall.EPERM && tr.knows(tid) {
					continue // it has ended, or is already traced
				}
				return fmt.Errorf("trace %d: %w", tid, err)
			}
			fresh++
			tr.tasks[tid] = &traced{process: tr.procs[tr.root]}
			if err := ptrace(unix.PTRACE_INTERRUPT, tid, 0, 0); err != nil && err != syscall.ESRCH {
				return err
			}
		}
		if fresh == 0 {
			return nil
		}
	}
}

// knows reports whether a thread is traced by the calling one, or is ending.
func (tr *tracer) knows(tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", tr.root, tid))
	status := string(b)
	return err != nil || strings.Contains(status, fmt.Sprintf("TracerPid:\t%d\n", unix.Gettid())) ||
		strings.Contains(status, "State:\tZ") || strings.Contains(status, "State:\tX")
}

// run runs until all tracees have ended. After limit it kills the remaining ones and
// returns them.
func (tr *tracer) run(limit time.Duration) (hung []string) {
	const shortest, longest = 20 * time.Microsecond, time.Millisecond
	deadline := time.Now().Add(limit)
	for delay := shortest; ; {
		var ws syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // no tracee is left
			return hung
		case tid != 0:
			delay = shortest
			tr.stopped(tid, ws)
		case hung == nil && time.Now().After(deadline):
			for tid, task := range tr.tasks {
				hung = append(hung, fmt.Sprintf("%s %d in %s", task.kind, tid, callOf(tid)))
			}
			for tid := range tr.tasks {
				_ = syscall.Kill(tid, syscall.SIGKILL)
			}
		default:
			if delay == longest {
				tr.adopt()
			}
			time.Sleep(delay) //nolint:forbidigo // polls a condition with a deadline
			delay = min(2*delay, longest)
		}
	}
}

// adopt resumes processes whose parents were killed before their event.
func (tr *tracer) adopt() {
	for tid := range tr.early {
		delete(tr.early, tid)
		tr.procs[tid] = &process{pid: tid, kind: byHelper}
		tr.tasks[tid] = &traced{process: tr.procs[tid]}
		_ = ptrace(unix.PTRACE_SYSCALL, tid, 0, 0)
	}
}

// stopped resumes a stopped thread, or records its end.
func (tr *tracer) stopped(tid int, ws syscall.WaitStatus) {
	if ws.Exited() || ws.Signaled() {
		delete(tr.tasks, tid)
		return
	}
	task := tr.tasks[tid]
	if task == nil { // it stops before the event of its parent
		p := tr.procs[tgid(tid)]
		if p == nil {
			tr.early[tid] = true
			return
		}
		task = &traced{process: p}
		tr.tasks[tid] = task
	}
	sig := ws.StopSignal()
	event := int(ws) >> 16
	pass := 0
	switch {
	case sig == syscall.SIGTRAP|0x80:
		tr.call(tid, task)
	case event == unix.PTRACE_EVENT_EXEC:
		task.ran = true
	case event == unix.PTRACE_EVENT_FORK, event == unix.PTRACE_EVENT_VFORK, event == unix.PTRACE_EVENT_CLONE:
		tr.born(tid, task, event)
	case event == unix.PTRACE_EVENT_STOP:
		if sig == syscall.SIGSTOP || sig == syscall.SIGTSTP || sig == syscall.SIGTTIN || sig == syscall.SIGTTOU {
			_ = ptrace(unix.PTRACE_LISTEN, tid, 0, 0)
			return
		}
	case event != 0:
	default:
		pass = int(sig)
	}
	how := unix.PTRACE_SYSCALL
	if task.ran {
		how = unix.PTRACE_CONT
	}
	_ = ptrace(how, tid, 0, uintptr(pass)) // ESRCH: it was killed
}

// born determines the kind of a new process.
func (tr *tracer) born(tid int, parent *traced, event int) {
	n, err := unix.PtraceGetEventMsg(tid)
	if err != nil {
		return
	}
	child := int(n)
	if tgid(child) != child && tgid(child) != 0 { // a thread
		return
	}
	p := tr.procs[child]
	if p == nil {
		p = &process{pid: child}
		tr.procs[child] = p
		tr.tasks[child] = &traced{process: p}
	}
	if tr.early[child] {
		delete(tr.early, child)
		defer func() { _ = ptrace(unix.PTRACE_SYSCALL, child, 0, 0) }()
	}
	var regs unix.PtraceRegs
	_ = unix.PtraceGetRegs(tid, &regs)
	flags := regs.Rdi
	if regs.Orig_rax == unix.SYS_CLONE3 {
		var b [8]byte
		_, _ = unix.PtracePeekData(tid, uintptr(regs.Rdi), b[:])
		flags = *(*uint64)(unsafe.Pointer(&b))
	}
	switch {
	case !tr.open:
		p.kind = byHelper
	case parent.kind == byNurse, parent.kind == bySupervisor && tr.direct && flags&unix.CLONE_NEWUSER == 0:
		p.kind = byCommand
	case parent.kind != bySupervisor:
		p.kind = byHelper
	case flags&unix.CLONE_NEWUSER != 0 && flags&unix.CLONE_NEWPID == 0:
		p.kind = bySpace
	case event == unix.PTRACE_EVENT_VFORK:
		p.kind = byHelper
	default:
		p.kind = byNurse
	}
}

// call handles a thread at the begin or the end of a system call.
func (tr *tracer) call(tid int, task *traced) {
	var info struct {
		op    uint8
		_     [3]uint8
		arch  uint32
		ip    uint64
		sp    uint64
		nr    uint64
		args  [6]uint64
		_more [2]uint64
	}
	if err := ptrace(unix.PTRACE_GET_SYSCALL_INFO, tid, unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info))); err != nil {
		return
	}
	const entry, exit = 1, 2
	switch info.op {
	case entry:
		tr.entered(tid, task, int(int32(info.nr)), info.args)
	case exit:
		if task.fails == 0 {
			return
		}
		var regs unix.PtraceRegs
		if unix.PtraceGetRegs(tid, &regs) == nil {
			regs.Rax = uint64(-int64(task.fails))
			_ = unix.PtraceSetRegs(tid, &regs)
		}
		task.fails = 0
	}
}

func (tr *tracer) entered(tid int, task *traced, nr int, args [6]uint64) {
	if task.kind == bySupervisor && nr == unix.SYS_PRCTL && args[0] == mark {
		tr.open = args[1] == 1
		return
	}
	if !tr.open && task.kind == bySupervisor || task.kind == byHelper || task.kind == "" || task.ran {
		return
	}
	if task.kind == bySupervisor && (runtimeCalls[nr] || tr.byRuntime(nr, args)) {
		return
	}
	at := callSite{task.kind, nr, 0}
	tr.seen[at]++
	at.nth = tr.seen[callSite{task.kind, nr, 0}] - 1
	tr.calls = append(tr.calls, called{at, int(int32(args[0]))})
	if tr.hit || at != tr.fault.at {
		return
	}
	tr.hit = true
	if tr.fault.errno != 0 {
		task.fails = tr.fault.errno
		var regs unix.PtraceRegs
		// The kernel closes a descriptor even if it returns an error. Other calls are
		// replaced by one that does nothing, and that filters allow.
		if nr != unix.SYS_CLOSE && unix.PtraceGetRegs(tid, &regs) == nil {
			regs.Orig_rax = unix.SYS_GETPID
			_ = unix.PtraceSetRegs(tid, &regs)
		}
		return
	}
	tr.kill()
}

// byRuntime reports whether Go's runtime makes a call, whose failure ends the program:
// to start a thread, or to wake its network poller.
func (tr *tracer) byRuntime(nr int, args [6]uint64) bool {
	switch nr {
	case unix.SYS_CLONE:
		return args[0]&unix.CLONE_THREAD != 0
	case unix.SYS_CLONE3: // by a C library, for the runtime
		var flags uint64
		_, err := sys.ReadMemory(tr.root, args[0], (*[8]byte)(unsafe.Pointer(&flags))[:])
		return err == nil && flags&unix.CLONE_THREAD != 0
	case unix.SYS_WRITE:
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.root, args[0]))
		return to == "anon_inode:[eventfd]"
	}
	return false
}

// kill kills the process of the fault, and returns after all of its threads have ended.
// Other threads continue, except the one at the callSite.
func (tr *tracer) kill() {
	if tr.fault.kill == byKeeper {
		_ = syscall.Kill(tr.keeper, syscall.SIGKILL)
		return
	}
	for _, p := range tr.procs {
		if p.kind != tr.fault.kill || syscall.Kill(p.pid, syscall.SIGKILL) != nil {
			continue
		}
		for tr.threads(p) > 0 {
			var ws syscall.WaitStatus
			tid, err := syscall.Wait4(-1, &ws, unix.WALL|unix.WNOTHREAD, nil)
			if err == nil {
				tr.stopped(tid, ws)
			} else if err != syscall.EINTR {
				return
			}
		}
	}
}

func (tr *tracer) threads(p *process) (n int) {
	for _, task := range tr.tasks {
		if task.process == p {
			n++
		}
	}
	return n
}

// runtimeCalls lists calls that the Go runtime makes at any time. A start does not
// depend on them.
var runtimeCalls = map[int]bool{
	unix.SYS_FUTEX: true, unix.SYS_MMAP: true, unix.SYS_MUNMAP: true, unix.SYS_MADVISE: true, unix.SYS_MPROTECT: true,
	unix.SYS_RT_SIGACTION: true, unix.SYS_RT_SIGPROCMASK: true, unix.SYS_RT_SIGRETURN: true, unix.SYS_SIGALTSTACK: true,
	unix.SYS_EPOLL_PWAIT: true, unix.SYS_NANOSLEEP: true, unix.SYS_TGKILL: true, unix.SYS_GETPID: true, unix.SYS_GETTID: true,
	unix.SYS_SCHED_YIELD: true, unix.SYS_SCHED_GETAFFINITY: true, unix.SYS_EXIT: true, unix.SYS_TIMER_CREATE: true,
	unix.SYS_RESTART_SYSCALL: true, unix.SYS_SET_ROBUST_LIST: true, unix.SYS_RSEQ: true, unix.SYS_BRK: true,
}

func callName(nr int) string {
	if name, ok := policy.SyscallName(nr); ok {
		return name
	}
	return strconv.Itoa(nr)
}

func tgid(tid int) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(b), "\nTgid:\t")
	line, _, _ := strings.Cut(rest, "\n")
	n, _ := strconv.Atoi(line)
	return n
}

// callOf returns the current system call of a thread.
func callOf(tid int) string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", tid))
	if err != nil {
		return "?"
	}
	first, rest, _ := strings.Cut(string(b), " ")
	nr, err := strconv.Atoi(first)
	if err != nil {
		return first
	}
	arg, _, _ := strings.Cut(rest, " ")
	return callName(nr) + "(" + arg + ")"
}

func ptrace(request, tid int, addr, data uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
