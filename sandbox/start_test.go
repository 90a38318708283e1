//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
)

func TestExit(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		for _, test := range []struct {
			script       string
			code, signal int
		}{
			{"exit 0", 0, 0},
			{"exit 3", 3, 0},
			{"exit 255", 255, 0},
			{"kill -KILL $$", -1, 9},
			{"kill -SEGV $$", -1, 11},
			{"kill -TERM $$", -1, 15},
		} {
			before := time.Now()
			c, _ := start(t, l, shell(test.script))
			if c.Pid() <= 0 {
				t.Errorf("%s: pid %d", test.script, c.Pid())
			}
			e := wait(t, c)
			if e.Code != test.code || e.Signal != test.signal {
				t.Errorf("%s: code %d, signal %d", test.script, e.Code, e.Signal)
			}
			if e.Started.Before(before) || e.At.Before(e.Started) || e.At.After(time.Now()) {
				t.Errorf("%s: started %v, ended %v", test.script, e.Started, e.At)
			}
			c.Release()
		}
	})
}

func TestExitReportsResourceUse(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, _ := start(t, l, shell(`i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done`))
		defer c.Release()
		e := wait(t, c)
		if e.User <= 0 || e.MaxRSS < 100<<10 || e.MaxRSS > 1<<30 {
			t.Errorf("user %v, system %v, peak %d bytes", e.User, e.System, e.MaxRSS)
		}
	})
}

func TestExitReportsCoreDump(t *testing.T) {
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || strings.TrimSpace(string(pattern)) != "core" {
		require.Missing(t, "cores in the folder of the process: /proc/sys/kernel/core_pattern is %q", pattern)
	}
	everyWay(t, func(t *testing.T, l *Launcher) {
		dir := t.TempDir()
		cmd := shell("ulimit -c unlimited 2>&1 && exec sh -c 'kill -QUIT $$'")
		cmd.Dir = dir
		c, _ := start(t, l, cmd)
		defer c.Release()
		e := wait(t, c)
		cores, err := filepath.Glob(filepath.Join(dir, "core*"))
		if e.Signal != int(syscall.SIGQUIT) {
			require.Missing(t, "the right to write cores: %+v", e)
		}
		if err != nil || e.Core != (len(cores) > 0) {
			t.Errorf("%+v with %q, %v", e, cores, err)
		}
	})
}

func TestChildHasExactlyTheGivenFiles(t *testing.T) {
	needLinux(t)
	// A descriptor that the embedding program leaves open for its children.
	leaked, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leaked)
	high := 200
	if err := dupTo(leaked, high); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(high)
	want, err := sys.Inheritable()
	if err != nil || !slices.Contains(want, high) {
		t.Fatalf("inheritable %v, %v", want, err)
	}

	everyWay(t, func(t *testing.T, l *Launcher) {
		r, w, err := sys.Pipe(0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		folder, err := os.Open(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer folder.Close()
		// In an order that must be reversed, with a gap.
		cmd := shell(`for f in /proc/$$/fd/*; do echo ${f##*/} $(readlink $f); done`)
		cmd.Files = []*os.File{nil, w, nil, folder, nil, w}
		c, err := l.Start(cmd)
		w.Close()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Release()
		b := make([]byte, 4096)
		n := 0
		for {
			k, err := r.Read(b[n:])
			if n += k; err != nil {
				break
			}
		}
		wait(t, c)
		var got []string
		for line := range strings.Lines(string(b[:n])) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "10 ") || strings.HasPrefix(line, "255 ") { // a shell's own
				continue
			}
			num, target, _ := strings.Cut(line, " ")
			if strings.HasPrefix(target, "pipe:") && num != "1" && num != "5" {
				continue // of the command substitution
			}
			if strings.HasPrefix(target, "pipe:") {
				target = "pipe"
			}
			got = append(got, num+" "+target)
		}
		slices.Sort(got)
		if want := []string{"0 /dev/null", "1 pipe", "2 /dev/null", "3 " + folder.Name(), "4 /dev/null", "5 pipe"}; !slices.Equal(got, want) {
			t.Errorf("descriptors\n%q, want\n%q", got, want)
		}
	})
	if after, _ := sys.Inheritable(); !slices.Equal(after, want) {
		t.Errorf("the program's own descriptors were changed: %v, before %v", after, want)
	}
}

