//go:build !hostsup_posix

package denial

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const observedArg = "denial-observed"

// observed runs this program as the child of a test: it installs the observer's
// filter, sends the listener through descriptor 3 and executes the command.
func observed() {
	runtime.LockOSThread()
	fail := func(what string, err error) {
		fmt.Fprintln(os.Stderr, what, err)
		os.Exit(99)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, 38, 1, 0, 0, 0, 0); errno != 0 {
		fail("no_new_privs", errno)
	}
	calls := WatchedCalls(true)
	if os.Getenv("REFUSE") != "" {
		calls = append(calls, sys.WatchedCall{NR: syscall.SYS_PTRACE}, sys.WatchedCall{NR: syscall.SYS_MOUNT})
	}
	p := sys.WatchProgram(calls)
	l, err := sys.WatchThread(p)
	if err != nil {
		fail("seccomp", err)
	}
	if err := sys.SendFD(3, []byte("x"), l); err != nil {
		fail("sendmsg", err)
	}
	syscall.CloseOnExec(3)
	fail("exec", syscall.Exec(os.Args[2], os.Args[2:], os.Environ()))
}

// watch runs a command with an observer and returns the reports.
func watch(t *testing.T, env []string, dir string, argv ...string) (seen []Denial, out string, err error) {
	t.Helper()
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	cmd := exec.Command("/proc/self/exe", append([]string{observedArg}, argv...)...)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LC_ALL=C"}, env...)
	cmd.Dir = dir
	var b strings.Builder
	cmd.Stdout, cmd.Stderr = &b, &b
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	_ = ours.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, fd, err := sys.RecvFD(ours, make([]byte, 1))
	if err != nil || fd < 0 {
		_ = cmd.Wait()
		if strings.Contains(b.String(), "seccomp") {
			require.Missing(t, "observing: %s", b.String())
		}
		t.Fatal(fd, err, b.String())
	}
	var mu sync.Mutex
	o, err := Observe(fd, nil, func(d Denial) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	err = cmd.Wait()
	kill.Stop()
	select {
	case <-o.done: // no process is left
	case <-time.After(30 * time.Second):
		t.Error("the observer does not end")
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return seen, b.String(), err
}

func has(list []Denial, kind Kind, path string) bool {
	return slices.ContainsFunc(list, func(d Denial) bool { return d.Kind == kind && d.Path == path })
}

func TestObserverSeesWhatAProgramTouches(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/in", []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	seen, out, err := watch(t, nil, dir, "/bin/sh", "-c",
		"cat in; cat ./in >out; mkdir sub; mv out sub/moved; ln -s in link; chmod 600 in; rm link; cat missing; test -e "+dir+"/../x")
	if !strings.HasPrefix(out, "secret\n") {
		t.Fatalf("%q %v", out, err)
	}
	for _, want := range []Denial{
		{Kind: Exec, Path: "/bin/sh"}, {Kind: Read, Path: dir + "/in"}, {Kind: Write, Path: dir + "/out"},
		{Kind: Write, Path: dir + "/sub"}, {Kind: Write, Path: dir + "/sub/moved"}, {Kind: Write, Path: dir + "/link"},
		{Kind: Write, Path: dir + "/in"}, {Kind: Read, Path: dir + "/missing"}, {Kind: Stat, Path: filepath.Dir(dir) + "/x"},
	} {
		if !has(seen, want.Kind, want.Path) {
			t.Errorf("no %s %s", want.Kind, want.Path)
		}
	}
	libc := slices.ContainsFunc(seen, func(d Denial) bool { return d.Kind == Exec && strings.Contains(d.Path, "libc.so") })
	if _, err := filepath.Glob("/lib/*/libc.so.6"); err == nil && !libc {
		t.Error("the executable mapping of the library is not reported")
	}
	for _, d := range seen {
		if d.Source != Seccomp || !d.Hint || d.Count != 1 || d.First.IsZero() || d.Suggest == "" && !within(d.Path, "/proc") && !within(d.Path, "/dev") {
			t.Fatalf("%+v", d)
		}
		if d.Path == dir+"/sub/moved" && d.Suggest != policy.Line("write", dir+"/sub") {
			t.Errorf("%+v", d)
		}
	}
	if t.Failed() {
		for _, d := range seen {
			t.Log(d)
		}
	}
}

func TestObserverSeesConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			_ = c.Close()
		}
	}()
	bash, err := exec.LookPath("bash")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	host, port, _ := net.SplitHostPort(l.Addr().String())
	seen, out, err := watch(t, nil, "/", bash, "-c", "exec 5<>/dev/tcp/"+host+"/"+port)
	if err != nil {
		t.Fatal(out, err)
	}
	if !has(seen, Connect, l.Addr().String()) {
		t.Error(seen)
	}
}

// A call that is not watched is refused and reported.
func TestObserverRefusesWhatIsNotWatched(t *testing.T) {
	mount, err := exec.LookPath("mount")
	if err != nil {
		require.Missing(t, "%v", err)
	}
	seen, out, err := watch(t, []string{"REFUSE=1"}, "/", mount, "-n", "-i", "-t", "tmpfs", "none", t.TempDir())
	var ee *exec.ExitError
	if !errors.As(err, &ee) || os.Geteuid() == 0 && !has(seen, Syscall, "mount") && !strings.Contains(out, "permi") {
		t.Error(out, err)
	}
}

// The children fork, run at once, and kill each other during calls.
func TestObserverEndsWithTheLastProcess(t *testing.T) {
	seen, _, err := watch(t, nil, "/", "/bin/sh", "-c", "for i in 1 2 3 4 5 6 7 8; do (cat /etc/hosts /nonexistent/$i >/dev/null 2>&1; kill -9 $$) & done; wait")
	var ee *exec.ExitError
	if !errors.As(err, &ee) {
		t.Error(err)
	}
	if !has(seen, Exec, "/bin/sh") {
		t.Error(seen)
	}
}

func TestObserverIsClosedFirst(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	fd, err := syscall.Dup(int(r.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	o, err := Observe(fd, nil, func(Denial) { t.Error("a call is reported") })
	if err != nil {
		t.Fatal(err)
	}
	_ = o.Close()
	_ = o.Close()
	// An Observer on another kind of descriptor ends by itself.
	if fd, err = syscall.Dup(int(r.Fd())); err != nil {
		t.Fatal(err)
	}
	if o, err = Observe(fd, nil, func(Denial) { t.Error("a call is reported") }); err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write([]byte("x"))
	<-o.done
	_ = o.Close()
}
