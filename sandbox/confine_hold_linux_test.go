//go:build !hostsup_posix

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// missingIn returns p with denied names that are missing in the folder dir.
func missingIn(p *policy.Policy, dir string) *policy.Policy {
	p.Write = []string{dir}
	p.Deny = []string{dir + "/.env", dir + "/none/x", dir + "/d/secret"}
	p.Absent = []string{dir + "/.git"}
	return p
}

// A supervisor, which may be killed: until its input ends, it starts one command after
// the other that tries to create denied names.
func init() {
	roles["denies"] = func(args []string) int {
		l, err := NewLauncher(Options{})
		if err != nil {
			fmt.Println("refused", err)
			return 1
		}
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			_ = l.Close()
			os.Exit(0)
		}()
		p, _ := policy.Profile("strict")
		missingIn(&p, args[0])
		for {
			r, w, err := os.Pipe()
			if err != nil {
				return 1
			}
			cmd := shell(`cd "$1"; for f in .env none .git; do mkdir "$f" 2>/dev/null && echo "made $f"; rmdir "$f" 2>/dev/null && echo "removed $f"; (echo x >"$f/x") 2>/dev/null && echo "wrote $f"; done; exit 0`, args[0])
			cmd.Policy, cmd.Files = &p, []*os.File{nil, w}
			c, err := l.Start(cmd)
			w.Close()
			if err != nil {
				if !errors.Is(err, ErrClosed) {
					fmt.Println("refused", err)
				}
				continue
			}
			said, _ := io.ReadAll(r)
			r.Close()
			<-c.Done()
			c.Release()
			fmt.Printf("ended %q\n", said)
		}
	}
}

// denier is the test's handle of such a supervisor.
type denier struct {
	cmd   *exec.Cmd
	in    io.Closer
	lines *bufio.Scanner
}

func newDenier(t *testing.T, dir string) *denier {
	t.Helper()
	d := &denier{cmd: exec.Command("/proc/self/exe", dir)}
	d.cmd.Env = []string{quickExit, roleVar + "=denies", "PATH=/usr/bin:/bin"}
	d.cmd.Stderr = os.Stderr
	in, err := d.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := d.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d.in, d.lines = in, bufio.NewScanner(out)
	return d
}

// next waits for a command to end, and reports unexpected output; it returns false if
// the supervisor has ended.
func (d *denier) next(t *testing.T) bool {
	if !d.lines.Scan() {
		return false
	}
	if line := d.lines.Text(); line != `ended ""` {
		t.Error(line)
	}
	return true
}

func (d *denier) kill() {
	_ = d.cmd.Process.Kill()
	_ = d.cmd.Wait() // killed
}

