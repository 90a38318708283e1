//go:build !hostsup_posix

package sandbox

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// faultySetting configures a supervisor whose starts have faults.
type faultySetting struct {
	Name    string
	Level   policy.Level // "" for limits only
	Kill    Kill
	Allow   bool // network = "allow"
	Observe bool
	User    bool   // as an ordinary user
	View    bool   // the policy is ordinary
	Dir     string // a folder of its own
}

// command returns the command of the start.
func (f *faultySetting) command() *Command {
	cmd := &Command{Name: "faulty.1", Self: true, Args: []string{"inside"}, Env: []string{quickExit, roleVar + "=inside"}, Observe: f.Observe}
	cmd.Limits = policy.Limits{Tasks: 100, Memory: 1 << 30, Files: 100}
	if f.User { // may have no cgroups
		cmd.Limits.Enforce = policy.BestEffort
	}
	if f.Level == "" {
		return cmd
	}
	p, _ := policy.Profile("strict")
	p.Level = f.Level
	p.Write = append(p.Write, f.Dir+"/write")
	p.Read = append(p.Read, f.Dir+"/read")
	if f.Level != policy.Landlock {
		p.Deny = append(p.Deny, f.Dir+"/write/denied")
		p.ReadOnly = append(p.ReadOnly, f.Dir+"/write/kept")
		p.Work = policy.Work{Path: f.Dir + "/work", Size: 1 << 20, Inodes: 100}
	}
	p.Ordinary = f.View
	if f.Allow {
		p.Network, p.Allow = policy.NetworkAllow, []string{"127.0.0.1:9", "example.com:443"}
	}
	cmd.Policy, cmd.Owner = &p, "faulty"
	return cmd
}

// faultyResult is the supervisor's report on its starts.
type faultyResult struct {
	Error string // of the start; "" if it succeeded
	Step  Step
	Path  string
	Exit  *Exit    // of a successful start
	Told  []string // as status shows it: what is missing or weaker

	Again string   // the error of the start after that one
	Close string   // the error of Close
	Left  []string // descriptors that are left after Close
}

// begun marks the begin and the end of the start for the tracer.
func begun(on uintptr) { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, mark, on, 0) }

// mark is the operation of prctl at the begin and the end of a start.
const mark = 0x686f7374

// A supervisor that starts a command twice; the first start has the fault. The commands
// report to descriptors 3 and 4.
func init() {
	roles["faulty"] = func(args []string) int {
		var f faultySetting
		if err := json.Unmarshal([]byte(args[0]), &f); err != nil {
			return 2
		}
		say := func(v any) { _ = json.NewEncoder(os.Stdout).Encode(v) }
		reports := []*os.File{os.NewFile(3, "first"), os.NewFile(4, "second")}
		for _, r := range reports {
			unix.CloseOnExec(int(r.Fd()))
		}
		Probe()
		before := leaktest.Descriptors()
		l, err := NewLauncher(Options{Kill: f.Kill, Strongest: f.Level})
		if err != nil {
			say(faultyResult{Error: err.Error()})
			return 1
		}
		fmt.Println("ready")
		in := bufio.NewReader(os.Stdin)
		if _, err := in.ReadString('\n'); err != nil {
			return 2
		}
		var res faultyResult
		begun(1)
		c, done, err := faultyStart(l, &f, reports[0])
		begun(0)
		if err == nil {
			awaitReport(done)
			res.Told = c.Confinement().Missing
			c.KillTree()
			<-c.Done()
			e := c.Exit()
			res.Exit = &e
			c.Release()
		} else {
			res.Error = err.Error()
			var se *StartError
			if errors.As(err, &se) {
				res.Step, res.Path = se.Step, se.Path
			}
		}
		if c, done, err := faultyStart(l, &f, reports[1]); err == nil {
			awaitReport(done)
			c.KillTree()
			c.Release()
		} else {
			res.Again = err.Error()
		}
		if err := l.Close(); err != nil {
			res.Close = err.Error()
		}
		if !eventually(func() bool {
			res.Left = slices.DeleteFunc(leaktest.Descriptors(), func(d string) bool { return slices.Contains(before, d) })
			return len(res.Left) == 0
		}) {
			res.Close += "; descriptors are left"
		}
		say(res)
		return 0
	}
	roles["inside"] = reportConfinement
	if os.Getenv(roleVar) == "inside" {
		runtime.LockOSThread() // main then runs on the first thread, the only one that has a parent-death signal
	}
}

