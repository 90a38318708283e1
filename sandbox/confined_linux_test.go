//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// strict returns the policy of these tests: the system's programs and nothing else.
func strict(t testing.TB) *policy.Policy {
	t.Helper()
	p, ok := policy.Profile("strict")
	if !ok {
		t.Fatal("no profile strict")
	}
	return &p
}

// confines skips a test if a level cannot be enforced, or fails it if features must not
// be missing.
func confines(t testing.TB, level policy.Level) {
	t.Helper()
	if m := Probe(); !m.Level.AtLeast(level) {
		require.Missing(t, "confinement at level %s: this machine has %s; hostsup sandbox doctor says why", level, m.Level)
	}
}

// weakly returns a Launcher that confines at most at a level, or skips the test.
func weakly(t testing.TB, level policy.Level) *Launcher {
	t.Helper()
	l, err := NewLauncher(Options{Strongest: level})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if got := l.Machine().Level; got != level && level != "" {
		require.Missing(t, "confinement at level %s: this machine has %s", level, got)
	}
	return l
}

// output runs a script under a policy and returns its output.
func output(t testing.TB, l *Launcher, p *policy.Policy, script string, args ...string) (string, Exit) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := shell(script, args...)
	cmd.Policy, cmd.Files = p, []*os.File{nil, w, w}
	c, err := l.Start(cmd)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	e := wait(t, c)
	c.Release()
	return string(b), e
}