func TestFilesAreBlocking(t *testing.T) {
	// os.Pipe makes both ends non-blocking; a program with a non-blocking stdout loses
	// output.
	needLinux(t)
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(`sed -n s/flags:.//p /proc/self/fdinfo/1`))
		defer c.Release()
		flags, err := strconv.ParseInt(lines(t, out, 1)[0], 8, 64)
		if err != nil || flags&syscall.O_NONBLOCK != 0 {
			t.Errorf("flags of stdout %o, %v", flags, err)
		}
		wait(t, c)
	})
}

func TestSessionEnvironmentAndFolder(t *testing.T) {
	needLinux(t)
	dir := t.TempDir()
	everyWay(t, func(t *testing.T, l *Launcher) {
		cmd := shell(`echo $$; cut -d" " -f5,6 /proc/$$/stat; pwd; tr "\0" " " </proc/$$/environ; echo; echo "$@"`, "a", "b c")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=/usr/bin:/bin", "X=1"}
		c, out := start(t, l, cmd)
		defer c.Release()
		got := lines(t, out, 5)
		if l.Kill() != KillPidns && got[0] != strconv.Itoa(c.Pid()) {
			t.Errorf("pid inside %s, outside %d", got[0], c.Pid())
		}
		if want := got[0] + " " + got[0]; got[1] != want {
			t.Errorf("group and session %q, want %q", got[1], want)
		}
		if got[2] != dir {
			t.Errorf("folder %q", got[2])
		}
		if got[3] != "PATH=/usr/bin:/bin X=1 " {
			t.Errorf("environment %q", got[3])
		}
		if got[4] != "a b c" {
			t.Errorf("arguments %q", got[4])
		}
		if e := wait(t, c); e.Code != 0 {
			t.Errorf("%+v", e)
		}
	})
}

func TestStartsInOurFolderWithoutDir(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(`pwd`))
		defer c.Release()
		if got := lines(t, out, 1)[0]; got != here {
			t.Errorf("folder %q, ours is %q", got, here)
		}
		wait(t, c)
	})
}

func TestStartError(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	plain := write("plain", "hello", 0o644)
	garbage := write("garbage", "\x00\x01\x02\x03", 0o755)
	script := write("script.py", "#!/usr/bin/pyton3\nprint()\n", 0o755)
	dos := write("dos.sh", "#!/bin/sh\r\nexit\r\n", 0o755)
	shut := filepath.Join(dir, "shut")
	if err := os.Mkdir(shut, 0o600); err != nil {
		t.Fatal(err)
	}
	closed, err := os.Open(plain)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()

	tests := []struct {
		what string
		cmd  Command
		step Step
		is   error
		text string
	}{
		{"no program", Command{Path: "/usr/bin/nod"}, StepExec, fs.ErrNotExist, "start ts.7: /usr/bin/nod: no such file or directory"},
		{"not executable", Command{Path: plain}, StepExec, fs.ErrPermission, "start ts.7: " + plain + ": permission denied"},
		{"a folder", Command{Path: dir}, StepExec, syscall.EISDIR, "start ts.7: " + dir + ": is a directory"},
		{"no folder", Command{Path: "/bin/sh", Dir: "/nonexistent"}, StepDir, fs.ErrNotExist, "start ts.7: working folder /nonexistent: no such file or directory"},
		{"folder is a file", Command{Path: "/bin/sh", Dir: plain}, StepDir, syscall.ENOTDIR, "start ts.7: working folder " + plain + ": not a directory"},
		{"garbage", Command{Path: garbage}, StepFormat, syscall.ENOEXEC, "start ts.7: " + garbage + ": exec format error"},
		{"no interpreter", Command{Path: script}, StepInterpreter, fs.ErrNotExist, "start ts.7: " + script + `: its interpreter "/usr/bin/pyton3": no such file or directory`},
		{"line ends", Command{Path: dos}, StepInterpreter, fs.ErrNotExist, "start ts.7: " + dos + `: its interpreter "/bin/sh\r": no such file or directory`},
		{"a name", Command{Path: "node"}, StepExec, fs.ErrNotExist, "start ts.7: node: a name, not a path: find it with LookPath: no such file or directory"},
		{"zero byte", Command{Path: "/bin/sh", Env: []string{"A=\x00"}}, StepFiles, syscall.EINVAL, "start ts.7: a zero byte in the path, the arguments or the environment: invalid argument"},
		{"too long", Command{Path: "/bin/sh", Env: []string{"A=" + strings.Repeat("x", 1<<20)}}, StepExec, syscall.E2BIG, "start ts.7: /bin/sh: argument list too long"},
		{"closed file", Command{Path: "/bin/sh", Files: []*os.File{closed}}, StepFiles, syscall.EBADF, "start ts.7: file 0 is closed: bad file descriptor"},
		{"relative to its folder", Command{Path: "./nod", Dir: dir}, StepExec, fs.ErrNotExist, "start ts.7: ./nod: no such file or directory"},
	}
	if os.Getuid() != 0 {
		tests = append(tests, struct {
			what string
			cmd  Command
			step Step
			is   error
			text string
		}{"shut folder", Command{Path: "/bin/sh", Dir: shut}, StepDir, fs.ErrPermission, "start ts.7: working folder " + shut + ": permission denied"})
	}
	everyWay(t, func(t *testing.T, l *Launcher) {
		for _, test := range tests {
			cmd := test.cmd
			cmd.Name, cmd.Args = "ts.7", []string{"x"}
			c, err := l.Start(&cmd)
			if err == nil {
				c.Release()
				t.Errorf("%s: started", test.what)
				continue
			}
			var se *StartError
			if !errors.As(err, &se) {
				t.Errorf("%s: %T", test.what, err)
				continue
			}
			if se.Step != test.step || !errors.Is(err, test.is) || err.Error() != test.text || !se.Permanent() {
				t.Errorf("%s:\nstep %s: %v\nwant %s: %s", test.what, se.Step, err, test.step, test.text)
			}
		}
	})
}

