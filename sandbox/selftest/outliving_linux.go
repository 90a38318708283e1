//go:build !hostsup_posix

package selftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// What is left after the end is known by who still holds the pipe that was the
// process's output: its other end reads its end when nobody does.
const (
	goneWithin     = 5 * time.Second        // in a sandbox
	survivedWithin = 700 * time.Millisecond // without one
	lingerFor      = 25 * time.Second       // what got away ends by itself
)

// forkLinger starts a daemon and ends.
func forkLinger(arg string) int {
	if startChild("linger", arg) != nil {
		return 1
	}
	return 0
}

// reforker never is a process for long.
func reforker(string) int {
	tell(noteSay, "ready")
	_ = syscall.SetNonblock(0, true)
	refork(int(lingerFor / (5 * time.Millisecond)))
	return 0
}

// linger is a daemon that will not go. With the argument "stop" it stops itself.
func linger(arg string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE)
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, 0, 0, 0, 0)
	tell(noteSay, "ready")
	if arg == "stop" {
		_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	}
	untilEOF(os.Stdin, lingerFor)
	return 0
}

// startChild starts this program as a child that leads a session.
func startChild(args ...string) error {
	exe, err := os.Executable()
	if err != nil {
		exe = "/proc/self/exe"
	}
	cmd := exec.Command(exe)
	cmd.Args = append([]string{partName, "child"}, args...)
	cmd.Env = partEnv(os.Getenv(partVar))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// refork leaves its process for a new one in a session of its own every 5 ms,
// until its stdin ends.
//
//go:norace
func refork(times int) {
	pause := unix.Timespec{Nsec: 5e6}
	var b [1]byte
	for ; times > 0; times-- {
		n, _, errno := syscall.RawSyscall(unix.SYS_READ, 0, uintptr(unsafe.Pointer(&b[0])), 1)
		if errno == 0 && n == 0 {
			break
		}
		pid, _, errno := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		if errno == 0 && pid != 0 {
			break
		}
		_, _, _ = syscall.RawSyscall(unix.SYS_SETSID, 0, 0, 0)
		_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&pause)), 0, 0)
	}
	for {
		_, _, _ = syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// outliving are attempts to be there after the end.
func outliving() []*attempt {
	// A main process that stays, after it has started something.
	starts := func(args ...string) func(in *inside) error {
		return func(in *inside) error {
			check(startChild(args...))
			untilEOF(os.Stdin, lingerFor)
			return nil
		}
	}
	var list []*attempt
	for _, a := range []struct {
		name, about string
		do          func(in *inside) error
	}{
		{"session", "a child in a session of its own", starts("linger", "")},
		{"double-fork", "a grandchild whose parent has ended", starts("fork-linger", "")},
		{"refork", "a child that becomes another process every 5 ms", starts("refork", "")},
		{"stopped", "a child that has stopped itself", starts("linger", "stop")},
		{"deaf", "a main process that ignores what asks it to end", func(*inside) error {
			linger("")
			return nil
		}},
		{"orphan", "a child whose main process has ended before", func(*inside) error { return startChild("linger", "") }},
	} {
		for _, way := range []struct{ name, about string }{
			{"stop", "is told to end it"},
			{"kill", "is killed itself"},
		} {
			list = append(list, &attempt{
				class: Outliving, name: a.name + "-" + way.name, about: a.about + " goes on after the supervisor " + way.about, do: a.do,
			})
			at := list[len(list)-1]
			at.play = func(ctx context.Context, s *stage, b *box) (finding, error) {
				return outlive(ctx, at, s, b, way.name == "kill")
			}
		}
	}
	return list
}

// charge is what the part "supervisor" is to start.
type charge struct {
	Level  policy.Level // "" without a sandbox
	Path   string
	Args   []string
	Env    []string
	Dir    string
	Policy policy.Policy
	Limits policy.Limits
}

// outlive starts an attempt under a supervisor of its own, ends that, and looks
// for what is left.
func outlive(ctx context.Context, at *attempt, s *stage, b *box, kill bool) (finding, error) {
	params, err := json.Marshal(s.params)
	if err != nil {
		return finding{}, err
	}
	c := charge{
		Level: b.level, Path: s.suite.program, Dir: s.path(writeDir), Env: partEnv(s.mark),
		Args: []string{partName, "attempt", at.id(), string(params)},
	}
	c.Policy, c.Limits = basePolicy(s)
	if b.wrap != nil {
		c.Args = b.wrap(s, append([]string{c.Path}, c.Args...))
		c.Path = c.Args[0]
	}
	text, err := json.Marshal(c)
	if err != nil {
		return finding{}, err
	}
	leashR, leashW, err := sys.Pipe(0)
	if err != nil {
		return finding{}, err
	}
	defer leashW.Close()
	outR, outW, err := sys.Pipe(0)
	if err != nil {
		leashR.Close()
		return finding{}, err
	}
	defer outR.Close()
	sup := exec.CommandContext(ctx, s.suite.program)
	sup.Args = []string{partName, "supervisor", string(text)}
	sup.Env = partEnv("supervisor")
	sup.ExtraFiles = []*os.File{leashR, outW}
	sup.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var errs bytes.Buffer
	sup.Stderr = &errs
	told, err := sup.StdinPipe()
	if err == nil {
		err = sup.Start()
	}
	leashR.Close()
	outW.Close()
	if err != nil {
		return finding{}, err
	}
	// What it says, and the end of all who could say more.
	ready, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		var once sync.Once
		for sc := bufio.NewReader(outR); ; {
			line, err := sc.ReadString('\n')
			var n note
			if text, ok := bytes.CutPrefix([]byte(line), []byte(noteMark)); ok && json.Unmarshal(text, &n) == nil && n.Kind == noteSay && n.Text == "ready" {
				once.Do(func() { close(ready) })
			}
			if err != nil {
				return
			}
		}
	}()
	began := false
	select {
	case <-ready:
		began = true
	case <-gone:
		// A main process that leaves its child may be over in between.
		select {
		case <-ready:
			began = true
		default:
		}
	case <-time.After(tryFor):
	case <-ctx.Done():
	}
	if kill {
		_ = sup.Process.Kill()
	}
	told.Close()
	_ = sup.Wait() // it was killed, or says on stderr what was wrong
	within := goneWithin
	if b.level == "" {
		within = survivedWithin
	}
	var f finding
	start := time.Now()
	select {
	case <-gone:
		f = held("all gone %d ms after the supervisor", time.Since(start).Milliseconds())
	case <-time.After(within):
		f = escaped("there still after %s", within)
	}
	leashW.Close()
	if !poll.Within(2*time.Second, func() bool {
		select {
		case <-gone:
			return true
		default:
			return killMarked(s.mark) && false
		}
	}) {
		_ = outR.SetReadDeadline(time.Now())
		<-gone
	}
	switch {
	case ctx.Err() != nil:
		return finding{}, ctx.Err()
	case !began && errs.Len() > 0:
		return finding{}, errors.New(oneLine(errs.String()))
	case !began:
		return unclear("it never got ready"), nil
	}
	return f, nil
}