// ground returns a new folder that any user may search.
func ground(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "hostsup-test-") //nolint:usetesting // the confined user must reach it, and /tmp is private
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tried checks n lines "NAME: yes" or "NAME: no": names that are not in want must have
// been refused.
func tried(t *testing.T, out string, n int, want map[string]string) {
	t.Helper()
	if got := strings.Count(out, "\n"); got != n {
		t.Errorf("%d lines:\n%s", got, out)
	}
	for line := range strings.Lines(out) {
		name, got, _ := strings.Cut(strings.TrimSpace(line), ": ")
		expected := want[name]
		if expected == "" {
			expected = "no"
		}
		if got != expected {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestConfinedFiles(t *testing.T) {
	dir := ground(t)
	write(t, dir+"/read/a", "readable\n")
	write(t, dir+"/secret", "secret\n")
	write(t, dir+"/write/old", "old\n")
	write(t, dir+"/write/.env", "secret\n")
	write(t, dir+"/write/sub/deep/key", "secret\n")
	const owner = 12345
	root := os.Getuid() == 0
	if root {
		for _, f := range []string{"/write", "/write/old", "/write/sub", "/write/sub/deep"} {
			if err := os.Chown(dir+f, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := strict(t)
	p.Read = append(p.Read, dir+"/read")
	p.Write = []string{dir + "/write"}
	p.Deny = []string{dir + "/write/.env", dir + "/write/sub/deep/key", dir + "/write/none", dir + "/write/no/such"}

	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	out, _ := output(t, l, p, `
D=$1
try() { if (eval "$2") >/dev/null 2>&1; then echo "$1: yes"; else echo "$1: no"; fi; }
try read          "cat $D/read/a"
try write-read    "echo x > $D/read/b"
try secret        "cat $D/secret"
try passwd        "cat /etc/passwd"
try write         "echo x > $D/write/new"
try append        "echo x >> $D/write/old"
try mkdir         "mkdir $D/write/dir"
try env           "cat $D/write/.env"
try env-remove    "rm -f $D/write/.env"
try env-rename    "mv $D/write/.env $D/write/env"
try key           "cat $D/write/sub/deep/key"
try pin           "mv $D/write/sub/deep $D/write/sub/other"
try pin-outer     "mv $D/write/sub $D/write/other"
try missing       "echo x > $D/write/none"
try missing-below "mkdir -p $D/write/no/such"
try run-written   "cp /bin/true $D/write/true; $D/write/true"
try run-tmp       "cp /bin/true /tmp/true; /tmp/true"
try set-uid       "chmod u+s $D/write/new"
try set-gid       "install -m 2755 /bin/true $D/write/gid"
try tmp           "echo x > /tmp/x"
try root          "echo x > /x"
try dev           "echo x > /dev/x"
try proc-mem      "echo x > /proc/self/mem"
try shm           "echo x > /dev/shm/x"
try null          "echo x > /dev/null"
`, dir)
	want := map[string]string{"read": "yes", "write": "yes", "append": "yes", "mkdir": "yes", "tmp": "yes", "shm": "yes", "null": "yes"}
	tried(t, out, 25, want)
	if b, err := os.ReadFile(dir + "/write/.env"); err != nil || string(b) != "secret\n" {
		t.Errorf(".env: %q, %v", b, err)
	}
	for _, f := range []string{"/write/none", "/write/no"} {
		if !eventually(func() bool { _, err := os.Lstat(dir + f); return errors.Is(err, fs.ErrNotExist) }) {
			t.Errorf("%s is left", f)
		}
	}
	written, err := os.Lstat(dir + "/write/new")
	if err != nil {
		t.Fatal(err)
	}
	if uid, _, _ := sys.OwnersOf(written); root && uid != owner || !root && uid != os.Getuid() {
		t.Errorf("its files belong to %d", uid)
	}
}

func TestConfinedProcess(t *testing.T) {
	for _, level := range []policy.Level{"", policy.Landlock} {
		t.Run("level"+string(level), func(t *testing.T) {
			l := weakly(t, level)
			p := strict(t)
			if level != "" {
				p.Level = level
				p.Read = append(p.Read, "/proc")
			}
			if level == policy.Landlock {
				p.Read = slices.DeleteFunc(p.Read, func(s string) bool { return s == "/proc" })
			}
			t.Setenv("SECRET_OF_THE_SUPERVISOR", "1")
			out, e := output(t, l, p, `id -u; id -G; env; set -- /proc/self/fd/*; echo $#; cat /proc/self/status | grep -E '^(Cap|NoNewPrivs|Seccomp:)'; exit 7`)
			if e.Code != 7 {
				t.Errorf("ended with %+v", e)
			}
			if strings.Contains(out, "SECRET") {
				t.Errorf("environment: %s", out)
			}
			f := strings.Fields(out)
			if len(f) == 0 {
				t.Fatal("no output")
			}
			if uid, _ := strconv.Atoi(f[0]); uid == 0 || os.Getuid() == 0 && uid < firstUser {
				t.Errorf("runs as %s", f[0])
			}
			if level != "" {
				return
			}
			for _, line := range []string{"CapPrm:\t0000000000000000", "CapBnd:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
				if !strings.Contains(out, line) {
					t.Errorf("no %q in %s", line, out)
				}
			}
		})
	}
}

func TestConfinedPidIsThatOfTheHostSide(t *testing.T) {
	l := weakly(t, "")
	cmd := shell(`echo $$; exec sleep 1000`)
	cmd.Policy = strict(t)
	c, out := start(t, l, cmd)
	inner := lines(t, out, 1)[0]
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Pid()))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "NSpid:\t"+strconv.Itoa(c.Pid())) {
		t.Errorf("pid %d: %s", c.Pid(), b)
	}
	if l.Machine().Level.AtLeast(policy.NoCgroup) && inner == strconv.Itoa(c.Pid()) {
		t.Error("it sees its number on the host side")
	}
	if err := c.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if e := wait(t, c); e.Signal != int(syscall.SIGTERM) {
		t.Errorf("%+v", e)
	}
	c.Release()
}

func TestConfinedDescriptors(t *testing.T) {
	l := weakly(t, "")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	// A descriptor without close-on-exec, as other code may have.
	loose, err := syscall.Dup(int(w.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(loose)
	for _, level := range []policy.Level{"", policy.Landlock} {
		if level != "" {
			l = weakly(t, level)
		}
		cmd := shell(`for i in 0 1 2 3 4 5 6 7 8 9; do if eval "true <&$i" 2>/dev/null; then printf "$i "; fi; done >&3; echo end >&3`)
		cmd.Policy = strict(t)
		cmd.Policy.Level = level
		cmd.Files = []*os.File{nil, nil, nil, w, nil, w}
		c, err := l.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		wait(t, c)
		c.Release()
		b := make([]byte, 100)
		n, _ := r.Read(b)
		if got := strings.TrimSpace(string(b[:n])); got != "0 1 2 3 4 5 end" {
			t.Errorf("level %q: open are %q", level, got)
		}
	}
	w.Close()
}

func TestConfinedStartErrors(t *testing.T) {
	l := weakly(t, "")
	base := strict(t)
	dir := ground(t)
	write(t, dir+"/script", "#!/bin/sh\n")
	if err := os.Chmod(dir+"/script", 0o755); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*policy.Policy, *Command)
		step   Step
		want   string
		mounts bool
	}{
		"no such path": {func(p *policy.Policy, _ *Command) { p.Read = append(p.Read, dir+"/none") }, StepPolicy, "does not exist", false},
		"no such dir":  {func(_ *policy.Policy, c *Command) { c.Dir = "/none" }, StepDir, "no such file", false},
		"dir outside":  {func(_ *policy.Policy, c *Command) { c.Dir = dir }, StepDir, "not granted", true},
		"not granted":  {func(_ *policy.Policy, c *Command) { c.Path = dir + "/script" }, StepExec, "exec = [", false},
		"only read": {func(p *policy.Policy, c *Command) { c.Path = dir + "/script"; p.Read = append(p.Read, dir) },
			StepExec, "exec = [", false},
		"no program": {func(_ *policy.Policy, c *Command) { c.Path = "/bin/none" }, StepExec, "no such file", false},
		"zero byte":  {func(_ *policy.Policy, c *Command) { c.Args = []string{"a\x00b"} }, StepFiles, "zero byte", false},
		"root":       {func(p *policy.Policy, _ *Command) { p.User = "0" }, StepPolicy, "nothing runs confined as root", false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.mounts {
				confines(t, policy.NoCgroup)
			}
			p := *base
			p.Read = slices.Clone(p.Read)
			cmd := &Command{Name: "x.1", Path: "/bin/true", Args: []string{"true"}, Policy: &p}
			c.change(&p, cmd)
			child, err := l.Start(cmd)
			if err == nil {
				child.Release()
				t.Fatal("the start succeeds")
			}
			var se *StartError
			if !errors.As(err, &se) || se.Step != c.step || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v (step %q)", err, se.Step)
			}
			if !se.Permanent() {
				t.Errorf("%v is not permanent", err)
			}
		})
	}
}

func TestConfinedRefusesWeakerLevel(t *testing.T) {
	l := weakly(t, policy.Landlock)
	p := strict(t)
	p.Level = policy.Full
	_, err := l.Start(&Command{Name: "x.1", Path: "/bin/true", Args: []string{"true"}, Policy: p})
	var se *StartError
	if !errors.As(err, &se) || se.Step != StepPolicy || !strings.Contains(err.Error(), "level full cannot be enforced here, landlock at most") {
		t.Fatal(err)
	}
	p.Level = policy.Landlock
	c, err := l.Start(&Command{Name: "x.1", Path: "/bin/true", Args: []string{"true"}, Policy: p})
	if err != nil {
		t.Fatal(err)
	}
	if e := wait(t, c); e.Code != 0 {
		t.Errorf("%+v", e)
	}
	if got := c.Confinement(); got.Level != policy.Landlock || len(got.Missing) == 0 {
		t.Errorf("%+v", got)
	}
	c.Release()
}

func TestConfinedNetworkNone(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	script := `exec 5<>/dev/tcp/127.0.0.1/$0 && echo reached`
	reach := func(l *Launcher, p *policy.Policy) string {
		out, _ := output(t, l, p, `exec /bin/bash -c '`+script+`' "$1"`, port)
		return out
	}
	for _, level := range []policy.Level{"", policy.Landlock} {
		l := weakly(t, level)
		p := strict(t)
		p.Level = level
		if out := reach(l, p); strings.Contains(out, "reached") {
			t.Errorf("level %q: %s", level, out)
		}
		p.Network = policy.NetworkHost
		if out := reach(l, p); !strings.Contains(out, "reached") {
			t.Errorf("level %q: with network = host: %s", level, out)
		}
	}
}

func TestConfinedJIT(t *testing.T) {
	l := weakly(t, "")
	p := strict(t)
	script := `cp /bin/true /tmp/true; /tmp/true && echo runs`
	if out, _ := output(t, l, p, script); strings.Contains(out, "runs") {
		t.Errorf("without jit: %s", out)
	}
	p.JIT = true
	if out, _ := output(t, l, p, script); !strings.Contains(out, "runs") && l.Machine().Level.AtLeast(policy.NoCgroup) {
		t.Errorf("with jit: %s", out)
	}
}
