//go:build amd64 || arm64

package sys

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hostsup/hostsup/internal/require"
)

// Children that change their user while they share this process's memory close it to
// others; after the last of many concurrent children the attribute must be restored.
func TestSpawnLeavesMemoryAsItWas(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change its user")
	}
	if !isDumpable() {
		require.Missing(t, "a process whose memory is open to others of its user")
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				s := new(Script)
				s.Step("ids")
				s.IDs(54321, 54321)
				if err := s.Exec("/bin/true", []string{"true"}, nil); err != nil {
					t.Error(err)
					return
				}
				pid, pidfd, err := s.Spawn(0)
				if err != nil {
					t.Error(err)
					return
				}
				Reap(pid)
				if err := unix.Close(pidfd); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if !isDumpable() {
		t.Error("it is closed to others")
	}
}
