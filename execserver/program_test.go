//go:build unix

package execserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/sandbox"
)

// hello is a server in shell that shakes hands.
const hello = `read -r line; printf '{"id":1,"result":{"sessionId":"s-1"}}\n'; read -r line; `

func shell(script string) Program { return Program{Args: []string{"sh", "-c", script}} }

// naming lists the processes whose command lines have a text in them. What a
// script says of its own id is of no use: for ordinary users a server has
// process ids of its own.
func naming(text string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	for _, f := range files {
		if line, err := os.ReadFile(f); err == nil && strings.Contains(string(line), text) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(f)))
			pids = append(pids, pid)
		}
	}
	return pids
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
	poll.Until(t, time.Minute, fmt.Sprintf("the end of process %d", pid), func() bool { return !alive(pid) })
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
setsid sh -c 'trap "" TERM; : the child; : >`+dir+`/child; while :; do sleep 1; done' >/dev/null 2>&1 &
while [ ! -f `+dir+`/child ]; do sleep 0.01; done
`+hello+`while :; do sleep 1; done`))
	if err != nil {
		t.Fatal(err)
	}
	all := naming(dir + "/child")
	children := naming(": the child; : >" + dir + "/child; while :; do sleep 1; done\x00")
	if len(all) < 2 || len(children) != 1 {
		t.Fatalf("processes %v, and the child is among them as %v", all, children)
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
	for _, pid := range all {
		if reaches || pid != children[0] {
			gone(t, pid)
		} else {
			syscall.Kill(pid, syscall.SIGKILL) // the group alone was killed here
		}
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
	mark := t.TempDir()
	_, err := connect(t, shell(`read -r line; echo not-json; while :; do sleep 1; done; : `+mark))
	if !errors.Is(err, ErrConnect) || !errors.Is(err, ErrProtocol) {
		t.Error(err)
	}
	for _, pid := range naming(mark) {
		gone(t, pid)
	}
}

func TestCommandNotThere(t *testing.T) {
	_, err := connect(t, Program{Args: []string{"hostsup-no-such-program"}})
	if !errors.Is(err, ErrConnect) || !strings.Contains(err.Error(), "hostsup-no-such-program") {
		t.Error(err)
	}
	if _, err = connect(t, Program{}); !errors.Is(err, ErrConnect) {
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
