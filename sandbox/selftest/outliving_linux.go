//go:build !hostsup_posix

package selftest

import (
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
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// What is left after the end is known by who still holds the pipe that was the process's output: its other end reads its
// end when nobody does.
const (
	goneWithin     = 5 * time.Second        // in a sandbox
	survivedWithin = 700 * time.Millisecond // without one
	lingerFor      = 25 * time.Second       // what got away ends by itself
)

// outliving are attempts to be there after the end, in the ways in which daemons leave their parents. A supervisor that
// only signals its child, or its child's group, loses each of them.
func outliving() []*attempt {
	// starts is a main process that stays, after it has started something.
	starts := func(args ...string) func(*inside) error {
		return func(*inside) error {
			check(startChild(args...))
			untilEOF(os.Stdin, lingerFor)
			return nil
		}
	}
	var rows []attempt
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
		on := a.about + " goes on after the supervisor is "
		rows = append(rows,
			attempt{name: a.name + "-stop", about: on + "told to end it", do: a.do, play: outlive(false)},
			attempt{name: a.name + "-kill", about: on + "killed itself", do: a.do, play: outlive(true)})
	}
	return family(Outliving, attempt{}, rows)
}

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
	cmd := childCommand(exe, args...)
	cmd.Stdin = os.Stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Start()
}

// refork leaves its process for a new one in a session of its own every 5 ms, until its stdin ends.
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

// charge is what the part "supervisor" is to start.
type charge struct {
	Level   policy.Level // "" without a sandbox
	Command *command
}

// outlive starts an attempt under a supervisor of its own, ends or kills that, and looks for what is left.
func outlive(kill bool) func(context.Context, *attempt, *stage, *box) finding {
	return func(ctx context.Context, at *attempt, s *stage, b *box) finding {
		c := s.command(at)
		b.wraps(s, c)
		leashR, leashW := s.pipe()
		outR, outW := s.pipe()
		sup := exec.CommandContext(ctx, s.suite.program)
		sup.Args = []string{partName, "supervisor", string(must(json.Marshal(charge{b.level, c})))}
		sup.Env = partEnv("supervisor")
		sup.ExtraFiles = []*os.File{leashR, outW}
		sup.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		var errs bytes.Buffer
		sup.Stderr = &errs
		leash := must(sup.StdinPipe())
		check(sup.Start())
		leashR.Close()
		outW.Close()
		// What it says, and the end of all who could say more.
		ready, gone := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(gone)
			getsReady := sync.OnceFunc(func() { close(ready) })
			listen(outR, func(n note) {
				if n.Kind == noteSay && n.Text == "ready" {
					getsReady()
				}
			})
		}()
		select {
		case <-ready:
		case <-gone:
		case <-time.After(tryFor):
		case <-ctx.Done():
		}
		began := isClosed(ready) // a main process that leaves its child may be over by now
		if kill {
			_ = sup.Process.Kill()
		}
		leash.Close()
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
		if !poll.Within(2*time.Second, func() bool { return isClosed(gone) || killMarked(s.mark) }) {
			_ = outR.SetReadDeadline(time.Now())
		}
		<-gone
		check(ctx.Err())
		if !began && errs.Len() > 0 {
			check(errors.New(oneLine(errs.String())))
		}
		if !began {
			return unclear("it never got ready")
		}
		return f
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// killMarked ends the processes of a stage that have got away from their supervisor, and returns false. Only what bears
// the stage's random mark in its environment is one.
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
	return false
}

// partSupervisor starts what it is told, with descriptors 3 and 4 as stdin and stdout, and ends it when its own stdin
// ends.
func partSupervisor(args []string) int {
	var c charge
	if !told(args, &c) {
		return 2
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	in, out := os.NewFile(3, "leash"), os.NewFile(4, "output")
	c.Command.files = []*os.File{in, out, out}
	if err := c.supervise(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (c *charge) supervise() error {
	started := func() {
		c.Command.files[0].Close()
		c.Command.files[1].Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}
	if c.Level == "" {
		// One that takes no care: it asks its child to end, and that is that.
		cmd := c.Command.plain()
		if err := cmd.Start(); err != nil {
			return err
		}
		started()
		return cmd.Process.Signal(syscall.SIGTERM)
	}
	l, err := sandbox.NewLauncher(sandbox.Options{Strongest: c.Level})
	if err != nil {
		return err
	}
	defer l.Close()
	child, err := l.Start(c.Command.confined("selftest.outlive"))
	if err != nil {
		return err
	}
	started()
	if err := child.KillTree(); err != nil {
		return err
	}
	<-child.Done()
	child.Release()
	return nil
}
