package faults

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix" //nolint:depguard // mounts, which only this test makes

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
)

const (
	// hosts is how many are called. Beside them are one for attach, and some that are bad.
	hosts = 50
	// patience is how long the supervisor may take to be whole again after a fault.
	patience = 60 * time.Second
	// mark is the variable by which the processes of hosts are found; its value has the host.
	mark = "FAULTS_HOST"
)

// world is a supervisor with its hosts and clients.
type world struct {
	t      testing.TB
	dir    string // of all: the configuration, the socket, the state folder
	socket string
	state  string // on a file system of its own, if it could be mounted
	own    bool   // it was
	log    *os.File
	client *control.Client
	cmd    *exec.Cmd
	exited chan struct{} // closed when cmd has ended

	clients *clients
	base    usage
	trying  string // the faults
}

// usage is what a supervisor takes.
type usage struct {
	descriptors int
	memory      int64 // bytes
}

// newWorld starts a supervisor, its hosts and clients, which pause between calls.
func newWorld(t testing.TB, pause time.Duration) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, dir: dir, socket: filepath.Join(dir, "s.sock"), state: filepath.Join(dir, "disk", "state")}
	disk := filepath.Dir(w.state)
	if err := os.Mkdir(disk, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("faults", disk, "tmpfs", 0, "size=64m"); err == nil {
		w.own = true
		t.Cleanup(func() {
			if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
				t.Error(err)
			}
		})
	}
	if err := os.WriteFile(w.config(), []byte(w.hcl()), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	w.client = control.NewClient(w.socket)
	t.Cleanup(func() {
		if w.clients != nil {
			w.clients.stop()
		}
		w.client.Close()
		w.revive() // hosts that survive are the next one's to end
		w.end(unix.SIGTERM)
		_ = w.log.Close()
		if left := w.marked(); len(left) > 0 {
			t.Errorf("processes of hosts are left: %v", left)
		}
		if t.Failed() {
			b, _ := os.ReadFile(w.log.Name())
			t.Logf("the end of the supervisor's log:\n%s", b[max(0, len(b)-8000):])
		}
	})
	w.start()
	w.clients = newClients(w, pause)
	w.whole(time.Now())
	w.base = w.usage()
	return w
}

func (w *world) config() string { return filepath.Join(w.dir, "config.hcl") }

// hcl is the configuration.
func (w *world) hcl() string {
	self, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "supervisor {\n  state_dir = %q\n}\nexec_server {\n  listen = %q\n}\n", w.state, "unix://"+w.execSocket())
	host := func(name, command, more string) {
		fmt.Fprintf(&b, `host %q {
  command = %s
  env     = { %s = %q%s }
  restart {
    max_crashes  = 1000
    retry_failed = "1s"
    backoff {
      initial = "10ms"
      max     = "200ms"
    }
  }
  unresponsive {
    after      = "2s"
    ping       = "500ms"
    kill_after = "1s"
  }
  stop {
    grace = "1s"
  }
`, name, command, mark, w.dir+":"+name, more)
	}
	for n := range hosts {
		command := `[self, "demo-host"]`
		if n == deaf {
			command = demo("ignore-term")
		}
		host(hostName(n), command, "")
		switch {
		case n < sandboxed:
			b.WriteString("  sandbox {\n    level = \"landlock\"\n    exec  = [self]\n  }\n")
		case survives(hostName(n)):
			b.WriteString("  survive = true\n")
			if n%2 == 0 {
				b.WriteString("  limits {\n    memory  = \"512MiB\"\n    tasks   = 200\n    enforce = \"best-effort\"\n  }\n")
			}
		}
		b.WriteString("}\n")
	}
	host("lines", fmt.Sprintf("[%q]", self), fmt.Sprintf(", %s = %q", lines, "1"))
	b.WriteString("  protocol = \"jsonrpc-lines\"\n  attach = true\n}\n")
	for name, how := range map[string]string{"bad-never": "never", "bad-die": "die", "bad-exit": "exit:3"} {
		host(name, demo(how), "")
		b.WriteString("  start {\n    eager   = false\n    timeout = \"1s\"\n  }\n}\n")
	}
	return b.String()
}

// demo is the command of a demo host that starts in one of the ways of package demo.
func demo(how string) string {
	return fmt.Sprintf(`["env", "HOSTSUP_DEMO_START=%s", self, "demo-host"]`, how)
}

// sandboxed is how many hosts are confined: h0, h1 and so on.
const sandboxed = 5