// faultyStart starts the command; done ends, or gets a byte, after its report.
func faultyStart(l *Launcher, f *faultySetting, report *os.File) (*Child, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	cmd := f.command()
	cmd.Files = []*os.File{nil, report, report, w}
	c, err := l.Start(cmd)
	w.Close()
	if err != nil {
		r.Close()
	}
	return c, r, err
}

func awaitReport(done *os.File) {
	_, _ = done.Read(make([]byte, 1))
	done.Close()
}

// reportConfinement prints what a confined process can see of its confinement, and then
// waits to be killed.
func reportConfinement([]string) int {
	if unix.Gettid() != os.Getpid() {
		return 1 // its parent-death signal is not that of the process
	}
	out := bufio.NewWriter(os.Stdout)
	line := func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }
	for _, ns := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		link, err := os.Readlink("/proc/self/ns/" + ns)
		line("namespace %s %v", link, err)
	}
	file := func(path string, keep func(string) string) {
		b, err := os.ReadFile(path)
		if err != nil {
			line("%s: %v", path, err)
		}
		for text := range strings.Lines(string(b)) {
			if text = keep(strings.TrimSpace(text)); text != "" {
				line("%s: %s", path, text)
			}
		}
	}
	file("/proc/self/mountinfo", func(s string) string {
		if w := strings.Fields(s); len(w) > 6 { // skip the numbers of mounts and devices
			return strings.Join(w[3:], " ")
		}
		return s
	})
	file("/proc/self/status", func(s string) string {
		name, _, _ := strings.Cut(s, ":")
		if slices.Contains([]string{"Umask", "Uid", "Gid", "Groups", "NSpid", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
			"NoNewPrivs", "Seccomp", "Seccomp_filters", "SigIgn", "ShdPnd", "Cpus_allowed"}, name) {
			return s
		}
		return ""
	})
	file("/proc/self/limits", func(s string) string { return s })
	file("/proc/self/cgroup", func(s string) string { return s })
	host, _ := os.Hostname()
	dir, _ := os.Getwd()
	sid, _ := unix.Getsid(0)
	line("host %q dir %q leader %v pid %v", host, dir, sid == os.Getpid(), os.Getpid() < 10)
	var death int32
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&death)), 0)
	mdwe, _ := unix.PrctlRetInt(unix.PR_GET_MDWE, 0, 0, 0, 0)
	dumpable, _ := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	line("parent death %d mdwe %d dumpable %d", death, mdwe, dumpable)
	for fd := range 64 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && fd < 4 {
			line("descriptor %d %o", fd, st.Mode&unix.S_IFMT)
		}
	}
	line("environment %q", os.Environ())
	deeds := map[string]func() error{
		"read what is not granted": func() error { _, err := os.ReadFile("/etc/shadow"); return err },
		"list the machine's root":  func() error { _, err := os.ReadDir("/"); return err },
		"write where only read":    func() error { return os.WriteFile("/usr/faulty", nil, 0o600) },
		"mount":                    func() error { return unix.Mount("x", "/tmp", "tmpfs", 0, "") },
		"make namespaces":          func() error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"trace": func() error {
			_, _, errno := syscall.RawSyscall(syscall.SYS_PTRACE, unix.PTRACE_TRACEME, 0, 0)
			return errno
		},
		"raise a limit":             func() error { return unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 200, Max: 200}) },
		"signal the supervisor":     func() error { return syscall.Kill(1, 0) },
		"connect to the machine":    func() error { _, err := net.Dial("tcp", "127.0.0.1:9"); return err },
		"make a packet socket":      func() error { fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW, 0); closeFD(fd); return err },
		"run memory that it wrote":  func() error { return runWritten() },
		"make a file in memory":     func() error { fd, err := unix.MemfdCreate("x", unix.MFD_EXEC); closeFD(fd); return err },
		"be another user":           func() error { return syscall.Setuid(12345) },
		"look at the command's dir": func() error { _, err := os.ReadDir("."); return err },
	}
	names := make([]string, 0, len(deeds))
	for name := range deeds {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		err := deeds[name]()
		var errno syscall.Errno
		errors.As(err, &errno)
		if errno == syscall.ECONNRESET { // soon after it was accepted
			errno = 0
		}
		line("%s: %v", name, errno)
	}
	line("end")
	if out.Flush() != nil {
		return 1
	}
	_, _ = os.NewFile(3, "done").Write([]byte{0})
	for {
		_ = unix.Pause()
	}
}

// runWritten makes memory executable that could be written.
func runWritten() error {
	b, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return err
	}
	return unix.Mprotect(b, unix.PROT_READ|unix.PROT_EXEC)
}
