package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/hostsup/hostsup/internal/leaktest"
)

// wireBetween is a proxy between a client and a server: it can cut connections, and
// can lose the client's bytes.
type wireBetween struct {
	t   *testing.T
	l   net.Listener
	all sync.WaitGroup

	mu    sync.Mutex
	to    string
	conns []net.Conn
	shut  bool // to new connections
	deaf  bool // the client's bytes are lost
	lost  int  // bytes of that
}

func newWire(t *testing.T, url string) *wireBetween {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wireBetween{t: t, l: l, to: strings.TrimPrefix(url, "ws://")}
	w.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			w.join(c)
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.cut()
		w.all.Wait()
	})
	return w
}

func (w *wireBetween) url() string { return "ws://" + w.l.Addr().String() }

func (w *wireBetween) join(client net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	server, err := net.Dial("tcp", w.to)
	if err != nil || w.shut {
		client.Close()
		if err == nil {
			server.Close()
		}
		return
	}
	w.conns = append(w.conns, client, server)
	pass := func(to, from net.Conn, loses bool) {
		defer to.Close()
		defer from.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if err != nil {
				return
			}
			w.mu.Lock()
			drop := loses && w.deaf
			if drop {
				w.lost += n
			}
			w.mu.Unlock()
			if drop {
				continue
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	w.all.Go(func() { pass(server, client, true) })
	w.all.Go(func() { pass(client, server, false) })
}

// cut ends all connections; bytes under way are lost.
func (w *wireBetween) cut() { w.change(func() {}) }

// change calls f, and ends all connections.
func (w *wireBetween) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	for _, c := range w.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	w.conns, w.deaf = nil, false
}

// lose drops the client's bytes from now on, until the next cut.
func (w *wireBetween) lose() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf, w.lost = true, 0
}

func (w *wireBetween) hasLost() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lost > 0
}

// atTerminal is hostsup exec in a process of its own, on its own terminal.
type atTerminal struct {
	t          *testing.T
	cmd        *exec.Cmd
	other, tty *os.File
	before     string // the terminal's mode at the start
	errout     bytes.Buffer
	got        []byte
	ended      chan struct{}
}

func execAt(t *testing.T, url, script string) *atTerminal {
	t.Helper()
	path, err := exec.LookPath("hostsup")
	if err != nil {
		t.Fatal(err)
	}
	a := &atTerminal{t: t, ended: make(chan struct{})}
	a.other, a.tty = terminal(t, 90)
	a.before = stty(t, a.tty)
	a.cmd = exec.Command(path, "exec", "--url", url, "--", "sh", "-c", script)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = a.tty, a.tty, &a.errout
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	a.cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0"}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(a.ended)
		_ = a.cmd.Wait() // its state tells
	}()
	t.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		<-a.ended
	})
	return a
}

// until reads the terminal's output up to a text, and drops it.
func (a *atTerminal) until(text string) (before string) {
	a.t.Helper()
	buf := make([]byte, 4096)
	for {
		if i := bytes.Index(a.got, []byte(text)); i >= 0 {
			before = string(a.got[:i])
			a.got = a.got[i+len(text):]
			return before
		}
		if err := a.other.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			a.t.Log(err)
		}
		n, err := a.other.Read(buf)
		if err != nil {
			a.t.Fatalf("%v while waiting for %q after %q", err, text, a.got)
		}
		a.got = append(a.got, buf[:n]...)
	}
}

func (a *atTerminal) types(text string) {
	a.t.Helper()
	if _, err := a.other.WriteString(text); err != nil {
		a.t.Fatal(err)
	}
}

func (a *atTerminal) signal(s syscall.Signal) {
	a.t.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		a.t.Fatal(err)
	}
}

// resize changes the size of the terminal, which its programs notice.
func (a *atTerminal) resize(rows, columns uint16) {
	a.t.Helper()
	size := [4]uint16{rows, columns}
	c, err := a.other.SyscallConn()
	if err != nil {
		a.t.Fatal(err)
	}
	var errno syscall.Errno
	if err := c.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCSWINSZ, uintptr(unsafe.Pointer(&size)))
	}); err != nil || errno != 0 {
		a.t.Fatal(err, errno)
	}
}

// ends waits for the end, and checks the exit code and the terminal's mode.
func (a *atTerminal) ends(code int) {
	a.t.Helper()
	select {
	case <-a.ended:
	case <-time.After(time.Minute):
		a.t.Fatalf("it does not end; %q", a.got)
	}
	if got := a.cmd.ProcessState.ExitCode(); got != code {
		a.t.Errorf("%v, want %d; %s", a.cmd.ProcessState, code, a.errout.String())
	}
	if after := stty(a.t, a.tty); after != a.before {
		a.t.Errorf("the terminal is left as\n%s\nit was\n%s", after, a.before)
	}
}

// A signal to the client makes the command end, and is reported by the exit code;
// the terminal is restored, and no process of the command is left.
func TestExecTerminalSignals(t *testing.T) {
	url := startExecServer(t, []string{"hostsup", "exec-server"})
	for _, c := range []struct {
		name, script string
		signals      []syscall.Signal
		code         int
	}{
		{"SIGTERM", "echo up; sleep 1000", []syscall.Signal{syscall.SIGTERM}, 128 + 15},
		{"SIGHUP", "echo up; sleep 1000", []syscall.Signal{syscall.SIGHUP}, 128 + 15},
		{"its own way to end", `trap "exit 7" TERM; echo up; while :; do sleep 0.01; done`, []syscall.Signal{syscall.SIGTERM}, 7},
		{"it does not want to end", `trap "" TERM; echo up; sleep 1000`, []syscall.Signal{syscall.SIGTERM}, 128 + 9},
		{"nor is it waited for", `trap "echo heard" TERM; echo up; while :; do sleep 0.01; done`, []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM}, 128 + 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := leaktest.NewTether(t)
			a := execAt(t, url, tree.Hold+c.script)
			a.until("up\r\n")
			if during := stty(t, a.tty); !strings.Contains(during, "-icanon") {
				t.Errorf("not raw: %s", during)
			}
			for i, s := range c.signals {
				if i > 0 { // the system merges two pending signals
					a.until("heard\r\n")
				}
				a.signal(s)
			}
			a.ends(c.code)
			if err := await(time.Minute, func() bool { return !tree.IsHeld() }); err != nil {
				t.Errorf("something of the command is left: %v", err)
			}
		})
	}
}