// surviving is how many hosts after those outlive the supervisor.
const surviving = 5

// survives reports whether the host of this name outlives the supervisor.
func survives(host string) bool {
	n, err := strconv.Atoi(strings.TrimPrefix(host, "h"))
	return err == nil && n >= sandboxed && n < sandboxed+surviving
}

// deaf is the host that ignores SIGTERM.
const deaf = hosts - 1

func hostName(n int) string { return fmt.Sprintf("h%d", n) }

func (w *world) execSocket() string { return filepath.Join(w.dir, "exec.sock") }

// command is one of hostsup for this supervisor.
func (w *world) command(args ...string) *exec.Cmd {
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "HOSTSUP_SOCKET="+w.socket)
	return cmd
}

// start starts the supervisor.
func (w *world) start() {
	w.cmd = w.command("run", "--config", w.config())
	w.cmd.Stdout, w.cmd.Stderr = w.log, w.log
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait()
		close(exited)
	}(w.cmd, w.exited)
}

// end ends the supervisor with a signal.
func (w *world) end(sig syscall.Signal) {
	_ = w.cmd.Process.Signal(sig)
	select {
	case <-w.exited:
	case <-time.After(patience):
		w.t.Errorf("the supervisor has not ended %s after %s", patience, sig)
		_ = w.cmd.Process.Kill()
		<-w.exited
	}
}

// over reports whether the supervisor has ended.
func (w *world) over() bool {
	select {
	case <-w.exited:
		return true
	default:
		return false
	}
}

// revive starts the supervisor again if it has ended.
func (w *world) revive() {
	if w.over() {
		w.start()
	}
}

// whole waits until all is as it should be: each host runs once and answers, and so do the one
// that is attached to and the exec server. It returns how long that took.
func (w *world) whole(since time.Time) time.Duration {
	w.t.Helper()
	last := errors.New("nothing was tried")
	ok := poll.Within(patience, func() bool {
		last = w.look()
		return last == nil
	})
	if !ok {
		w.t.Fatalf("%s after %s: %v", patience, w.trying, last)
	}
	return time.Since(since)
}

// look returns what is not as it should be.
func (w *world) look() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	s, err := w.client.Status(ctx)
	if err != nil {
		return err
	}
	pids := map[int]string{}
	for _, h := range s.Hosts {
		if strings.HasPrefix(h.Name, "bad-") {
			continue
		}
		if h.State != lifecycle.Running || h.PID == nil {
			return fmt.Errorf("host %s is %s", h.Name, h.State)
		}
		pids[*h.PID] = h.Name
	}
	if len(pids) != hosts+1 {
		return fmt.Errorf("%d hosts run", len(pids))
	}
	for pid, host := range w.marked() {
		if pids[pid] == "" && !strings.HasPrefix(host, "bad-") {
			return fmt.Errorf("process %d is not that of host %s", pid, host)
		}
	}
	return w.clients.fine()
}

// marked returns the processes of hosts, with the name of the host of each.
func (w *world) marked() map[int]string {
	out := map[int]string{}
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range all {
		env, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for _, v := range bytes.Split(env, []byte{0}) {
			if host, is := bytes.CutPrefix(v, []byte(mark+"="+w.dir+":")); is {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
				out[pid] = string(host)
			}
		}
	}
	return out
}

// usage returns what the supervisor takes now.
func (w *world) usage() (u usage) {
	dir := fmt.Sprintf("/proc/%d/", w.cmd.Process.Pid)
	fds, err := os.ReadDir(dir + "fd")
	if err != nil {
		w.t.Fatal(err)
	}
	u.descriptors = len(fds)
	statm, err := os.ReadFile(dir + "statm")
	if err != nil {
		w.t.Fatal(err)
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(statm))[1], 10, 64)
	u.memory = pages * int64(os.Getpagesize())
	return u
}

// given reports whether the supervisor has given back what a fault took.
func (w *world) given() {
	w.t.Helper()
	const descriptors, memory = 16, 64 << 20 // connections of clients come and go; the collector takes its time
	var u usage
	if !poll.Within(patience, func() bool {
		u = w.usage()
		return u.descriptors <= w.base.descriptors+descriptors && u.memory <= w.base.memory+memory
	}) {
		w.t.Errorf("the supervisor takes %d descriptors and %d MiB, %d and %d before", u.descriptors, u.memory>>20, w.base.descriptors, w.base.memory>>20)
	}
}
