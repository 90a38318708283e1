//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// The test binary is also the program, under its name.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"hostsup": func() { leaktest.Exit(program()) }})
}

// leakChecked fails a run that leaves anything behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int { return leaktest.Run(testsAndPrograms{l.m}) }

// testsAndPrograms are the tests, and a look for programs that were started
// from the copy of this binary: they are nobody's children by then.
type testsAndPrograms struct{ m *testing.M }

func (t testsAndPrograms) Run() int {
	code := t.m.Run()
	// testscript removes this folder after the last script, which never comes
	// when -run leaves scripts out. What is not empty stays, and is told.
	folders, _ := filepath.Glob(filepath.Join(os.TempDir(), "go-test-script*")) // the pattern is valid
	for _, folder := range folders {
		_ = os.Remove(folder)
	}
	if err := processesLeft(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// processesLeft looks for programs that were started from the copy of this
// binary, and waits for those that are on their way out.
func processesLeft() error {
	dirs := filepath.SplitList(os.Getenv("PATH"))
	program := filepath.Join(dirs[0], "hostsup") // where testscript.Main has put it
	var left []string
	err := await(10*time.Second, func() bool {
		left = nil
		links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is valid
		for _, link := range links {
			if exe, err := os.Readlink(link); err == nil && strings.TrimSuffix(exe, " (deleted)") == program {
				left = append(left, filepath.Base(filepath.Dir(link)))
			}
		}
		return len(left) == 0
	})
	if err != nil {
		return fmt.Errorf("processes are left: %s", strings.Join(left, ", "))
	}
	return nil
}

// await waits for a condition that nothing tells of.
func await(limit time.Duration, is func() bool) error {
	if !poll.Within(limit, is) {
		return fmt.Errorf("not within %v", limit)
	}
	return nil
}

func TestScripts(t *testing.T) { testscript.Run(t, scripts("script")) }

// scripts are those of a folder of testdata.
func scripts(folder string) testscript.Params {
	return testscript.Params{
		Dir: filepath.Join("testdata", folder),
		Setup: func(env *testscript.Env) error {
			// Nothing of the machine's own supervisor is met by accident.
			env.Setenv("HOSTSUP_SOCKET", filepath.Join(env.WorkDir, "sock"))
			env.Setenv("XDG_RUNTIME_DIR", "")
			// State is kept there by ordinary users.
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			if err := os.MkdirAll(home, 0o700); err != nil {
				return err
			}
			if err := shortTemp(env); err != nil {
				return err
			}
			// A program built for the race detector waits a second before it exits.
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "confine":
				return require.All() || sandbox.Probe().Level.AtLeast(policy.NoCgroup), nil
			case "observe":
				f, _ := sandbox.Probe().Feature(sandbox.FeatureObserving)
				return require.All() || f.Have, nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   scriptExits,
			"ready":   scriptReady,
			"signal":  scriptSignal,
			"life":    scriptLife,
			"says":    scriptSays,
			"gone":    scriptGone,
			"older":   scriptOlder,
			"happens": scriptHappens,
			"mode":    scriptMode,
			"console": scriptConsole,
		},
	}
}

// shortTemp gives a script a temporary folder whose name leaves room for the
// names of sockets, which may have 107 bytes.
func shortTemp(env *testscript.Env) error {
	dir, err := os.MkdirTemp("", "s-")
	env.Setenv("TMPDIR", dir)
	env.Defer(func() { _ = os.RemoveAll(dir) })
	return err
}

// exits CODE PROGRAM ARG…: like exec, for an exact exit code.
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG…")
	}
	code := 0
	var exit interface{ ExitCode() int }
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if args[0] != fmt.Sprint(code) {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// console: puts the URL of the console into HOSTSUP_URL, and the file with its token
// into HOSTSUP_TOKEN_FILE.
func scriptConsole(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: console")
	}
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	at, err := c.Console(context.Background())
	ts.Check(err)
	if at.URL == nil || at.TokenFile == nil {
		ts.Fatalf("%+v", at)
	}
	ts.Setenv("HOSTSUP_URL", *at.URL)
	ts.Setenv("HOSTSUP_TOKEN_FILE", *at.TokenFile)
}

// ready: waits until the supervisor at HOSTSUP_SOCKET is ready.
func scriptReady(ts *testscript.TestScript, neg bool, args []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	ts.Check(await(20*time.Second, func() bool {
		_, err := c.Status(ctx)
		return err == nil
	}))
	for ev, err := range c.Events(ctx, true) {
		ts.Check(err)
		if ev.Kind == "supervisor" && ev.Reason == "ready" {
			return
		}
	}
	ts.Fatalf("the supervisor ended before it was ready")
}

var signals = map[string]syscall.Signal{
	"CONT": syscall.SIGCONT, "HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "TERM": syscall.SIGTERM,
}

// signal NAME HOST|-supervisor: sends a signal to a process, by its pid.
func scriptSignal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME HOST|-supervisor")
	}
	sig, ok := signals[args[0]]
	if !ok {
		ts.Fatalf("no signal %s", args[0])
	}
	ts.Check(syscall.Kill(pidOf(ts, args[1]), sig))
}