func TestStartErrorText(t *testing.T) {
	for want, e := range map[string]*StartError{
		"start a.1: cannot make a process: resource temporarily unavailable": {Name: "a.1", Step: StepFork, Path: "/bin/x", Err: syscall.EAGAIN},
		"start a.1: cannot set up its process tree: too many open files":     {Name: "a.1", Step: StepTree, Err: syscall.EMFILE},
		"start a.1: launcher is closed":                                      {Name: "a.1", Step: StepClosed, Err: ErrClosed},
		"start /bin/x: no such file or directory":                            {Step: StepExec, Path: "/bin/x", Err: syscall.ENOENT},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
		if e.Step != StepExec && e.Permanent() {
			t.Errorf("%v would fail again", e)
		}
	}
}

func TestSignal(t *testing.T) {
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(`trap "echo got; exit 5" USR1; echo ready; while :; do sleep 0.01; done`))
		defer c.Release()
		lines(t, out, 1)
		if err := c.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if got := lines(t, out, 1)[0]; got != "got" {
			t.Errorf("said %q", got)
		}
		if e := wait(t, c); e.Code != 5 {
			t.Errorf("%+v", e)
		}
		if err := c.Signal(syscall.SIGUSR1); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("signal after the end: %v", err)
		}
	})
}

func TestStopAndContinue(t *testing.T) {
	needLinux(t)
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(`echo ready; exec sleep 1000`))
		defer c.Release()
		lines(t, out, 1)
		state := func(want byte) bool {
			return eventually(func() bool { st, err := sys.ReadStat(c.Pid()); return err == nil && st.State == want })
		}
		if err := c.Signal(syscall.SIGSTOP); err != nil || !state('T') {
			t.Fatalf("not stopped: %v", err)
		}
		if err := c.Signal(syscall.SIGCONT); err != nil || !state('S') {
			t.Fatalf("not continued: %v", err)
		}
		c.KillTree()
		if e := wait(t, c); e.Signal != 9 || e.Code != -1 {
			t.Errorf("%+v", e)
		}
	})
}

func TestUsage(t *testing.T) {
	needLinux(t)
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, out := start(t, l, shell(`i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; sleep 1000 & echo ready; wait`))
		defer c.Release()
		lines(t, out, 1)
		var rss int64
		var cpu time.Duration
		if !eventually(func() bool {
			var err error
			rss, cpu, err = c.Usage()
			return err == nil && rss > 200<<10 && cpu > 0
		}) {
			t.Errorf("%d bytes, %v", rss, cpu)
		}
		pids, err := c.Pids()
		if err != nil || !slices.Contains(pids, c.Pid()) || len(pids) < 2 {
			t.Errorf("pids %v with main %d, %v", pids, c.Pid(), err)
		}
		c.KillTree()
		wait(t, c)
	})
}

