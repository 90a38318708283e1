package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// window is a terminal of tmux in which a program runs.
type window struct {
	t      *testing.T
	server string // its socket
}

// openWindow runs a program in a terminal of 120 columns and 30 lines.
func openWindow(t *testing.T, env []string, command ...string) *window {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		require.Missing(t, "tmux; its package has the same name")
	}
	dir, err := os.MkdirTemp("", "t") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	w := &window{t, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = w.command("kill-server").Run() // it may have ended with the program
		poll.Until(t, 10*time.Second, "the end of tmux", func() bool {
			return w.command("list-sessions").Run() != nil
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	cmd := w.command(append([]string{"new-session", "-d", "-x", "120", "-y", "30"}, command...)...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v, %s", err, out)
	}
	return w
}

func (w *window) command(args ...string) *exec.Cmd {
	return exec.Command("tmux", append([]string{"-S", w.server, "-f", "/dev/null"}, args...)...)
}

func (w *window) keys(keys ...string) {
	w.t.Helper()
	if out, err := w.command(append([]string{"send-keys"}, keys...)...).CombinedOutput(); err != nil {
		w.t.Fatalf("tmux: %v, %s", err, out)
	}
}

// shows waits until the screen has all texts.
func (w *window) shows(texts ...string) {
	w.t.Helper()
	var screen string
	if !poll.Within(30*time.Second, func() bool {
		out, _ := w.command("capture-pane", "-p").Output()
		screen = string(out)
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	}) {
		w.t.Fatalf("%q is not on the screen:\n%s", texts, screen)
	}
}

// pid returns the process id of the program.
func (w *window) pid() int {
	w.t.Helper()
	out, err := w.command("display-message", "-p", "#{pane_pid}").Output()
	pid, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil || pid == 0 {
		w.t.Fatal(string(out), err)
	}
	return pid
}

// The real program on a real terminal: a host is looked at and restarted, and the view
// outlives the supervisor.
func TestTopOnATerminal(t *testing.T) {
	dir := t.TempDir()
	configured := filepath.Join(dir, "config.hcl")
	if err := os.WriteFile(configured, []byte(`supervisor { state_dir = "`+dir+`/state" }
group "editor" {
  host "ts" { command = [self, "demo-host"] }
  host "says" {
    protocol = "none"
    command  = ["/bin/sh", "-c", "echo hello from says; exec /bin/sleep 1000"]
  }
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	client := control.NewClient(socket)
	defer client.Close()
	start := func() *exec.Cmd {
		t.Helper()
		cmd := exec.Command("hostsup", "run", "-c", configured, "--socket", socket)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		poll.Until(t, time.Minute, "hosts that run", func() bool {
			_, err := client.Wait(t.Context(), "ts", time.Second, lifecycle.Running)
			return err == nil
		})
		return cmd
	}
	end := func(cmd *exec.Cmd) {
		t.Helper()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	run := start()
	defer func() { end(run) }()

	w := openWindow(t, []string{"HOSTSUP_SOCKET=" + socket}, "hostsup", "top")
	w.shows("2 hosts (2 running)", "▾ editor", "2 of 2", "ts ", "says", "CPU%")
	w.keys("G", "r") // ts is the last by name
	w.shows("restart ts? y / n")
	w.keys("y")
	w.shows("restart ts: done")
	w.keys("k", "Enter")
	w.shows("says running", "1 logs", "hello from says")
	w.keys("2")
	w.shows("starting", "→ running")
	w.keys("q")
	w.shows("▾ editor")
	w.keys("/", "t", "s", "Enter")
	w.shows(`only "ts"`)
	if out, _ := w.command("capture-pane", "-p").Output(); strings.Contains(string(out), "says") {
		t.Errorf("what the filter leaves out is shown:\n%s", out)
	}
	if out, err := w.command("resize-window", "-x", "60", "-y", "10").CombinedOutput(); err != nil {
		t.Fatalf("tmux: %v, %s", err, out)
	}
	w.shows("2 hosts (2 running)", "ts")

	end(run)
	w.shows("not connected", "ts")
	run = start()
	w.keys("Escape")
	w.shows("2 hosts (2 running)", "says", "? help")
	w.keys("?")
	w.shows("any key goes back")
	w.keys("q")
	w.shows("2 hosts (2 running)")
	w.keys("q")
	poll.Until(t, 10*time.Second, "the end of top", func() bool { return w.command("list-sessions").Run() != nil })
}

// What hostsup top costs beside 200 idle hosts, once it has started: 3 % of a core at most
// on a machine that does nothing else. The bound is wide: beside other tests and with the
// race detector it takes several times as much.
func TestCostOfTop(t *testing.T) {
	const measured = 10 * time.Second
	started := time.Now()
	sup := &controltest.Supervisor{Info: supervisor.Info{PID: 1, Version: "v1", Started: started, Kill: "cgroup"}, Live: make(chan supervisor.Event)}
	for i := range 200 {
		pid, rss, cpu := 1000+i, int64(50<<20), 0.5
		sup.Members = append(sup.Members, controltest.NewHost(record.HostStatus{Name: fmt.Sprintf("host-%d", i), Group: fmt.Sprintf("group-%d", i/10), Protocol: "hostsup",
			State: lifecycle.Running, Life: 1, PID: &pid, Started: &started, RSSBytes: &rss, CPUSeconds: &cpu, Liveness: "ack"}))
	}
	w := openWindow(t, []string{"HOSTSUP_SOCKET=" + controltest.Serve(t, sup, control.Options{})}, "hostsup", "top")
	w.shows("200 hosts (200 running)", "host-1")
	pid := w.pid()
	before, err := sys.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(measured)
	after, err := sys.ReadStat(pid)
	if err != nil {
		t.Fatal(err)
	}
	used := (after.CPU - before.CPU).Seconds() / measured.Seconds()
	t.Logf("hostsup top uses %.2f %% of a core with 200 idle hosts", 100*used)
	if used > 0.3 {
		t.Errorf("that is more than 30 %%")
	}
	w.keys("q")
}
