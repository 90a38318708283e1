//go:build linux

package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix" //nolint:depguard // the limit of another process, which nothing but this test changes

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// shortly is a supervisor, as it is shipped, whose limits are changed while it
// runs.
type shortly struct {
	t      *testing.T
	run    *exec.Cmd
	socket string

	mu   sync.Mutex
	said bytes.Buffer
}

func (s *shortly) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.Write(p)
}

// says counts how often it has logged a text.
func (s *shortly) says(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.said.String(), text)
}

// startShortly starts it with one host.
func startShortly(t *testing.T) *shortly {
	t.Helper()
	dir := t.TempDir()
	s := &shortly{t: t, socket: filepath.Join(dir, "s")}
	config := filepath.Join(dir, "config.hcl")
	text := fmt.Sprintf("supervisor { state_dir = %q }\nhost \"ts\" {\n  command = [%q, \"demo-host\"]\n  restart { max_crashes = 2 }\n}\n", dir, hostsupBinary(t))
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	s.run = exec.CommandContext(ctx(t), hostsupBinary(t), "run", "-c", config, "--socket", s.socket)
	s.run.Stderr = s
	if err := s.run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.run.Process.Signal(syscall.SIGTERM); err != nil {
			t.Error(err)
		}
		if err := s.run.Wait(); err != nil || t.Failed() {
			t.Errorf("%v\n%s", err, s.said.String())
		}
	})
	eventually(t, func() bool { return s.says("hostsup: ready") > 0 }, "ready")
	return s
}

// hostsup runs a verb.
func (s *shortly) hostsup(args ...string) (string, error) {
	out, err := exec.Command(hostsupBinary(s.t), append([]string{"--socket", s.socket}, args...)...).CombinedOutput()
	return string(out), err
}

func (s *shortly) status() supervisor.HostStatus {
	var st supervisor.Status
	eventually(s.t, func() bool {
		out, _ := s.hostsup("status", "--json")
		return json.Unmarshal([]byte(out), &st) == nil && len(st.Hosts) == 1
	}, "status")
	return st.Hosts[0]
}

// limit bounds the numbers of its descriptors and returns what was in force.
func (s *shortly) limit(n uint64) (old uint64) {
	s.t.Helper()
	var was unix.Rlimit
	if err := unix.Prlimit(s.run.Process.Pid, unix.RLIMIT_NOFILE, nil, &was); err != nil {
		s.t.Fatal(err)
	}
	old = was.Cur
	was.Cur = n
	if err := unix.Prlimit(s.run.Process.Pid, unix.RLIMIT_NOFILE, &was, nil); err != nil {
		s.t.Fatal(err)
	}
	return old
}

const shortText = "the supervisor is short of descriptors"

// TestNoDescriptorLeft kills a host while its supervisor can open nothing: the
// host is not given up, as often as its start fails, and is back as soon as that
// is over.
func TestNoDescriptorLeft(t *testing.T) {
	t.Parallel()
	s := startShortly(t)
	pid := *s.status().PID
	old := s.limit(3) // 0, 1 and 2 are in use
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return s.says(shortText) > 3 }, "four tries")
	s.limit(old)
	eventually(t, func() bool { return s.status().State == lifecycle.Running }, "it runs again")
	if st := s.status(); st.CrashesInWindow != 1 {
		t.Errorf("%d crashes in the window, want that of the kill", st.CrashesInWindow)
	}
	if events, err := s.hostsup("events"); err != nil || !strings.Contains(events, "shortage") || !strings.Contains(events, shortText) {
		t.Errorf("events: %v\n%s", err, events)
	}
	if out, err := s.hostsup("crashes"); err != nil || strings.Contains(out, "descriptors") {
		t.Errorf("crashes: %v\n%s", err, out)
	}
}

// TestDescriptorsAreKept starts a host while few descriptors are left: it has to
// wait, and the supervisor still answers.
func TestDescriptorsAreKept(t *testing.T) {
	t.Parallel()
	s := startShortly(t)
	if out, err := s.hostsup("stop", "ts"); err != nil {
		t.Fatal(err, out)
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.run.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	old := s.limit(uint64(len(open)) + 4) // a quarter of the limit is kept
	out, err := s.hostsup("start", "ts")
	if err == nil || !strings.Contains(out, "is starting, not running") || !strings.Contains(out, shortText) {
		t.Errorf("start: %v, %s", err, out)
	}
	eventually(t, func() bool { return s.says(shortText) > 3 }, "four tries")
	if st := s.status(); st.State != lifecycle.Starting || !strings.Contains(*st.Reason, shortText) || st.CrashesInWindow != 0 {
		t.Errorf("%s: %s, %d crashes", st.State, *st.Reason, st.CrashesInWindow)
	}
	s.limit(old)
	eventually(t, func() bool { return s.status().State == lifecycle.Running }, "it runs again")
}