// listing returns the content of a folder, with modes.
func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		}
		info, err := e.Info()
		if err == nil {
			fmt.Fprintf(&out, "%s %s\n", strings.TrimPrefix(path, dir), info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Two supervisors deny missing names in one folder; one is killed repeatedly, and the
// test replaces a parent folder meanwhile: no placeholder stays, nothing else changes,
// every start succeeds, and no denied name is created.
func TestPlaceholdersComeAndGo(t *testing.T) {
	confines(t, policy.NoCgroup)
	dir := ground(t)
	p, out := dir+"/p", dir+"/out"
	for _, d := range []string{p + "/d", out, out + "/in"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// rmdir cannot remove a folder with content instead of a placeholder.
	if err := os.WriteFile(p+"/d/keep", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, outside := listing(t, p), listing(t, out)

	stop := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() { // like a confined host with the same folder
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = syscall.Rename(p+"/d", p+"/e")
			_ = os.Symlink("../out", p+"/d")
			if st, err := os.Lstat(p + "/d"); err == nil && st.Mode()&fs.ModeSymlink != 0 {
				_ = os.Remove(p + "/d")
			}
			if err := syscall.Rename(p+"/e", p+"/d"); err != nil {
				t.Error(err)
				return
			}
		}
	})
	steady := newDenier(t, p)
	starts := 0
	running.Go(func() {
		for steady.next(t) {
			starts++
		}
	})
	kills := require.Rounds(60, 20)
	if testing.Short() {
		kills = 10
	}
	for range kills {
		d := newDenier(t, p)
		d.next(t)
		for range rand.IntN(3) {
			d.next(t)
		}
		<-time.After(time.Duration(rand.IntN(15_000)) * time.Microsecond) // anywhere in a start
		d.kill()
	}
	steady.in.Close()
	close(stop)
	running.Wait()
	if err := steady.cmd.Wait(); err != nil {
		t.Error(err)
	}
	t.Logf("%d starts beside %d kills", starts, kills)
	if starts < kills {
		t.Errorf("only %d starts", starts)
	}
	if !eventually(func() bool { return listing(t, p) == before }) {
		t.Errorf("left:\n%swithout:\n%s", listing(t, p), before)
	}
	if now := listing(t, out); now != outside {
		t.Errorf("outside there is\n%sand was\n%s", now, outside)
	}
}

// A placeholder in a user's folder has the user as owner, and the user can take the
// name.
func TestPlaceholderIsHarmless(t *testing.T) {
	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	dir := ground(t)
	if os.Getuid() == 0 {
		if err := os.Chown(dir, 4242, 4242); err != nil {
			t.Fatal(err)
		}
	}
	cmd := shell("sleep 1000")
	cmd.Policy = missingIn(strict(t), dir)
	c, err := l.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Release()
	around, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	owner, group, _ := sys.OwnersOf(around)
	for _, name := range []string{".env", "none", "d", ".git"} {
		st, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if uid, gid, _ := sys.OwnersOf(st); !sys.Placeholder(filepath.Join(dir, name), st) || uid != owner || gid != group {
			t.Errorf("%s: %s of %d:%d", name, st.Mode(), uid, gid)
		}
	}
	// The user takes a name, removes a placeholder, and has an own folder like one.
	if err := errors.Join(os.WriteFile(dir+"/.git/HEAD", nil, 0o600), os.Remove(dir+"/d"), os.Mkdir(dir+"/d", 0o755)); err != nil {
		t.Fatal(err)
	}
	if err := c.KillTree(); err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	c.Release()
	want := " drwxr-xr-x\n/.git drwxr-xr-x\n/.git/HEAD -rw-------\n/d drwxr-xr-x\n"
	if !eventually(func() bool { return listing(t, dir) == want }) {
		t.Errorf("there is\n%s", listing(t, dir))
	}
}

// A file instead of the folder of a denied name neither lets that name be created nor
// fails later starts.
func TestDeniedBelowAFile(t *testing.T) {
	l := weakly(t, "")
	confines(t, policy.NoCgroup)
	dir := ground(t)
	if err := os.Mkdir(dir+"/d", 0o755); err != nil {
		t.Fatal(err)
	}
	for i, life := range []struct{ script, want string }{
		{`echo x >"$1/d/x" || echo kept; rmdir "$1/d" || echo held`, "kept held"},
		{`cat "$1/d"; rm -f "$1/d"; mv "$1/d" "$1/e"; mkdir "$1/d"; echo x >"$1/d/x"; [ -d "$1/d" ] || echo file`, "file"},
		{`rm -f "$1/d"; [ -e "$1/d" ] && echo held`, "held"},
	} {
		cmd := shell("exec 2>/dev/null; "+life.script+"; exit 0", dir)
		cmd.Policy = strict(t)
		cmd.Policy.Write, cmd.Policy.Deny = []string{dir}, []string{dir + "/d/x"}
		c, out := start(t, l, cmd)
		var said []string
		for out.Scan() {
			said = append(said, out.Text())
		}
		wait(t, c)
		c.Release()
		if got := strings.Join(said, " "); got != life.want {
			t.Errorf("life %d says %q, want %q", i, got, life.want)
		}
		if i > 0 {
			continue
		}
		// Another process that may write there, such as another host, can do this.
		if !eventually(func() bool { return os.Remove(dir+"/d") == nil }) {
			t.Fatal("the folder cannot be removed")
		}
		write(t, dir+"/d", "a file")
	}
}

// The next start removes placeholders of a supervisor that was killed together with
// the helper that removes placeholders.
func TestPlaceholderOfTheDead(t *testing.T) {
	confines(t, policy.NoCgroup)
	dir := ground(t)
	d := newDenier(t, dir)
	held := func() bool { return strings.Contains(listing(t, dir), "/.env") }
	if !eventually(held) {
		t.Fatal("no placeholder")
	}
	if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for _, h := range helpersOf(d.cmd.Process.Pid) {
		if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.pid)); err == nil && strings.Contains(string(b), "placeholders") {
			if err := syscall.Kill(h.pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
	d.kill()
	was := held()
	t.Logf("left behind: %v", was)
	l := weakly(t, "")
	if out, e := output(t, l, missingIn(strict(t), dir), `cd "$1"; mkdir none; echo x >.env; echo x >.git/x; exit 0`, dir); e.Code != 0 || strings.Count(out, "\n") != 3 {
		t.Errorf("%+v: %s", e, out)
	}
	if !eventually(func() bool { return listing(t, dir) == " drwxr-xr-x\n" }) {
		t.Errorf("there is\n%s", listing(t, dir))
	}
}

// A start succeeds although another process keeps the lock for the removal of
// placeholders.
func TestPlaceholderIsLockedByAStranger(t *testing.T) {
	confines(t, policy.NoCgroup)
	l := weakly(t, "")
	dir := ground(t)
	if err := os.Mkdir(dir+"/.env", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/.env", 0o755|fs.ModeSticky); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir + "/.env")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := sys.TryLock(int(f.Fd())); err != nil {
		t.Fatal(err)
	}
	p := strict(t)
	p.Write, p.Deny = []string{dir}, []string{dir + "/.env"}
	if out, e := output(t, l, p, `echo x >"$1/.env"; exit 0`, dir); e.Code != 0 || strings.Count(out, "\n") != 1 {
		t.Errorf("%+v: %s", e, out)
	}
	if !eventually(func() bool { return listing(t, dir) == " drwxr-xr-x\n" }) {
		t.Errorf("there is\n%s", listing(t, dir))
	}
}

// When the helper that removes placeholders is killed, its successor gets all of them.
func TestSweeperIsReplaced(t *testing.T) {
	confines(t, policy.NoCgroup)
	l := weakly(t, "")
	dir := ground(t)
	start := func() *Child {
		cmd := shell("sleep 1000")
		cmd.Policy = missingIn(strict(t), dir)
		c, err := l.Start(cmd)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.KillTree(); <-c.Done(); c.Release() })
		return c
	}
	first := start()
	s := &l.impl.(*base).confine.sweeper
	old := s.proc.pid
	if err := s.proc.signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	start()
	if s.proc.pid == old {
		t.Error("it was not replaced")
	}
	_ = first.KillTree()
	<-first.Done()
	first.Release()
	if !strings.Contains(listing(t, dir), "/.env") {
		t.Error("a placeholder was removed that another life needs")
	}
}
