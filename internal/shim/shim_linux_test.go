//go:build !hostsup_posix

package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/freezer"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/shim/process"
	"github.com/hostsup/hostsup/internal/sys"
)

// shell starts a shim of a shell script that survives, which the end of the test ends.
func shell(t *testing.T, script string) *Conn {
	t.Helper()
	c, err := Start(Options{
		Folder: filepath.Join(t.TempDir(), strings.Repeat("a long name ", 12), "shim"), Name: "host.1",
		Path: "/bin/sh", Args: []string{"sh", "-c", script}, Env: []string{"PATH=/bin:/usr/bin"}, Survive: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(t, c) })
	return c
}

// release ends the shim that c was connected to, by a new connection if c has ended.
func release(t *testing.T, c *Conn) {
	t.Helper()
	select {
	case <-c.Lost():
		next := reopen(t, c.folder)
		if next == nil {
			if err := Remove(c.folder); err != nil {
				t.Error(err)
			}
			return
		}
		next.reaped, c = c.reaped, next
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if err := c.Release(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.folder); err == nil {
		t.Errorf("%s is left behind", c.folder)
	}
}

// reopen connects as the next client; the one before has just closed its connection. It
// returns nil if the shim has ended.
func reopen(t *testing.T, folder string) *Conn {
	t.Helper()
	var c *Conn
	poll.Until(t, 20*time.Second, "the next client connects", func() bool {
		var err error
		c, err = Open(folder)
		if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrGone) {
			t.Error(err)
		}
		return !errors.Is(err, ErrBusy)
	})
	return c
}

func runs(pid int) bool {
	st, err := sys.ReadStat(pid)
	return err == nil && !st.Ended()
}

func line(t *testing.T, r *bufio.Reader) string {
	t.Helper()
	s, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("%q, %v", s, err)
	}
	return strings.TrimSpace(s)
}

// number returns the number on the next line.
func number(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	n, err := strconv.Atoi(line(t, r))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkEnded fails the test for each of the processes that runs.
func checkEnded(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d is left", pid)
		}
	}
}

