//go:build linux

package integration

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// remote is a server in a process of its own that ends with the test. It marks
// what it starts, so that a test can tell who did.
type remote struct {
	cmd  *exec.Cmd
	url  string
	stop func(syscall.Signal)
}

// serverMask is the umask of a remote, by which its files are known.
const serverMask = "027"

// codexMarked is a command that starts a server that lets its mark be known.
func codexMarked(mark string, argv ...string) []string {
	return append([]string{"/bin/sh", "-c", `umask ` + serverMask + `; MARK="$0" exec "$@"`, mark}, argv...)
}

// serve starts a server for WebSockets, by a program and flags.
func (a *agent) serve(t testing.TB, mark string, argv ...string) *remote {
	t.Helper()
	return a.serveAt(t, mark, "ws://127.0.0.1:0", argv...)
}

// serveAt starts a server and waits until it listens.
func (a *agent) serveAt(t testing.TB, mark, listen string, argv ...string) *remote {
	t.Helper()
	argv = append([]string{argv[0], "exec-server", "--listen", listen}, argv[1:]...)
	argv = codexMarked(mark, argv...)
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = a.environ(), a.path("tmp")
	return listening(t, mark, listen, cmd)
}

// listening starts a server that ends with the test and waits until it listens.
// At ws://127.0.0.1:0 it tells its address.
func listening(t testing.TB, mark, listen string, cmd *exec.Cmd) *remote {
	t.Helper()
	r := &remote{cmd: cmd}
	r.cmd.Stderr = logWriter{t}
	out, err := r.cmd.StdoutPipe()
	if err == nil {
		err = r.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceFunc(func() {
		_, _ = io.Copy(io.Discard, out) // until it has ended
		if err := r.cmd.Wait(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !exit.Sys().(syscall.WaitStatus).Signaled() {
				t.Errorf("%s: %v", mark, err)
			}
		}
	})
	r.stop = func(sig syscall.Signal) {
		_ = r.cmd.Process.Signal(sig) // it may have ended
		stop()
	}
	t.Cleanup(func() { r.stop(syscall.SIGTERM) })
	if path, ok := strings.CutPrefix(listen, "unix://"); ok {
		r.url = listen
		eventually(t, func() bool {
			c, err := net.Dial("unix", path)
			if err == nil {
				c.Close()
			}
			return err == nil
		}, "it listens at", path)
		return r
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%s tells no address: %v", mark, err)
	}
	r.url = strings.TrimSpace(line)
	return r
}

// relay stands between a client and a server and cuts their connections.
type relay struct {
	l       net.Listener
	wg      sync.WaitGroup
	mu      sync.Mutex
	network string
	to      string
	closed  bool // to those who come
	conns   []net.Conn
	taken   int // connections so far
	cuts    int
}

func newRelay(t testing.TB, network, to string) *relay {
	t.Helper()
	at := "127.0.0.1:0"
	if network == "unix" {
		at = filepath.Join(place(t, os.Getuid()), "relay")
	}
	l, err := net.Listen(network, at)
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{l: l, network: network, to: to}
	r.wg.Go(r.accept)
	t.Cleanup(func() {
		l.Close()
		r.cut()
		r.wg.Wait()
	})
	return r
}

// url is where clients find it.
func (r *relay) url() string {
	if r.network == "unix" {
		return "unix://" + r.l.Addr().String()
	}
	return "ws://" + r.l.Addr().String()
}

// turn leads those who come from now on to another server.
func (r *relay) turn(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.to = to
}

// shut turns away who comes, until it is opened again.
func (r *relay) shut(closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = closed
}

// count is how many connections it has taken, and how many it has cut.
func (r *relay) count() (taken, cuts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken, r.cuts
}

func (r *relay) accept() {
	for {
		client, err := r.l.Accept()
		if err != nil {
			return
		}
		r.join(client)
	}
}

func (r *relay) join(client net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		client.Close()
		return
	}
	server, err := net.Dial(r.network, r.to)
	if err != nil {
		client.Close()
		return
	}
	r.taken++
	r.conns = append(r.conns, client, server)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		r.wg.Go(func() {
			// Until it is cut. Not by splice, whose pipes are kept for the next time.
			_, _ = io.Copy(struct{ io.Writer }{pair[0]}, struct{ io.Reader }{pair[1]})
			pair[0].Close()
			pair[1].Close()
		})
	}
}

// cut ends all connections; what was on its way is lost.
func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		c.Close()
	}
	if len(r.conns) > 0 {
		r.cuts++
	}
	r.conns = nil
}
