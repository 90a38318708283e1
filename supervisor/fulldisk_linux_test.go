package supervisor_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// A host whose log file is on a full disk is not blocked; the status counts what is lost,
// and events tell of it and of its end.
func TestFullDisk(t *testing.T) {
	state := t.TempDir()
	if err := syscall.Mount("tmpfs", state, "tmpfs", 0, "size=512k,mode=0700"); err != nil {
		require.Privilege(t, "the right to mount a tmpfs: %v", err)
	}
	defer func() {
		if err := syscall.Unmount(state, 0); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(state, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 400<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	// It prints more than fits, says so in a file, and then a line now and then.
	const program = `i=0; while [ $i -lt 4000 ]; do echo "a line of some sixty bytes, as hosts print them, give or take $i"; i=$((i+1)); done
echo >"$0"; while :; do echo tick; sleep 0.05; done`
	printed := filepath.Join(t.TempDir(), "printed")
	s, err := supervisor.Start(t.Context(), supervisor.Spec{
		StateDir: state,
		Groups:   []supervisor.GroupSpec{{Name: "g", Hosts: []supervisor.HostSpec{{Name: "h", Command: []string{"/bin/sh", "-c", program, printed}}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	events := func(kind string) (n int) {
		for _, e := range s.History() {
			if e.Kind == kind && e.Host != nil && *e.Host == "h" {
				n++
			}
		}
		return n
	}
	poll.Until(t, time.Minute, "the end of the output", func() bool {
		_, err := os.Stat(printed)
		return err == nil
	})
	poll.Until(t, time.Minute, "an event", func() bool { return events(record.KindLogFailed) == 1 })
	h := s.Status().Hosts[0]
	if h.State != lifecycle.Running || h.Log.Lost == 0 || h.Log.Written == 0 || h.Log.Error == nil || h.Log.WrittenBytes > 112<<10 {
		t.Errorf("with a full disk: %s, %+v", h.State, h.Log)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	poll.Until(t, time.Minute, "the event that ends it", func() bool { return events(record.KindLogRecovered) == 1 })
	if h := s.Status().Hosts[0]; h.Log.Error != nil {
		t.Errorf("with room again: %s", *h.Log.Error)
	}
	if n := events(record.KindLogFailed); n != 1 {
		t.Errorf("%d events of one spell", n)
	}
}