// TestTheEndIsKept has a command end while no client is connected.
func TestTheEndIsKept(t *testing.T) {
	c := shell(t, `echo begun; read line; echo "$line"; echo problem >&2; exit 9`)
	line(t, bufio.NewReader(c.Stdout()))
	if r := c.Record(); r.Name != "host.1" || r.Command.Start == 0 || !runs(r.Command.PID) || r.Cgroup != cgroupOf(os.Getpid()) {
		t.Errorf("record %+v", r)
	}
	if err := c.Stdout().Ack(6); err != nil {
		t.Error(err)
	}
	if err := c.Send([]byte("hel")); err != nil {
		t.Error(err)
	}
	if err := c.Send([]byte("lo\n")); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	poll.Until(t, 20*time.Second, "the command ends", func() bool { return !runs(c.Record().Command.PID) })
	for range 3 { // until it is released
		next := reopen(t, c.folder)
		<-next.Gone()
		if e := next.Exit(); e.Code != 9 || e.Usage.MaxRSS == 0 {
			t.Errorf("exit %+v", e)
		}
		out, err := io.ReadAll(next.Stdout())
		errs, err2 := io.ReadAll(next.Stderr())
		if string(out) != "hello\n" || string(errs) != "problem\n" || errors.Join(err, err2) != nil {
			t.Errorf("%q, %q, %v, %v", out, errs, err, err2)
		}
		if next.Input() != 6 || next.Stdout().From() != 6 || next.Stderr().From() != 0 {
			t.Errorf("%d, %d, %d", next.Input(), next.Stdout().From(), next.Stderr().From())
		}
		if err := next.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHangup ends a Read and a Send that wait. The error output and the end of the command still come.
func TestHangup(t *testing.T) {
	c := shell(t, `read line; echo "$line" >&2; sleep 1000`)
	if sent, err := c.TrySend([]byte("a line\n")); !sent || err != nil {
		t.Errorf("%v, %v", sent, err)
	}
	waits := make(chan error, 2)
	go func() { // ends with Hangup
		_, err := c.Stdout().Read(make([]byte, 1))
		waits <- err
	}()
	go func() { // likewise: the command reads one line, the pipe and the shim hold some of the rest
		for {
			if err := c.Send(make([]byte, 60<<10)); err != nil {
				waits <- err
				return
			}
		}
	}()
	if got := line(t, bufio.NewReader(c.Stderr())); got != "a line" {
		t.Errorf("%q", got)
	}
	c.Hangup()
	for range 2 {
		if err := <-waits; !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	}
	if sent, err := c.TrySend([]byte("x")); sent || !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v, %v", sent, err)
	}
	if err := c.Kill(); err != nil {
		t.Error(err)
	}
	<-c.Gone()
	if e := c.Exit(); e.Signal != int(syscall.SIGKILL) {
		t.Errorf("%+v", e)
	}
}

// TestHalfAMessageIsDropped has a client end in the middle of its messages.
func TestHalfAMessageIsDropped(t *testing.T) {
	c := shell(t, "cat")
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	whole, half := "one whole message;", strings.Repeat("x", 40<<10)
	for _, cut := range []int{1, sys.RelayOrderSize - 1, sys.RelayOrderSize, sys.RelayOrderSize + 1, sys.RelayOrderSize + len(half) - 1} {
		sock := reopen(t, c.folder)
		raw := message(whole)
		raw = append(raw, message(half)[:cut]...)
		if _, err := sock.sock.Write(raw); err != nil {
			t.Fatal(err)
		}
		if err := sock.Close(); err != nil {
			t.Error(err)
		}
	}
	last := reopen(t, c.folder)
	if err := errors.Join(last.Send([]byte("end")), last.CloseInput()); err != nil {
		t.Error(err)
	}
	out, err := io.ReadAll(last.Stdout())
	if want := strings.Repeat(whole, 5) + "end"; string(out) != want || err != nil {
		t.Errorf("the command read %d bytes %.200q (%v), expected %q", len(out), out, err, want)
	}
	last.Close()
}

// message is what Send writes.
func message(text string) []byte {
	b := make([]byte, sys.RelayOrderSize)
	b[0] = sys.RelayInput
	b[4], b[5], b[6] = byte(len(text)), byte(len(text)>>8), byte(len(text)>>16)
	return append(b, text...)
}

// TestWithoutSurviveTheTreeDies ends the only client of a command, which has children in
// sessions of their own, that ignore signals, and without a parent.
func TestWithoutSurviveTheTreeDies(t *testing.T) {
	c := shell(t, `trap '' TERM HUP; for i in 1 2 3; do (setsid sh -c 'sleep 1000 & echo $!; sleep 1000' &); done; echo $$; sleep 1000`)
	out := bufio.NewReader(c.Stdout())
	var pids []int
	for range 4 {
		pids = append(pids, number(t, out))
	}
	if err := c.Survive(false); err != nil {
		t.Error(err)
	}
	c.Close()
	<-c.reaped
	checkEnded(t, pids)
	if _, err := Open(c.folder); !errors.Is(err, ErrGone) {
		t.Errorf("the next client: %v", err)
	}
}

// TestKilledCommandCanBeRead kills a command, and reads what it had said.
func TestKilledCommandCanBeRead(t *testing.T) {
	c := shell(t, `sleep 1000 & echo $!; i=0; while :; do echo line $i; i=$((i+1)); done`)
	out := bufio.NewReader(c.Stdout())
	child := number(t, out)
	if err := c.Kill(); err != nil {
		t.Error(err)
	}
	<-c.Gone()
	if e := c.Exit(); e.Signal != int(syscall.SIGKILL) || runs(child) {
		t.Errorf("exit %+v, child runs: %v", e, runs(child))
	}
	for i := 0; ; i++ {
		s, err := out.ReadString('\n')
		if err == io.EOF {
			break
		}
		if err != nil || s != "line "+strconv.Itoa(i)+"\n" {
			t.Fatalf("line %d: %q, %v", i, s, err)
		}
		if err := c.Stdout().Ack(1 << 60); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCommandThatDoesNotEnd kills a command that the kernel does not end for a while. The
// shim is replaced by a process that only kills, which holds the folder until that is done.
func TestCommandThatDoesNotEnd(t *testing.T) {
	c := shell(t, "echo up; exec sleep 1000")
	line(t, bufio.NewReader(c.Stdout()))
	pid := c.Record().Command.PID
	thaw := freezer.Freeze(t, pid)
	if err := c.Kill(); err != nil {
		t.Error(err)
	}
	<-c.Lost()
	if _, err := Open(c.folder); !errors.Is(err, ErrNotReady) {
		t.Errorf("the next client, while the command runs: %v", err)
	}
	if !runs(pid) {
		t.Error("the command was not frozen")
	}
	thaw()
	<-c.reaped
	if runs(pid) {
		t.Error("the command is left")
	}
	if _, err := Open(c.folder); !errors.Is(err, ErrGone) {
		t.Errorf("the next client, afterwards: %v", err)
	}
}

// TestManyDescendants ends the only client of a command with descendants in sessions of
// their own.
func TestManyDescendants(t *testing.T) {
	c := shell(t, `echo up; for i in 1 2 3 4; do (for j in 1 2 3 4 5 6 7 8 9 10; do setsid sleep 1000 & done; exec sleep 1000) & done; wait`)
	line(t, bufio.NewReader(c.Stdout()))
	r := c.Record()
	poll.Until(t, 20*time.Second, "the descendants run", func() bool {
		pids, err := sys.Descendants(r.Command.PID)
		return err == nil && len(pids) >= 44
	})
	pids, err := sys.Descendants(r.Shim.PID)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Survive(false); err != nil {
		t.Error(err)
	}
	c.Close()
	<-c.reaped
	checkEnded(t, pids)
}

// TestSignal sends a signal that the command handles.
func TestSignal(t *testing.T) {
	c := shell(t, `trap 'echo caught; exit 4' USR1; echo ready; while :; do read line <&- ; sleep 0.01; done 2>/dev/null`)
	out := bufio.NewReader(c.Stdout())
	line(t, out)
	if err := c.Signal(syscall.SIGUSR1); err != nil {
		t.Error(err)
	}
	if s := line(t, out); s != "caught" {
		t.Errorf("%q", s)
	}
	<-c.Exited()
	if c.Exit().Code != 4 {
		t.Errorf("exit %+v", c.Exit())
	}
}

// TestOneClientAtATime has a second client refused, and the first one go on.
func TestOneClientAtATime(t *testing.T) {
	c := shell(t, "cat")
	if _, err := Open(c.folder); !errors.Is(err, ErrBusy) {
		t.Errorf("a second client: %v", err)
	}
	if err := Remove(c.folder); !errors.Is(err, ErrBusy) {
		t.Errorf("Remove: %v", err)
	}
	if err := c.Send([]byte("still here\n")); err != nil {
		t.Error(err)
	}
	if s := line(t, bufio.NewReader(c.Stdout())); s != "still here" {
		t.Errorf("%q", s)
	}
}

// TestKilledShimTakesItsCommandAlong kills the shim itself.
func TestKilledShimTakesItsCommandAlong(t *testing.T) {
	c := shell(t, "echo up; exec sleep 1000")
	line(t, bufio.NewReader(c.Stdout()))
	r := c.Record()
	if err := syscall.Kill(r.Shim.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.Lost()
	poll.Until(t, 20*time.Second, "the command ends", func() bool { return !runs(r.Command.PID) })
	if _, err := c.Stdout().Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
		t.Errorf("Read: %v", err)
	}
	if err := c.Send([]byte("x")); !errors.Is(err, ErrLost) {
		t.Errorf("Send: %v", err)
	}
	c.Close()
	<-c.reaped
	if _, err := Open(c.folder); !errors.Is(err, ErrGone) {
		t.Errorf("Open: %v", err)
	}
}

// TestOrphansAreReaped has a command make orphans.
func TestOrphansAreReaped(t *testing.T) {
	c := shell(t, `i=0; while [ $i -lt 50 ]; do i=$((i+1)); (:& :); done; echo done; exec sleep 1000`)
	line(t, bufio.NewReader(c.Stdout()))
	r := c.Record()
	poll.Until(t, 20*time.Second, "the command is the only child", func() bool {
		pids, err := sys.Children(r.Shim.PID)
		return err == nil && slices.Equal(pids, []int{r.Command.PID})
	})
}

// TestStrangersAreNotConnected puts another process in the place of a shim.
func TestStrangersAreNotConnected(t *testing.T) {
	c := shell(t, "cat")
	real := c.Record()
	dir := t.TempDir()
	lock, err := os.Create(filepath.Join(dir, lockFile))
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := Open(dir); !errors.Is(err, ErrGone) {
		t.Errorf("nothing locked: %v", err)
	}
	if err := sys.Lock(lock); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrNotReady) {
		t.Errorf("no record: %v", err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, process.SocketFile))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	self, err := processOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []Process{real.Shim, {PID: self.PID, Start: self.Start + 1}} {
		r := real
		r.Shim = p
		if err := r.write(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(dir); !errors.Is(err, ErrStranger) {
			t.Errorf("this process in the place of %+v: %v", p, err)
		}
	}
	b, _ := json.Marshal(Record{Version: RecordVersion + 1})
	if err := os.WriteFile(filepath.Join(dir, RecordFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir); !errors.Is(err, ErrVersion) {
		t.Errorf("a later version: %v", err)
	}
}

// TestRefusedStartsLeaveNothing starts what cannot be started.
func TestRefusedStartsLeaveNothing(t *testing.T) {
	dir := t.TempDir()
	good := Options{Folder: dir + "/s", Name: "h", Path: "/bin/true", Args: []string{"true"}}
	for name, c := range map[string]struct {
		change func(*Options)
		want   error
	}{
		"no program":      {func(o *Options) { o.Path = dir + "/none" }, syscall.ENOENT},
		"no permission":   {func(o *Options) { o.Path = "/etc/passwd" }, syscall.EACCES},
		"no work folder":  {func(o *Options) { o.Dir = dir + "/none" }, syscall.ENOENT},
		"relative folder": {func(o *Options) { o.Folder = "s" }, syscall.EINVAL},
		"folder in use":   {func(o *Options) { o.Folder = dir }, os.ErrExist},
		"long":            {func(o *Options) { o.Args = []string{strings.Repeat("x", 20<<20)} }, syscall.E2BIG},
	} {
		o := good
		c.change(&o)
		if conn, err := Start(o); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, expected %v", name, err, c.want)
			if err == nil {
				_ = conn.Release(t.Context())
			}
		}
		if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
			t.Errorf("%s: left %q", name, left)
		}
	}
}

// TestTooLong sends a message, and has one come, that is longer than Options.Most.
func TestTooLong(t *testing.T) {
	c, err := Start(Options{
		Folder: filepath.Join(t.TempDir(), "s"), Name: "h", Path: "/bin/sh", Args: []string{"sh", "-c", "exec cat"},
		Env: []string{"PATH=/bin:/usr/bin"}, Most: 200 << 10,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer release(t, c)
	if err := c.Send(make([]byte, 200<<10+1)); !errors.Is(err, ErrTooLong) {
		t.Errorf("Send: %v", err)
	}
	for range 3 { // more than Most, and the window of stdin
		if err := c.Send(make([]byte, 100<<10)); err != nil {
			t.Fatal(err)
		}
	}
	n, err := io.Copy(io.Discard, c.Stdout())
	if !errors.Is(err, ErrTooLong) || n < 200<<10 || n > 204<<10 {
		t.Errorf("%d bytes without an acknowledgement, %v", n, err)
	}
}