// pidOf asks the supervisor, and leaves the pid in $PID.
func pidOf(ts *testscript.TestScript, name string) int {
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	st, err := c.Status(context.Background())
	ts.Check(err)
	pid := 0
	if name == "-supervisor" {
		pid = st.Supervisor.PID
	}
	for _, h := range st.Hosts {
		if h.Name == name && h.PID != nil {
			pid = *h.PID
		}
	}
	if pid == 0 {
		ts.Fatalf("%s has no process", name)
	}
	ts.Setenv("PID", fmt.Sprint(pid))
	return pid
}

// life HOST N: waits until the N-th life of a host has begun.
func scriptLife(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: life HOST N")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	for ev, err := range c.Events(ctx, true) {
		ts.Check(err)
		if ev.Host != nil && *ev.Host == args[0] && ev.Life != nil && fmt.Sprint(*ev.Life) == args[1] {
			return
		}
	}
	ts.Fatalf("%s has no life %s", args[0], args[1])
}

// says HOST TEXT: waits until a host has printed a line.
func scriptSays(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: says HOST TEXT")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	for ln, err := range c.Logs(ctx, args[0], 1000, true) {
		ts.Check(err)
		if ln.Text == args[1] {
			return
		}
	}
	ts.Fatalf("%s never says %q", args[0], args[1])
}

// older HOST: the process of a host was started before the host came into its
// state.
func scriptOlder(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: older HOST")
	}
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	st, err := c.Status(context.Background(), args[0])
	ts.Check(err)
	if h := st.Hosts[0]; h.Started == nil || !h.Started.Before(h.Since.Add(-time.Second)) {
		ts.Fatalf("%s: started %v, %s since %v", h.Name, h.Started, h.State, h.Since)
	}
}

// happens HOST PATTERN: waits for an event of a host whose reason matches.
func scriptHappens(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: happens HOST PATTERN")
	}
	pattern, err := regexp.Compile(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c := control.NewClient(ts.Getenv("HOSTSUP_SOCKET"))
	defer c.Close()
	for ev, err := range c.Events(ctx, true) {
		ts.Check(err)
		if ev.Host != nil && *ev.Host == args[0] && pattern.MatchString(ev.Reason) {
			return
		}
	}
	ts.Fatalf("%s: no event matches %s", args[0], pattern)
}

// gone PID: waits until there is no such process.
func scriptGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone PID")
	}
	ts.Check(await(10*time.Second, func() bool {
		_, err := os.Stat("/proc/" + args[0])
		return errors.Is(err, os.ErrNotExist)
	}))
}

// mode OCTAL FILE: checks the permissions of a file.
func scriptMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode OCTAL FILE")
	}
	info, err := os.Lstat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}