// While the connection is cut again and again, no input or output may be lost or
// duplicated.
func TestExecTerminalCut(t *testing.T) {
	w := newWire(t, startExecServer(t, []string{"hostsup", "exec-server"}))
	a := execAt(t, w.url(), `stty -echo; echo up; n=0; while read -r x && [ "$x" != end ]; do n=$((n+1)); echo "$n:$x:"; done; seq -f "%05.0f" 1 20000; echo down; exit 7`)
	a.until("up\r\n")
	for i := 1; i <= 20; i++ {
		if i%3 == 0 {
			w.cut()
		}
		a.types(fmt.Sprintf("word%d\r", i))
		if i%3 == 1 {
			w.cut()
		}
		if before := a.until(fmt.Sprintf("%d:word%d:\r\n", i, i)); before != "" {
			t.Errorf("before the answer to %d comes %q", i, before)
		}
	}
	a.types("end\r")
	for i := 1; i <= 20000; i++ {
		if before := a.until(fmt.Sprintf("%05d\r\n", i)); before != "" {
			t.Fatalf("before line %d comes %q", i, before)
		}
		if i%5000 == 0 {
			w.cut()
		}
	}
	a.until("down\r\n")
	a.ends(7)
	if told := a.errout.String(); strings.Contains(told, "lost") {
		t.Error(told)
	}
}

// A session that is lost when the connection is made again ends the client, which
// reports it on a restored terminal.
func TestExecTerminalSessionLost(t *testing.T) {
	w := newWire(t, startExecServer(t, []string{"hostsup", "exec-server"}))
	another := startExecServer(t, []string{"hostsup", "exec-server"})
	a := execAt(t, w.url(), "echo up; sleep 1000")
	a.until("up\r\n")
	w.change(func() { w.to = strings.TrimPrefix(another, "ws://") })
	a.ends(exitFailed)
	if told := a.errout.String(); !strings.HasPrefix(told, "hostsup: the connection was cut, and the server no longer knows the session: ") || strings.Contains(told, "\r") {
		t.Errorf("%q", told)
	}
}

// Without a connection a signal ends the client.
func TestExecTerminalSignalWithoutConnection(t *testing.T) {
	w := newWire(t, startExecServer(t, []string{"hostsup", "exec-server"}))
	a := execAt(t, w.url(), "echo up; sleep 1000")
	a.until("up\r\n")
	w.change(func() { w.shut = true })
	a.signal(syscall.SIGTERM)
	a.ends(128 + 15)
}

// The command must learn the size of the terminal even if it changed without a
// connection, or if the connection was cut before the server knew.
func TestExecTerminalSizeOverACut(t *testing.T) {
	w := newWire(t, startExecServer(t, []string{"hostsup", "exec-server"}))
	a := execAt(t, w.url(), `trap "stty size" WINCH; stty size; while :; do sleep 0.01; done`)
	a.until("24 90\r\n")
	a.resize(30, 100)
	a.until("30 100\r\n")
	w.lose()
	a.resize(31, 101)
	if err := await(time.Minute, w.hasLost); err != nil {
		t.Fatal(err)
	}
	w.cut()
	a.until("31 101\r\n")
	w.change(func() { w.shut = true })
	a.resize(32, 102)
	a.resize(33, 103)
	w.change(func() { w.shut = false })
	a.until("33 103\r\n")
	a.resize(24, 90)
	a.until("24 90\r\n")
	a.signal(syscall.SIGTERM)
	a.ends(128 + 15)
}

// A terminal that is not read must not keep the client: the second signal ends it,
// whether the first or the second ends the command.
func TestExecTerminalThatIsNotRead(t *testing.T) {
	url := startExecServer(t, []string{"hostsup", "exec-server"})
	for name, traps := range map[string]bool{"ends": false, "traps": true} {
		t.Run(name, func(t *testing.T) {
			tree, flood, asked := leaktest.NewTether(t), leaktest.NewTether(t), leaktest.NewTether(t)
			script := tree.Hold + strings.Replace(flood.Hold, "9>", "8>", 1) + strings.Replace(asked.Hold, "9>", "7>", 1)
			if traps {
				script += `trap "exec 7>&-" TERM; `
			}
			a := execAt(t, url, script+`echo up; head -c 100000 /dev/zero; exec 8>&-; while :; do sleep 0.01; done`)
			a.until("up\r\n")
			if err := await(time.Minute, func() bool { return !flood.IsHeld() }); err != nil { // more than a terminal buffers
				t.Fatal(err)
			}
			a.signal(syscall.SIGTERM)
			if err := await(time.Minute, func() bool { return !asked.IsHeld() }); err != nil {
				t.Fatal(err)
			}
			a.signal(syscall.SIGTERM)
			a.ends(128 + 15)
			if err := await(time.Minute, func() bool { return !tree.IsHeld() }); err != nil {
				t.Errorf("something of the command is left: %v", err)
			}
		})
	}
}
