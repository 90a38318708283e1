package sys

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

const (
	testFailed = 'f'
	testEnded  = 'e'
)

// nursed starts a nurse with the scripts of f, and returns its first report.
func nursed(t *testing.T, f func(n *Nurse)) (*Nurse, byte, int32, Exit) {
	t.Helper()
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	n := NewNurse()
	t.Cleanup(n.Free)
	n.Sock, n.Failed, n.Ended = 3, testFailed, testEnded
	fd := int(null.Fd())
	n.First.Step("descriptors")
	n.First.Replace([]int{fd, fd, fd, int(theirs.Fd())})
	f(n)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, pidfd, err := n.Start(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	defer Reap(pid)
	defer Close(pidfd)
	var r ExitRecord
	if _, err := ours.Read(r[:]); err != nil {
		t.Fatal(err)
	}
	kind, errno, e := r.Exit()
	return n, kind, errno, e
}

func command(t *testing.T, n *Nurse, path string, args ...string) {
	t.Helper()
	n.Command.Step("descriptors")
	n.Command.Descriptors([]int{0, 1, 2})
	if err := n.Command.Exec(path, append([]string{path}, args...), nil); err != nil {
		t.Fatal(err)
	}
}

func TestNurseReportsTheEndOfItsCommand(t *testing.T) {
	_, kind, _, e := nursed(t, func(n *Nurse) { command(t, n, "/bin/sh", "-c", "exit 7") })
	if kind != testEnded || e.Code != 7 {
		t.Errorf("%q %+v", kind, e)
	}
	_, kind, _, e = nursed(t, func(n *Nurse) { command(t, n, "/bin/sh", "-c", "kill -9 $$") })
	if kind != testEnded || e.Signal != int(syscall.SIGKILL) {
		t.Errorf("%q %+v", kind, e)
	}
}

// A failure must name the step and the errno, whichever script the step belongs to.
func TestNurseNamesTheStepThatFails(t *testing.T) {
	missing := t.TempDir() + "/missing"
	for _, c := range []struct {
		script func(n *Nurse) *Script
		exec   string
	}{
		{func(n *Nurse) *Script { return n.First }, "/bin/true"},
		{func(n *Nurse) *Script { return n.Command }, "/bin/true"},
		{func(n *Nurse) *Script { return n.Then }, "/bin/true"},
		{nil, missing},
	} {
		want := "exec"
		n, kind, errno, e := nursed(t, func(n *Nurse) {
			if c.script != nil {
				want = "enter the missing folder"
				s := c.script(n)
				s.Step(want)
				if err := s.Chdir(missing); err != nil {
					t.Fatal(err)
				}
				s.Step("after it")
			}
			command(t, n, c.exec)
		})
		if kind != testFailed {
			t.Fatalf("a report %q", kind)
		}
		var se *ScriptError
		if err := n.Failure(errno, e); !errors.As(err, &se) || se.Step != want || se.Err != syscall.ENOENT {
			t.Errorf("%v is not %s: no such file", err, want)
		}
	}
}

// The result of a call can be an argument of later ones, a tolerated error is not a
// failure, and a call can be skipped.
func TestScriptUsesResults(t *testing.T) {
	dir := t.TempDir()
	var s Script
	s.Step("script")
	root := s.opens(s.add(unix.SYS_OPENAT, atCWD, s.text(dir), unix.O_DIRECTORY|unix.O_CLOEXEC))
	for range 2 { // the second time it exists
		if err := s.MakeDir(root, "made", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	made, err := s.OpenIn(root, "made")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.MakeText(made, "text", 0o644, "hello"); err != nil {
		t.Fatal(err)
	}
	if err := s.MakeLink("text", made, "link"); err != nil {
		t.Fatal(err)
	}
	s.Close(made)
	s.Close(root)
	if step, errno := s.run(); step >= 0 {
		t.Fatal(step, errno)
	}
	if b, err := os.ReadFile(dir + "/made/link"); err != nil || string(b) != "hello" {
		t.Errorf("%q, %v", b, err)
	}
}

// A nurse must have nothing of the memory of the process that it is a copy of, also
// with long scripts.
func TestNurseUnmapsMemory(t *testing.T) {
	if !CanRest {
		t.Skip("with cgo it keeps that memory")
	}
	for _, more := range []uintptr{0, pieceSize + 16} {
		unmapsMemory(t, more)
	}
}

// unmapsMemory starts a nurse whose scripts take more additional bytes.
func unmapsMemory(t *testing.T, more uintptr) {
	t.Helper()
	out := t.TempDir() + "/maps"
	_, kind, errno, _ := nursed(t, func(n *Nurse) {
		command(t, n, "/bin/true")
		s := n.Then
		n.First.alloc(more)
		s.Step("it can be looked at")
		s.add(unix.SYS_PRCTL, unix.PR_GET_DUMPABLE).least = 1
		s.Step("maps")
		const size = 64 << 10
		text := uintptr(s.alloc(size))
		in := s.opens(s.add(unix.SYS_OPENAT, atCWD, s.text("/proc/self/maps"), unix.O_RDONLY))
		to := s.opens(s.add(unix.SYS_OPENAT, atCWD, s.text(out), unix.O_CREAT|unix.O_WRONLY, 0o600))
		s.add(unix.SYS_READ, 0, text, size).given(0, in).least = 1
		s.add(unix.SYS_WRITE, 0, text, size).given(0, to)
	})
	if kind != testEnded {
		t.Fatalf("a report %q: %v", kind, syscall.Errno(errno))
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	keep, _, _ := program()
	maps := strings.TrimRight(string(b), "\x00")
	for line := range strings.Lines(maps) {
		m, ok := parseMapping([]byte(strings.TrimSpace(line)))
		kept := func(k [2]uintptr) bool { return k[0] <= m.start && m.end <= k[1] }
		if scripts := 4*pieceSize + more; !ok || !slices.ContainsFunc(keep, kept) && m.end-m.start > scripts {
			t.Errorf("it has %s", line)
		}
	}
	if !strings.Contains(maps, "r-xp") {
		t.Errorf("it has %q", maps)
	}
}
