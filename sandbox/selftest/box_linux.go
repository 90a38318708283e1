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

// command is what to start in a box.
type command struct {
	args  []string // after the program, with args[0]
	env   []string
	dir   string
	files []*os.File // 0, 1, 2 …
	// The rest is for a confined start.
	policy policy.Policy
	limits policy.Limits
}

// proc is a started command.
type proc struct {
	pid   int
	done  <-chan struct{}
	child *sandbox.Child // nil without a sandbox
	cmd   *exec.Cmd      // nil in a sandbox
	start time.Time
	end   time.Time // valid after done
}

// ending is how a proc ended.
type ending struct {
	code, signal int
	core         bool
	cpu          time.Duration
}

// start starts it. An error is the start's own.
func (b *box) start(s *stage, com *command) (*proc, error) {
	if b.launcher == nil {
		return b.plain(s, com)
	}
	if s.suite.within {
		com.policy = everything(com.policy)
	}
	cmd := &sandbox.Command{
		Name: "selftest." + s.secret[len(s.secret)-6:],
		Path: s.suite.program, Args: com.args, Env: com.env, Dir: com.dir, Files: com.files,
		Policy: &com.policy, Limits: com.limits,
	}
	child, err := b.launcher.Start(cmd)
	if err != nil {
		return nil, err
	}
	p := &proc{pid: child.Pid(), done: child.Done(), child: child, start: time.Now()}
	c := child.Confinement()
	if c.Level != b.level {
		p.kill()
		return nil, fmt.Errorf("started at level %s instead of %s", c.Level, b.level)
	}
	b.missing.CompareAndSwap(nil, &c.Missing)
	return p, nil
}

func (b *box) plain(s *stage, c *command) (*proc, error) {
	cmd := &exec.Cmd{
		Path: s.suite.program, Args: c.args, Env: c.env, Dir: c.dir,
		Stdin: c.files[0], Stdout: c.files[1], Stderr: c.files[2], ExtraFiles: c.files[3:],
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	// As a start has it that takes no care.
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], leakVar+"="+s.suite.leak)
	if s.ctty {
		cmd.SysProcAttr.Setctty, cmd.SysProcAttr.Ctty = true, 3
	}
	if b.wrap != nil {
		cmd.Args = b.wrap(s, append([]string{s.suite.program}, c.args...))
		cmd.Path = cmd.Args[0]
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
	for _, pid := range p.pids() {
		if pid != p.pid {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	<-p.done
}

// ending is valid after done.
func (p *proc) ending() ending {
	if p.child != nil {
		e := p.child.Exit()
		p.end = e.At
		return ending{code: e.Code, signal: e.Signal, core: e.Core, cpu: e.User + e.System}
	}
	st := p.cmd.ProcessState
	e := ending{code: st.ExitCode(), cpu: st.UserTime() + st.SystemTime()}
	if ws, ok := st.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.signal, e.core = int(ws.Signal()), ws.CoreDump()
	}
	return e
}

// everything is a policy that grants all that one can, within another one.
func everything(within policy.Policy) policy.Policy {
	p := policy.Policy{Level: within.Level, Ordinary: true, JIT: true, Network: policy.NetworkHost, Devices: within.Devices, Syscalls: policy.Syscalls{Allow: within.Syscalls.Allow}, Within: &within}
	entries, _ := os.ReadDir("/") // what is not found is not asked for
	for _, e := range entries {
		if !slices.Contains([]string{"proc", "sys", "dev", "lost+found"}, e.Name()) {
			p.Write = append(p.Write, "-/"+e.Name())
		}
	}
	p.Exec = p.Write
	return p
}

// basePolicy is what every attempt is confined by: the system's programs, the
// suite's tools, one folder to read, one to write, and where mounts are, a
// bounded folder.
func basePolicy(s *stage) (policy.Policy, policy.Limits) {
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
	return p, policy.Limits{}
}
