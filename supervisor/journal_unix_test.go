//go:build unix

package supervisor_test

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// printing returns a tree with a host whose output goes to the journal at path.
func printing(t *testing.T, path, script string) *supervisor.Supervisor {
	t.Helper()
	h := supervisor.HostSpec{Name: "h", Command: []string{"/bin/sh", "-c", script}}
	h.Log.Journal = true
	s, err := supervisor.Start(t.Context(), supervisor.Spec{
		StateDir: t.TempDir(), Groups: []supervisor.GroupSpec{{Name: "g", Hosts: []supervisor.HostSpec{h}}},
	}, supervisor.WithJournal(path))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The output of a host reaches the journal with the fields that say whose it is.
func TestOutputToJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	journal, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	s := printing(t, path, `echo "to stdout"; echo "to stderr" >&2; sleep 1000`)
	defer s.Stop(t.Context())
	if err := journal.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{
		"PRIORITY=6\nMESSAGE=to stdout\nSYSLOG_IDENTIFIER=h\nHOST=h\nLIFE=1\nSTREAM=stdout\n": true,
		"PRIORITY=3\nMESSAGE=to stderr\nSYSLOG_IDENTIFIER=h\nHOST=h\nLIFE=1\nSTREAM=stderr\n": true,
	}
	b := make([]byte, 1<<16)
	for len(want) > 0 {
		n, err := journal.Read(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(b[:n]); !want[got] {
			t.Errorf("%q", got)
		}
		delete(want, string(b[:n]))
	}
	poll.Until(t, 30*time.Second, "the count", func() bool {
		log := s.Status().Hosts[0].Log
		return log.Written == 2 && log.Lost == 0
	})
}

// A journal that does not read blocks no host. What it does not take is counted, and is an
// event.
func TestJournalThatDoesNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	journal, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	s := printing(t, path, `i=0; while [ $i -lt 40000 ]; do echo "a line of some sixty bytes, as hosts print them, give or take"; i=$((i+1)); done`)
	poll.Until(t, time.Minute, "the end of the host", func() bool { return s.Status().Hosts[0].State == lifecycle.Stopped })
	poll.Until(t, time.Minute, "an event", func() bool {
		for _, e := range s.History() {
			if e.Kind == record.KindLogFailed {
				return strings.Contains(e.Reason, "does not read")
			}
		}
		return false
	})
	if log := s.Status().Hosts[0].Log; log.Lost == 0 || log.Error == nil {
		t.Errorf("%+v", log)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}
