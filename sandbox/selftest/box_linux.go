//go:build !hostsup_posix

package selftest

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// box is a way of starting an attempt: without a sandbox, or confined.
type box struct {
	level    policy.Level      // "" without a sandbox
	launcher *sandbox.Launcher // nil without a sandbox
	// wrap, for comparison with other sandboxes, puts a command in front.
	wrap func(s *stage, argv []string) []string

	missing atomic.Pointer[[]string] // what the sandbox says it cannot enforce, after the first start
}

func (b *box) lacks() []string {
	if m := b.missing.Load(); m != nil {
		return *m
	}
	return nil
}

// command is what to start in a box.
type command struct {
	Path  string
	Args  []string // with Args[0]
	Env   []string
	Dir   string
	files []*os.File // 0, 1, 2 …
	// The rest is for a confined start.
	Policy policy.Policy
	Limits policy.Limits
}

func (c *command) confined(name string) *sandbox.Command {
	return &sandbox.Command{
		Name: name, Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Files: c.files, Policy: &c.Policy, Limits: c.Limits,
	}
}

func (c *command) plain() *exec.Cmd {
	return &exec.Cmd{
		Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Stdin: c.files[0], Stdout: c.files[1], Stderr: c.files[2], ExtraFiles: c.files[3:],
	}
}

// proc is a started command.
type proc struct {
	pid   int
	done  <-chan struct{}
	child *sandbox.Child // nil without a sandbox
	cmd   *exec.Cmd      // nil in a sandbox
	start time.Time
	end   time.Time // without a sandbox, valid after done
}

// ending is how a proc ended.
type ending struct {
	code, signal int
	core         bool
	cpu, wall    time.Duration
}

// start starts it. An error is the start's own.
func (b *box) start(s *stage, c *command) (*proc, error) {
	if b.launcher == nil {
		return b.plain(s, c)
	}
	if s.suite.within {
		c.Policy = everything(c.Policy)
	}
	child, err := b.launcher.Start(c.confined("selftest." + s.secret[len(s.secret)-6:]))
	if err != nil {
		return nil, err
	}
	// Not the present time: on a busy machine the process may have run for long by now.
	p := &proc{pid: child.Pid(), done: child.Done(), child: child, start: child.Started()}
	got := child.Confinement()
	if got.Level != b.level {
		p.kill()
		return nil, fmt.Errorf("started at level %s instead of %s", got.Level, b.level)
	}
	b.missing.CompareAndSwap(nil, &got.Missing)
	return p, nil
}

func (b *box) plain(s *stage, c *command) (*proc, error) {
	b.wraps(s, c)
	cmd := c.plain()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	// As a start has it that takes no care.
	cmd.Env = append(slices.Clip(cmd.Env), leakVar+"="+s.suite.leak)
	if s.ctty {
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done := make(chan struct{})
	p := &proc{pid: cmd.Process.Pid, done: done, cmd: cmd, start: time.Now()}
	go func() {
		defer close(done)
		_ = cmd.Wait() // how it ended is in ProcessState
		p.end = time.Now()
	}()
	return p, nil
}

// wraps puts the box's own command in front of c.
func (b *box) wraps(s *stage, c *command) {
	if b.wrap != nil {
		c.Args = b.wrap(s, append([]string{c.Path}, c.Args...))
		c.Path = c.Args[0]
	}
}

// pids are the processes of its tree now, as far as they can be found.
func (p *proc) pids() []int {
	if p.child != nil {
		pids, _ := p.child.Pids()
		return pids
	}
	below, _ := sys.Descendants(p.pid)
	return append([]int{p.pid}, below...)
}

// kill ends it with everything that it started, and waits for its own end.
func (p *proc) kill() {
	if p.child != nil {
		_ = p.child.KillTree()
		<-p.done
		p.child.Release()
		return
	}
	for _, pid := range p.pids()[1:] {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}

// ending is valid after done.
func (p *proc) ending() ending {
	if p.child != nil {
		e := p.child.Exit()
		return ending{code: e.Code, signal: e.Signal, core: e.Core, cpu: e.User + e.System, wall: e.At.Sub(p.start)}
	}
	st := p.cmd.ProcessState
	e := ending{code: st.ExitCode(), cpu: st.UserTime() + st.SystemTime(), wall: p.end.Sub(p.start)}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.signal, e.core = int(ws.Signal()), ws.CoreDump()
	}
	return e
}

// everything is a policy that grants all that one can, within another one.
func everything(within policy.Policy) policy.Policy {
	p := policy.Policy{
		Level: within.Level, Ordinary: true, JIT: true, Network: policy.NetworkHost, Devices: within.Devices,
		Syscalls: policy.Syscalls{Allow: within.Syscalls.Allow}, Within: &within,
	}
	entries, _ := os.ReadDir("/") // what is not found is not asked for
	for _, e := range entries {
		if !slices.Contains([]string{"proc", "sys", "dev", "lost+found"}, e.Name()) {
			p.Write = append(p.Write, "-/"+e.Name())
		}
	}
	p.Exec = p.Write
	return p
}

// basePolicy is what every attempt is confined by: the system's programs, the suite's tools, one folder to read, one to
// write, and where mounts are, a bounded folder.
func basePolicy(s *stage) policy.Policy {
	p := policy.Policy{
		Level:   s.level,
		Exec:    []string{s.suite.tools, "-/usr", "-/bin", "-/sbin", "-/lib", "-/lib32", "-/libx32", "-/lib64"},
		Read:    []string{"-/etc/ld.so.cache", s.path(readDir)},
		Write:   []string{s.path(writeDir)},
		Network: policy.NetworkNone, Ordinary: s.suite.ordinary,
	}
	if s.level.AtLeast(policy.NoCgroup) {
		p.Tmp = policy.Tmp{Size: folderSize, Inodes: folderInodes}
		p.Work = policy.Work{Path: s.path(workDir), Size: folderSize, Inodes: folderInodes}
	}
	return p
}
