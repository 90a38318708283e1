// Package freezer keeps processes of tests from ending, even by SIGKILL, as a disk
// that does not answer does. It uses the freezer of cgroup v1, because processes in a
// frozen v2 cgroup can be killed.
package freezer

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
)

// patience bounds the time that the kernel may take for a change.
const patience = time.Minute

// Freeze freezes processes until thaw is called, or else until the test ends. A
// second call of thaw does nothing. Where there is no v1 freezer, or this process
// must not use it, the test ends by [require.Privilege].
func Freeze(t testing.TB, pids ...int) (thaw func()) {
	t.Helper()
	folder := filepath.Join("/sys/fs/cgroup/freezer", fmt.Sprintf("hostsup-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")))
	if err := os.Mkdir(folder, 0o755); err != nil {
		require.Privilege(t, "a v1 freezer: %v", err)
	}
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
	for _, pid := range pids {
		put("cgroup.procs", strconv.Itoa(pid))
	}
	put("freezer.state", "FROZEN")
	poll.Until(t, patience, "freezer.state is FROZEN", func() bool {
		state, _ := os.ReadFile(filepath.Join(folder, "freezer.state"))
		return string(state) == "FROZEN\n"
	})
	thawed := false
	thaw = func() {
		if thawed {
			return
		}
		thawed = true
		put("freezer.state", "THAWED")
		poll.Until(t, patience, "the cgroup is empty and removed", func() bool { return os.Remove(folder) == nil })
	}
	t.Cleanup(thaw)
	return thaw
}