// What a process that has ended has used is not lost, whether its parent has waited for it
// or was gone by then.
func TestUsageCountsEndedProcesses(t *testing.T) {
	needLinux(t)
	const burn = `burn() { i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read -r s </proc/self/stat; set -- $s; echo $((${14} + ${15})); }
`
	everyWay(t, func(t *testing.T, l *Launcher) {
		script := burn + `(burn); (: & (burn & wait) & exec sleep 0)`
		if l.Kill() == KillGroup { // the time of those without a parent is the system's
			script = burn + `(burn); (burn)`
		}
		c, out := start(t, l, shell(script+`; exec sleep 1000`))
		defer c.Release()
		var want time.Duration
		for _, ticks := range lines(t, out, 2) {
			n, err := strconv.Atoi(ticks)
			if err != nil || n < 5 {
				t.Fatalf("%q: %v", ticks, err)
			}
			want += time.Duration(n) * 10 * time.Millisecond
		}
		var cpu time.Duration
		if !eventually(func() bool {
			pids, _ := c.Pids()
			_, cpu, _ = c.Usage()
			return len(pids) == 1 && cpu >= want
		}) {
			t.Errorf("%v, want %v at least", cpu, want)
		}
	})
}

// The figures of a host that has ended are an error at once, for every kill method.
func TestUsageOfAnEndedProcess(t *testing.T) {
	needLinux(t)
	everyWay(t, func(t *testing.T, l *Launcher) {
		c, _ := start(t, l, shell(`exit 0`))
		wait(t, c)
		c.Release()
		if !eventually(func() bool { _, _, err := c.Usage(); return err != nil }) {
			t.Error("it has figures")
		}
	})
}

func TestAnyCommandNameStarts(t *testing.T) {
	// Names that a folder cannot have, or that already exist.
	everyWay(t, func(t *testing.T, l *Launcher) {
		for _, name := range []string{"", ".", "..", "a/b", "x", "x", "cgroup.procs", "cgroup.kill", strings.Repeat("ä", 200), "a\nb"} {
			cmd := shell("exec sleep 1000")
			cmd.Name = name
			c, err := l.Start(cmd)
			if err != nil {
				t.Errorf("%q: %v", name, err)
				continue
			}
			if c.Name() != name {
				t.Errorf("%q is called %q", name, c.Name())
			}
			if pids, err := c.Pids(); err != nil || len(pids) == 0 {
				t.Errorf("%q: %v, %v", name, pids, err)
			}
		}
	})
}

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	bin, other := filepath.Join(dir, "bin"), filepath.Join(dir, "other")
	for _, d := range []string{bin, other, filepath.Join(bin, "sub")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for p, mode := range map[string]os.FileMode{"bin/tool": 0o755, "other/tool": 0o755, "bin/data": 0o644, "other/data": 0o755, "bin/only": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, p), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := bin + ":" + other
	for _, test := range []struct {
		file, dir, path string
		want            string
		is              error
	}{
		{"tool", "", path, bin + "/tool", nil},
		{"data", "", path, other + "/data", nil},
		{"only", "", path, "", fs.ErrPermission},
		{"nod", "", path, "", fs.ErrNotExist},
		{"sub", "", path, "", fs.ErrPermission},
		{"tool", bin, "", "", fs.ErrNotExist},
		{"tool", bin, ":.", "", fs.ErrNotExist},
		{"", "", path, "", fs.ErrNotExist},
		{"./tool", bin, "", bin + "/tool", nil},
		{"../other/tool", bin, "", other + "/tool", nil},
		{bin + "/tool", "/", "", bin + "/tool", nil},
		{bin + "/nod", "/", path, "", fs.ErrNotExist},
	} {
		got, err := LookPath(test.file, test.dir, test.path)
		if test.is == nil && (err != nil || got != test.want) || test.is != nil && !errors.Is(err, test.is) {
			t.Errorf("%q in %q: %q, %v", test.file, test.path, got, err)
		}
	}
	if _, err := LookPath("nod", "", "/bin:/usr/bin"); fmt.Sprint(err) != "nod: not found in any folder of PATH" {
		t.Errorf("%v", err)
	}
}
