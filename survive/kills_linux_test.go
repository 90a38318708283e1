//go:build !hostsup_posix

package survive_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
)

// marked returns the processes that have a variable in their environment, those of shims excepted: a shim
// has another environment than its command.
func marked(t *testing.T, variable string) (pids []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(append([]byte{0}, b...), []byte("\x00"+variable+"\x00")) {
			continue // ended, or another one
		}
		pid, err := strconv.Atoi(strings.Split(path, "/")[2])
		if err == nil && runs(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// TestKilledAtRandom kills supervisors at random moments of the starts of their hosts, which end by themselves as
// well. The last supervisor has each host once.
func TestKilledAtRandom(t *testing.T) {
	mark := "SURVIVE_TEST_MARK=" + strconv.Itoa(os.Getpid())
	name, value, _ := strings.Cut(mark, "=")
	p := &plan{State: t.TempDir(), Demo: []string{"a", "b"}, Shell: []string{"s"}, Run: "sleep 0.1; exit 3", Env: map[string]string{name: value}, Most: 1000}
	r := rand.New(rand.NewPCG(3, 4))
	for range 25 {
		f := launch(t, p)
		select {
		case <-time.After(time.Duration(r.IntN(150)) * time.Millisecond):
		case <-t.Context().Done():
		}
		f.kill()
		// The shell runs a program: no host has more than two processes.
		if n := len(marked(t, mark)); n > 4 {
			t.Fatalf("%d processes, expected up to 4", n)
		}
	}
	p.Run = "exec sleep 1000"
	sup := next(t, p)
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, host := range sup.Hosts() {
		if err := host.Wait(t.Context(), lifecycle.Running); err != nil {
			t.Error(err)
		}
	}
	poll.Until(t, 20*time.Second, "each host runs once", func() bool { return len(marked(t, mark)) == 3 })
	for _, name := range p.Demo {
		if pid := pidOf(t, host(t, sup, name)); !runs(pid) {
			t.Errorf("%s: process %d does not run", name, pid)
		}
	}
}
