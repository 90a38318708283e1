//go:build !hostsup_posix

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// ownMemory returns the private and the resident memory of a process, in KiB.
func ownMemory(t *testing.T, pid int) (private, resident int) {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		n := 0
		_, _ = fmt.Sscanf(value, "%d kB", &n)
		switch {
		case strings.HasPrefix(name, "Private_"):
			private += n
		case name == "Rss":
			resident = n
		}
	}
	return private, resident
}

// withoutCgo runs a test in a build without cgo, like the shipped one. With
// CGO_ENABLED=0 in the environment it builds nothing and skips the test.
func withoutCgo(t *testing.T) {
	t.Helper()
	if os.Getenv("CGO_ENABLED") == "0" {
		t.Skip("the keeper of this build stays a Go program")
	}
	if testing.Short() {
		t.Skip("builds the tests once more")
	}
	tool, err := exec.LookPath("go")
	if err != nil {
		require.Missing(t, "the go command: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), tool, "test", "-v", "-count=1", "-run=^"+t.Name()+"$", ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("without cgo it does not pass: %v", err)
	}
}

// keeperMemory bounds the private memory of a host's keeper, in KiB, while its host
// makes orphans for it to reap.
const keeperMemory = 300

// The keeper of a host, of which ordinary users have one for each host, has little
// private memory, even if its host keeps it busy.
func TestKeeperOfAHostIsSmall(t *testing.T) {
	if !sys.CanRest {
		withoutCgo(t)
		return
	}
	const orphans = `while :; do i=0; while [ $i -lt 50 ]; do i=$((i+1)); (:& :); done; echo done; done`
	for name, opt := range map[string]struct {
		kind   Kill
		policy bool
	}{"pidns": {KillPidns, false}, "keeper": {KillKeeper, false}, "confined": {KillGroup, true}} {
		t.Run(name, func(t *testing.T) {
			l := launcherOf(t, opt.kind)
			cmd := shell(orphans)
			if opt.policy {
				confines(t, policy.NoCgroup)
				p, _ := policy.Profile("strict")
				p.Level = policy.NoCgroup
				cmd.Policy = &p
			}
			c, out := start(t, l, cmd)
			lines(t, out, 3)
			pid := 0
			switch tree := c.tree.(type) {
			case *nursed:
				pid = tree.helper.pid
			case *jailed:
				pid = tree.helper.pid
			}
			var private, resident int
			small := func() bool {
				private, resident = ownMemory(t, pid)
				return private > 0 && private <= keeperMemory
			}
			if !eventually(small) { // it shrinks after its host has started
				t.Errorf("%d KiB of its own, of %d KiB", private, resident)
			}
			t.Logf("%d KiB of its own, of %d KiB", private, resident)
			if err := c.KillTree(); err != nil {
				t.Error(err)
			}
			wait(t, c)
			c.Release()
		})
	}
}
