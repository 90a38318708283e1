//go:build unix

package execserver

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/sandbox"
)

// hello is a server in shell that shakes hands.
const hello = `read -r line; printf '{"id":1,"result":{"sessionId":"s-1"}}\n'; read -r line; `

func shell(script string) Command { return Command{Args: []string{"sh", "-c", script}} }

// pid reads a process id that a script has written.
func pid(t *testing.T, path string) int {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// alive says whether a process is there and no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for alive(pid) {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("process %d is left", pid)
		}
	}
}

func connect(t *testing.T, e Endpoint) (*Client, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := New(e, Options{Latched: true})
	t.Cleanup(func() { c.Close() })
	return c, c.Connect(ctx)
}

// Close ends the server with everything it has started, also what has left its
// session and what does not care for SIGTERM.
func TestCommandClose(t *testing.T) {
	dir := t.TempDir()
	c, err := connect(t, shell(`trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >`+dir+`/child.tmp; mv `+dir+`/child.tmp `+dir+`/child; while :; do sleep 1; done' >/dev/null 2>&1 &
while [ ! -f `+dir+`/child ]; do sleep 0.01; done
echo $$ >`+dir+`/server; `+hello+`while :; do sleep 1; done`))
	if err != nil {
		t.Fatal(err)
	}
	server, child := pid(t, filepath.Join(dir, "server")), pid(t, filepath.Join(dir, "child"))
	if !alive(server) || !alive(child) {
		t.Fatal("they are not running")
	}
	launcher, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reaches := launcher.Kill() != sandbox.KillGroup
	launcher.Close()
	begun := time.Now()
	c.Close()
	if took := time.Since(begun); took < byeTimeout || took > time.Minute {
		t.Errorf("it was killed after %v, want a little more than %v", took, byeTimeout)
	}
	gone(t, server)
	if reaches {
		gone(t, child)
	} else {
		syscall.Kill(child, syscall.SIGKILL) // the group alone was killed here
	}
}

// A server that ends when its input does is not waited for longer.
func TestCommandEnds(t *testing.T) {
	c, err := connect(t, shell(hello+`cat >/dev/null`))
	if err != nil {
		t.Fatal(err)
	}
	// A busy machine may take as long once, a wait for the time-out does always.
	for attempt := 1; ; attempt++ {
		begun := time.Now()
		c.Close()
		took := time.Since(begun)
		if took < byeTimeout {
			return
		}
		if attempt == 5 {
			t.Fatalf("it took %v", took)
		}
		if c, err = connect(t, shell(hello+`cat >/dev/null`)); err != nil {
			t.Fatal(err)
		}
	}
}

// How the server ended is part of the reason.
func TestCommandExit(t *testing.T) {
	c, err := connect(t, shell(hello+`read -r line; echo first >&2; echo 'out of cheese' >&2; exit 3`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Status(t.Context())
	if !errors.Is(err, ErrDisconnected) || err.Error() != "exec-server transport disconnected: exited with code 3: out of cheese" {
		t.Error(err)
	}
	_, err = connect(t, shell(`kill -9 $$`))
	if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "ended by signal 9") {
		t.Error(err)
	}
}

// A server that talks nonsense is ended.
func TestCommandMalformed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	_, err := connect(t, shell(`read -r line; echo $$ >`+file+`; echo not-json; while :; do sleep 1; done`))
	if !errors.Is(err, ErrConnect) || !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
	gone(t, pid(t, file))
}

func TestCommandNotThere(t *testing.T) {
	_, err := connect(t, Command{Args: []string{"hostsup-no-such-program"}})
	if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "hostsup-no-such-program") {
		t.Error(err)
	}
	if _, err = connect(t, Command{}); !errors.Is(err, ErrConnect) {
		t.Error(err)
	}
}

// What it writes to standard error is handed on, and its environment and
// folder are those that were asked for.
func TestCommandStreams(t *testing.T) {
	launcher, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer launcher.Close()
	var errs strings.Builder
	dir := t.TempDir()
	e := shell(`echo "$X in $PWD" >&2; ` + hello + `cat >/dev/null`)
	e.Env, e.Dir, e.Stderr, e.Launcher = []string{"X=y", "PATH=/usr/bin:/bin"}, dir, &errs, launcher
	c, err := connect(t, e)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if got := errs.String(); got != "y in "+dir+"\n" {
		t.Errorf("%q", got)
	}
}
