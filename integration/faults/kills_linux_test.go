package faults

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
)

var kills = flag.Int("kills", 0, "how many processes TestKills kills; default: 8, in ./test all 30, in CI 300")

// TestKills kills the supervisor, or one of the processes by which it starts, keeps and ends hosts, at
// random moments, most of them within starts. Each time all hosts are gone with the supervisor but
// those that survive it, all run once again, and not a moment does a confined one run without its filter.
func TestKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	n := *kills
	if n == 0 {
		n = require.Rounds(30, 8)
		if require.All() {
			n = 300
		}
	}
	w := newWorld(t, 0)
	r := rand.New(rand.NewPCG(*seed, 2))
	stop := make(chan struct{})
	var watch sync.WaitGroup
	looks := 0
	watch.Go(func() {
		for {
			looks += w.confined()
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	defer func() {
		close(stop)
		if watch.Wait(); looks == 0 {
			t.Error("no confined host was seen")
		}
	}()
	killed, taken := map[string]int{}, 0
	for range n {
		what := w.kill(r)
		w.trying = what + " was killed"
		killed[what]++
		if what == "supervisor" {
			<-w.exited
			if !poll.Within(patience, func() bool { return len(w.mortal()) == 0 }) {
				t.Fatalf("after %s the supervisor is gone, and its hosts are not: %v", patience, w.mortal())
			}
			before := w.marked()
			w.start()
			if r.IntN(2) == 0 { // the next one may die in the start of the hosts
				<-time.After(time.Duration(r.IntN(400)) * time.Millisecond)
				continue
			}
			w.whole(time.Now())
			for pid := range w.marked() {
				if before[pid] != "" {
					taken++
				}
			}
		} else if r.IntN(2) == 0 {
			continue
		}
		w.revive()
		w.whole(time.Now())
	}
	w.revive()
	w.whole(time.Now())
	w.given()
	t.Logf("killed: %v; %d processes were taken back", killed, taken)
	if killed["supervisor"] > 2 && taken == 0 {
		t.Error("no process was taken back")
	}
}

// mortal returns the processes of hosts that end with the supervisor.
func (w *world) mortal() map[int]string {
	out := w.marked()
	maps.DeleteFunc(out, func(_ int, host string) bool { return survives(host) })
	return out
}

// kill kills the supervisor or one of its helpers, and returns which.
func (w *world) kill(r *rand.Rand) string {
	helpers := w.helpers()
	if len(helpers) == 0 || r.IntN(3) == 0 {
		_ = w.cmd.Process.Kill()
		return "supervisor"
	}
	names := slices.Sorted(maps.Keys(helpers)) // some have many processes
	name := names[r.IntN(len(names))]
	_ = syscall.Kill(helpers[name][r.IntN(len(helpers[name]))], syscall.SIGKILL)
	return name
}

// helpers returns the children of the supervisor that are no hosts, and the shims that a supervisor before
// it has started, by their names.
func (w *world) helpers() map[string][]int {
	out := map[string][]int{}
	all, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range all {
		b, _ := os.ReadFile(path)
		dir := filepath.Dir(path)
		pid, _ := strconv.Atoi(filepath.Base(dir))
		name := program(pid)
		switch {
		case strings.HasPrefix(name, "hostsup-") && strings.Contains(string(b), fmt.Sprintf("\nPPid:\t%d\n", w.cmd.Process.Pid)),
			name == "hostsup-shim" && w.holds(dir):
			out[name] = append(out[name], pid)
		}
	}
	return out
}

// holds reports whether a process has a file in the state folder open, as a shim has its lock.
func (w *world) holds(proc string) bool {
	fds, _ := filepath.Glob(filepath.Join(proc, "fd", "*"))
	return slices.ContainsFunc(fds, func(fd string) bool {
		to, _ := os.Readlink(fd)
		return strings.HasPrefix(to, w.state)
	})
}

// program returns the name by which a process was started.
func program(pid int) string {
	line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := strings.Cut(string(line), "\x00")
	return name
}

// confined looks at all processes of the hosts that are to be confined, and returns how many
// there are.
func (w *world) confined() (n int) {
	for pid, host := range w.marked() {
		h, err := strconv.Atoi(strings.TrimPrefix(host, "h"))
		if err != nil || h >= sandboxed {
			continue
		}
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil || !bytes.Contains(line, []byte("demo-host")) {
			continue
		}
		if n++; !strings.Contains(string(b), "\nSeccomp:\t2\n") {
			w.clients.bad("process %d of host %s runs without its filter:\n%s", pid, host, b)
		}
	}
	return n
}
