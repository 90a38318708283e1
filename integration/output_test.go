//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// TestLastWords lets a thousand processes write a line and die at once by
// abort: no report misses the words of its process, and none has those of another.
func TestLastWords(t *testing.T) {
	t.Parallel()
	const hosts, lives = 10, 100
	g := supervisor.GroupSpec{Name: "editor"}
	dir := t.TempDir()
	for i := range hosts {
		name := fmt.Sprintf("host-%d", i)
		lived := filepath.Join(dir, name) // has a line for each life; process ids are the same in each namespace
		g.Hosts = append(g.Hosts, demoHost(name, crashes(lives), func(s *supervisor.HostSpec) {
			s.Command, s.Protocol = []string{"sh", "-c", "echo x >>" + lived + "; n=$(wc -l <" + lived + "); echo out $((n)); echo last words of $((n)) >&2; ulimit -c 0; kill -ABRT $$"}, nil
			s.Restart.Backoff.Initial, s.Restart.Backoff.Max, s.Restart.Backoff.Healthy = 1, 1, 1
		}))
	}
	sup := begin(t, supervisor.Spec{Groups: []supervisor.GroupSpec{g}})
	seen, failed := 0, 0
	c, cancel := context.WithTimeout(context.Background(), 4*patience)
	defer cancel()
	for e := range sup.Follow(c) {
		if e.Kind != "state" {
			continue
		}
		if *e.To == lifecycle.Failed {
			if failed++; failed == hosts {
				break
			}
		}
		if *e.To != lifecycle.Crashed { // a host that is given up names its last crash once more
			continue
		}
		var r *supervisor.CrashReport
		eventually(t, func() bool {
			var err error
			r, err = sup.Crash(*e.CrashID)
			return err == nil
		})
		seen++
		want := map[string]string{"stdout": fmt.Sprintf("out %d", r.Life), "stderr": fmt.Sprintf("last words of %d", r.Life)}
		for _, l := range r.Lines {
			if want[l.Stream] != l.Text {
				t.Errorf("life %d: %s says %q", r.Life, l.Stream, l.Text)
			}
			delete(want, l.Stream)
		}
		if len(want) != 0 || r.Exit.Signal == nil || *r.Exit.Signal != "SIGABRT" {
			t.Fatalf("life %d, pid %d: not heard: %v; exit %+v", r.Life, r.PID, want, r.Exit)
		}
	}
	if seen != hosts*lives || failed != hosts {
		t.Errorf("%d crashes of %d, %d hosts failed", seen, hosts*lives, failed)
	}
}

// TestLastLines keeps the last 200 of a thousand lines.
func TestLastLines(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, demoHost("ts", crashes(1), runCommand("sh", "-c", "i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo line $i; done; kill -KILL $$")))
	r := crash(t, sup, "ts")
	if len(r.Lines) != 200 {
		t.Fatalf("%d lines", len(r.Lines))
	}
	for i, l := range r.Lines {
		if l.Text != fmt.Sprintf("line %d", 801+i) || l.Stream != "stdout" || l.Time.IsZero() {
			t.Fatalf("line %d is %+v", i, l)
		}
	}
}

// TestLastMessages keeps the last 50 message headers.
func TestLastMessages(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, demoHost("ts", crashes(1)))
	for range 100 {
		echoes(t, h)
	}
	_ = h.Call(ctx(t), "exit", map[string]int{"code": 3}, nil)
	r := crash(t, sup, "ts")
	if len(r.Messages) != 50 {
		t.Fatalf("%d messages", len(r.Messages))
	}
	// A host that takes long to exit may be asked for life meanwhile.
	said := slices.DeleteFunc(slices.Clone(r.Messages), func(m record.Header) bool { return m.Method == "$/ping" })
	last := said[len(said)-1]
	if last.Dir != "sent" || last.Kind != "request" || last.Method != "exit" || last.Size == 0 || last.ID == 0 {
		t.Errorf("the last one: %+v", last)
	}
	for i, m := range r.Messages[1:] {
		if m.Time.Before(r.Messages[i].Time) {
			t.Errorf("message %d is older than the one before it", i+1)
		}
	}
	if r.Pending != 1 || r.Next == "" || r.MaxRSS == 0 || r.User+r.System == 0 {
		t.Errorf("report %+v", r)
	}
}

// TestOutputOfLives follows a host over its lives.
func TestOutputOfLives(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts"))
	c, cancel := context.WithCancel(ctx(t))
	defer cancel()
	var mu sync.Mutex
	var followed []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for l := range h.Follow(c, 10) {
			mu.Lock()
			followed = append(followed, fmt.Sprintf("%d %s", l.Life, l.Text))
			mu.Unlock()
		}
	}()
	for life := range uint64(2) {
		runs(t, h, life+1)
		if err := h.Call(ctx(t), "print", map[string]string{"stderr": fmt.Sprintf("in life %d", life+1)}, nil); err != nil {
			t.Fatal(err)
		}
		_ = h.Call(ctx(t), "exit", nil, nil)
	}
	runs(t, h, 3)
	const want = "1 in life 1\n2 in life 2"
	eventually(t, func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Join(followed, "\n") == want
	})
	got, err := h.History(10)
	if err != nil || len(got) != 2 || got[0].Life != 1 || got[1].Text != "in life 2" {
		t.Errorf("history %+v, %v", got, err)
	}
	cancel()
	<-done
}

// TestStateDir keeps logs and reports on disk, for nobody else to read, and
// finds them again.
func TestStateDir(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	spec := supervisor.Spec{StateDir: dir, Groups: []supervisor.GroupSpec{supervisor.Alone(demoHost("ts"))}}
	sup := start(t, spec)
	h := host(t, sup, "ts")
	if err := h.Call(ctx(t), "print", map[string]string{"stderr": "for the record"}, nil); err != nil {
		t.Fatal(err)
	}
	signal(t, h, syscall.SIGKILL)
	runs(t, h, 2)
	first := crash(t, sup, "ts")
	end(t, sup)

	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, "logs", "ts.log"))
	if err != nil {
		t.Fatal(err)
	}
	mentions(t, string(b), " 1 err for the record\n")

	sup = start(t, spec)
	h = host(t, sup, "ts")
	again, err := sup.Crash(first.ID)
	if err != nil || again.Reason != "killed by SIGKILL" || again.PID != first.PID || len(again.Lines) != 1 || again.Lines[0].Text != "for the record" {
		t.Errorf("the report of the run before: %+v, %v", again, err)
	}
	if _, err := sup.Crash("nothing-begins-like-this"); !errors.Is(err, supervisor.ErrNoCrash) {
		t.Errorf("%v", err)
	}
	signal(t, h, syscall.SIGKILL)
	runs(t, h, 2)
	eventually(t, func() bool {
		all, _ := sup.Crashes("ts")
		return len(all) == 2 && all[0].ID == first.ID
	})
	lines, err := h.History(10)
	if err != nil || len(lines) == 0 || lines[0].Text != "for the record" {
		t.Errorf("history %+v, %v", lines, err)
	}
}

// TestStateDirThatCannotBe is an error, not a surprise later.
func TestStateDirThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{StateDir: file})
	if err == nil {
		end(t, sup)
		t.Error("a file is taken for a folder")
	}
}