// killMarked ends the processes of a stage that have got away from their
// supervisor. Only what bears the stage's random mark in its environment is
// one.
func killMarked(mark string) bool {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(partVar+"="+mark)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return true
}

// partSupervisor starts what it is told, with descriptors 3 and 4 as stdin and
// stdout, and ends it when its own stdin ends.
func partSupervisor(args []string) int {
	var c charge
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &c) != nil {
		return 2
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	in, out := os.NewFile(3, "leash"), os.NewFile(4, "output")
	if err := supervise(&c, in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func supervise(c *charge, in, out *os.File) error {
	if c.Level == "" {
		// One that takes no care: it asks its child to end, and that is that.
		cmd := &exec.Cmd{Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir, Stdin: in, Stdout: out, Stderr: out}
		if err := cmd.Start(); err != nil {
			return err
		}
		in.Close()
		out.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	l, err := sandbox.NewLauncher(sandbox.Options{Strongest: c.Level})
	if err != nil {
		return err
	}
	defer l.Close()
	child, err := l.Start(&sandbox.Command{
		Name: "selftest.outlive", Path: c.Path, Args: c.Args, Env: c.Env, Dir: c.Dir,
		Files: []*os.File{in, out, out}, Policy: &c.Policy, Limits: c.Limits,
	})
	if err != nil {
		return err
	}
	in.Close()
	out.Close()
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := child.KillTree(); err != nil {
		return err
	}
	<-child.Done()
	child.Release()
	return nil
}
