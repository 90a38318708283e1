package sys

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/require"
)

func TestOwnCgroup(t *testing.T) {
	const hybrid = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`
	const unified = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"
	for _, test := range []struct {
		what, self, mounts string
		want, err          string
	}{
		{"hybrid", "9:name=systemd:/\n4:memory:/x\n0::/\n", hybrid, "/sys/fs/cgroup/unified", ""},
		{"unified", "0::/user.slice/user-1000.slice/a b\n", unified, "/sys/fs/cgroup/user.slice/user-1000.slice/a b", ""},
		{"part of it mounted", "0::/docker/abc/x\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "/sys/fs/cgroup/x", ""},
		{"another part mounted", "0::/docker/abcd\n", "30 23 0:26 /docker/abc /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "", "outside"},
		{"outside of our namespace", "0::/../x\n", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "", "outside"},
		{"escaped", "0::/x\n", `30 23 0:26 / /my\040groups rw - cgroup2 cgroup rw` + "\n", "/my groups/x", ""},
		{"v1 only", "4:memory:/x\n", hybrid, "", "no v2"},
		{"not mounted", "0::/\n", "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n", "", "no cgroup2"},
		{"nothing", "", "", "", "no v2"},
		{"nonsense", "0::/\n", "a b - cgroup2 c d\n - \n\n", "", "no cgroup2"},
	} {
		got, err := ownCgroup(test.self, test.mounts)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v", test.what, got, err)
		}
	}
}

func TestParseStat(t *testing.T) {
	const rest = ` S 17066 17067 17067 0 -1 4194304 98 0 0 0 7 5 0 0 20 0 1 0 189257 3133440 385 18446744073709551615 94134670315520 94134670335401 0`
	for _, name := range []string{"(cat)", "(a b)", "(a) S 1 (b)", "()", "(\n)"} {
		st, err := parseStat([]byte("17071 " + name + rest))
		want := Stat{Parent: 17066, Group: 17067, State: 'S', Threads: 1, RSS: 385 * pageSize, CPU: 12 * clockTick, Start: 189257}
		if err != nil || st != want {
			t.Errorf("%s: %+v, %v", name, st, err)
		}
	}
	for _, bad := range []string{"", "1", "1 (a)", "1 (a) S", "1 (a) S x y", "17071 (cat) S" + strings.Repeat(" x", 30)} {
		if st, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, st)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("17071 (cat) R 17067 17067 6881 0 -1 4194304 98 0 0 0 0 0 0 0 20 0 1 0 189257 3133440 385 1 2 3"))
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = parseStat(b) })
}

func TestProcStatOfOurselves(t *testing.T) {
	rss, _, err := ProcStat(os.Getpid())
	if err != nil || rss < 1<<20 {
		t.Errorf("%d bytes, %v", rss, err)
	}
	st, err := ReadStat(os.Getpid())
	if err != nil || st.Parent != os.Getppid() || st.Start == 0 {
		t.Errorf("%+v, %v", st, err)
	}
	if _, err := ReadStat(1 << 30); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that cannot be: %v", err)
	}
}

func sh(t *testing.T, script string, p Process) (pid, pidfd int) {
	t.Helper()
	p.Path, p.Args, p.Env = "/bin/sh", []string{"sh", "-c", script}, []string{"PATH=/usr/bin:/bin"}
	if p.Files == nil {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		p.Files = []int{int(null.Fd()), int(null.Fd()), int(null.Fd())}
	}
	pid, pidfd, err := p.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(pidfd) })
	return pid, pidfd
}

func waitPidfd(t *testing.T, pidfd int, reap bool) Exit {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) { //nolint:forbidigo // polls a condition with a deadline
		e, ended, err := PidfdWait(pidfd, reap)
		if err != nil {
			t.Fatal(err)
		}
		if ended {
			return e
		}
	}
	t.Fatal("it does not end")
	return Exit{}
}

func TestPidfd(t *testing.T) {
	if err := HavePidfd(); err != nil {
		require.Missing(t, "%v", err)
	}
	pid, fd := sh(t, "exec sleep 1000", Process{Session: true})
	if got, err := PidfdPid(fd); err != nil || got != pid {
		t.Errorf("pid %d, %v, want %d", got, err, pid)
	}
	if _, ended, err := PidfdWait(fd, true); ended || err != nil {
		t.Errorf("ended %v, %v", ended, err)
	}
	if PidfdEnded(fd) {
		t.Error("ended")
	}
	if pgid, _ := syscall.Getpgid(pid); pgid != pid {
		t.Errorf("group %d", pgid)
	}
	if err := PidfdSignal(fd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it stays a zombie until it is reaped
		if e := waitPidfd(t, fd, false); e.Signal != 9 || e.Code != -1 {
			t.Errorf("%+v", e)
		}
	}
	if !PidfdEnded(fd) {
		t.Error("not ended")
	}
	if st, err := ReadStat(pid); err != nil || st.State != 'Z' {
		t.Errorf("%c, %v", st.State, err)
	}
	if e := waitPidfd(t, fd, true); e.Signal != 9 {
		t.Errorf("%+v", e)
	}
	if _, _, err := PidfdWait(fd, true); err != syscall.ECHILD {
		t.Errorf("again: %v", err)
	}
	if err := PidfdSignal(fd, syscall.SIGKILL); err != syscall.ESRCH {
		t.Errorf("signal to an ended process: %v", err)
	}
	if got, err := PidfdPid(fd); err != nil || got != -1 {
		t.Errorf("pid of an ended process %d, %v", got, err)
	}
}

func TestExitCodes(t *testing.T) {
	for script, want := range map[string]Exit{
		"exit 0":         {},
		"exit 9":         {Code: 9},
		"kill -ABRT $$":  {Code: -1, Signal: 6},
		"kill -RTMIN $$": {Code: -1, Signal: 34},
	} {
		_, fd := sh(t, script, Process{})
		e := waitPidfd(t, fd, true)
		e.Usage, e.Core = Usage{}, false
		if e != want {
			t.Errorf("%s: %+v", script, e)
		}
		pid, _ := sh(t, script, Process{})
		for {
			e, ended, err := WaitPid(pid)
			if err != nil {
				t.Fatal(err)
			}
			if ended {
				if e.Usage, e.Core = (Usage{}), false; e != want {
					t.Errorf("%s: %+v", script, e)
				}
				break
			}
			time.Sleep(time.Millisecond) //nolint:forbidigo // polls a condition with a deadline
		}
	}
}

func TestStartFails(t *testing.T) {
	p := Process{Path: "/no/such/program", Args: []string{"x"}, Session: true, DieWithUs: true}
	if _, _, err := p.Start(); err != syscall.ENOENT {
		t.Errorf("%v", err)
	}
	kids, err := Children(os.Getpid())
	if err != nil || len(kids) != 0 {
		t.Errorf("children %v, %v", kids, err)
	}
}

func TestInheritable(t *testing.T) {
	before, err := Inheritable()
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	after, err := Inheritable()
	if want := append(slices.Clone(before), fd); err != nil || !slices.Equal(sorted(after), sorted(want)) {
		t.Errorf("%v, want %v, %v", after, want, err)
	}
}

func sorted(s []int) []int { slices.Sort(s); return s }

func TestPipe(t *testing.T) {
	for _, size := range []int{0, 4096, 1 << 20, 1 << 40} {
		r, w, err := Pipe(size)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unix.FcntlInt(w.Fd(), unix.F_GETPIPE_SZ, 0)
		want := size
		if size == 0 || size > 1<<30 {
			want = 64 << 10
		}
		// An ordinary user may have used up the share for large ones.
		if err != nil || got != want && os.Getuid() == 0 {
			t.Errorf("size %d: %d, %v", size, got, err)
		}
		r.Close()
		w.Close()
	}
}

func TestSocketPairPassesDescriptors(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	if !IsSocket(int(theirs.Fd())) {
		t.Error("not a socket")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := SendFD(int(theirs.Fd()), []byte("one"), int(w.Fd())); err != nil {
		t.Fatal(err)
	}
	w.Close()
	b := make([]byte, 10)
	n, fd, err := RecvFD(ours, b)
	if err != nil || string(b[:n]) != "one" || fd < 0 {
		t.Fatalf("%q, %d, %v", b[:n], fd, err)
	}
	got := os.NewFile(uintptr(fd), "passed")
	if flags, _, _ := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0); flags&syscall.FD_CLOEXEC == 0 {
		t.Error("it would be inherited")
	}
	if _, err := got.WriteString("through"); err != nil {
		t.Error(err)
	}
	got.Close()
	if all, err := io.ReadAll(r); err != nil || string(all) != "through" {
		t.Errorf("%q, %v", all, err)
	}
	if err := SendFD(int(theirs.Fd()), []byte("two"), -1); err != nil {
		t.Fatal(err)
	}
	if n, fd, err := RecvFD(ours, b); err != nil || string(b[:n]) != "two" || fd != -1 {
		t.Errorf("%q, %d, %v", b[:n], fd, err)
	}
	theirs.Close()
	if n, fd, err := RecvFD(ours, b); n != 0 || fd != -1 || err != nil {
		t.Errorf("at the end: %d, %d, %v", n, fd, err)
	}
	if err := ours.SetReadDeadline(time.Now().Add(-time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := RecvFD(ours, b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

func TestPeerCred(t *testing.T) {
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, err := PeerCred(s.(*net.UnixConn))
	if want := (Cred{os.Getpid(), os.Getuid(), os.Getgid()}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := PeerCred(f); err == nil {
		t.Errorf("of no socket: %+v", got)
	}
}

func TestDescendants(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	pid, fd := sh(t, `sh -c 'sleep 1000 & echo ready; wait' & sleep 1000 & wait`, Process{Files: []int{0, int(w.Fd()), 2}, Session: true})
	w.Close()
	defer func() {
		_ = Kill(-pid, syscall.SIGKILL)
		waitPidfd(t, fd, true)
	}()
	if _, err := r.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	var got []int
	for deadline := time.Now().Add(20 * time.Second); len(got) != 3 && time.Now().Before(deadline); time.Sleep(time.Millisecond) { //nolint:forbidigo // polls a condition with a deadline
		if got, err = Descendants(pid); err != nil {
			require.Missing(t, "%v", err)
		}
	}
	if len(got) != 3 || slices.Contains(got, pid) {
		t.Errorf("%v below %d", got, pid)
	}
}

func TestCgroupFolders(t *testing.T) {
	parent, err := OwnCgroup()
	if err != nil {
		require.Missing(t, "a cgroup v2 hierarchy: %v", err)
	}
	path := filepath.Join(parent, "hostsup-sys-test")
	if err := MakeCgroup(AtCWD, path); err != nil {
		require.Privilege(t, "a cgroup of its own: %v", err)
	}
	defer RemoveCgroup(AtCWD, path)
	if _, err := os.Stat(path + "/cgroup.kill"); err != nil {
		require.Missing(t, "%v", err)
	}
	dir, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(dir)
	if err := TryLock(dir); err != nil {
		t.Fatal(err)
	}
	again, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	defer Close(again)
	if err := TryLock(again); err != syscall.EWOULDBLOCK {
		t.Errorf("locked twice: %v", err)
	}
	// A process in a group below a group, as a host that runs as root can do.
	for _, name := range []string{"a", "a/b", "a/b/c"} {
		if err := MakeCgroup(dir, name); err != nil {
			t.Fatal(err)
		}
	}
	below, err := OpenDirAt(dir, "a/b/c")
	if err != nil {
		t.Fatal(err)
	}
	defer Close(below)
	pid, fd := sh(t, "exec sleep 1000", Process{Cgroup: below, Session: true})
	if pids, err := CgroupProcs(dir, "a"); err != nil || !slices.Equal(pids, []int{pid}) {
		t.Errorf("%v, %v, want %d", pids, err, pid)
	}
	if cpu, err := CgroupCPU(dir, "a"); err != nil || cpu < 0 {
		t.Errorf("%v, %v", cpu, err)
	}
	if err := RemoveCgroup(dir, "a"); err != syscall.EBUSY {
		t.Errorf("removed with a process in it: %v", err)
	}
	if err := KillCgroup(dir, "a"); err != nil {
		t.Fatal(err)
	}
	if e := waitPidfd(t, fd, true); e.Signal != 9 {
		t.Errorf("%+v", e)
	}
	if err := RemoveCgroup(dir, "a"); err != nil {
		t.Errorf("remove: %v", err)
	}
	if err := errors.Join(KillCgroup(dir, "a"), RemoveCgroup(dir, "a")); err != nil {
		t.Errorf("of one that is gone: %v", err)
	}
	if pids, err := CgroupProcs(dir, "a"); pids != nil || err != nil {
		t.Errorf("of one that is gone: %v, %v", pids, err)
	}
}

// Descriptors of this package must not be inherited by any child.
func TestNothingIsInherited(t *testing.T) {
	ours, theirs, err := SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	defer theirs.Close()
	r, w, err := Pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	pidfd, err := PidfdOpen(os.Getpid())
	if err != nil {
		require.Missing(t, "%v", err)
	}
	defer Close(pidfd)
	dir, err := OpenDir("/")
	if err != nil {
		t.Fatal(err)
	}
	defer Close(dir)
	fds, err := Inheritable()
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range []int{int(ours.Fd()), int(theirs.Fd()), int(r.Fd()), int(w.Fd()), pidfd, dir} {
		if slices.Contains(fds, fd) {
			t.Errorf("%d would be", fd)
		}
	}
	if err := exec.Command("/bin/true").Run(); err != nil {
		t.Error(err)
	}
}
