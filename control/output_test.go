package control_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

func at(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }

func output(seq uint64, second int, text string) capture.Line {
	return capture.Line{Seq: seq, Time: at(second), Stream: capture.Stdout, Text: text}
}

// texts returns "host:text" of the lines of a stream that ends.
func texts(t *testing.T, lines iter.Seq2[control.HostLine, error]) []string {
	t.Helper()
	var out []string
	for ln, err := range lines {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, ln.Host+":"+ln.Text)
	}
	return out
}

func TestLogsOfAllHostsAreInTheOrderOfTime(t *testing.T) {
	c := one(t, func(s *controltest.Supervisor, ts *controltest.Host) {
		ts.Output = []capture.Line{output(1, 1, "a"), output(2, 4, "d"), output(3, 5, "e")}
		db := controltest.NewHost(record.HostStatus{Name: "db", Group: "data"})
		db.Output = []capture.Line{output(1, 2, "b"), output(2, 3, "c")}
		s.Members = append(s.Members, db, controltest.NewHost(record.HostStatus{Name: "silent", Group: "data"}))
	})
	for _, tt := range []struct {
		names []string
		n     int
		want  []string
	}{
		{nil, 10, []string{"ts:a", "db:b", "db:c", "ts:d", "ts:e"}},
		{nil, 3, []string{"db:c", "ts:d", "ts:e"}},
		{nil, 0, nil},
		{[]string{"data"}, 10, []string{"db:b", "db:c"}},
		{[]string{"ts", "silent"}, 2, []string{"ts:d", "ts:e"}},
	} {
		if got := texts(t, c.AllLogs(t.Context(), tt.names, tt.n, false)); !slices.Equal(got, tt.want) {
			t.Errorf("%d lines of %v: %v, want %v", tt.n, tt.names, got, tt.want)
		}
	}
	for _, err := range c.AllLogs(t.Context(), []string{"nobody"}, 1, true) {
		if class(err) != control.NoSuchHost {
			t.Errorf("an unknown host: %v", err)
		}
	}
}

// growing is a supervisor that gets another host.
type growing struct {
	*controltest.Supervisor
	mu    sync.Mutex
	later *controltest.Host
}

func (g *growing) Host(name string) (control.Host, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.later != nil && g.later.Status().Name == name {
		return g.later, nil
	}
	return g.Supervisor.Host(name)
}

func TestHostsThatAreAddedAreFollowed(t *testing.T) {
	ts := controltest.NewHost(record.HostStatus{Name: "ts", Group: "editor"})
	ts.Live = make(chan capture.Line)
	ts.Output = []capture.Line{output(1, 1, "old")}
	sup := &growing{Supervisor: &controltest.Supervisor{Members: []*controltest.Host{ts}, Live: make(chan supervisor.Event)}}
	c := control.NewClient(controltest.Serve(t, sup, control.Options{}))
	defer c.Close()
	next, stop := iter.Pull2(c.AllLogs(t.Context(), nil, 1, true))
	defer stop()
	expect := func(host, text string, lost uint64) {
		t.Helper()
		if ln, err, _ := next(); err != nil || ln.Host != host || ln.Text != text || ln.Lost != lost {
			t.Errorf("%+v, %v, not %s:%s", ln, err, host, text)
		}
	}
	expect("ts", "old", 0)
	ts.Live <- output(2, 2, "new")
	expect("ts", "new", 0)

	later := controltest.NewHost(record.HostStatus{Name: "late", Group: "editor"})
	later.Live = make(chan capture.Line)
	later.Output = []capture.Line{output(1, 3, "its first")}
	sup.mu.Lock()
	sup.later = later
	sup.mu.Unlock()
	sup.Live <- supervisor.Event{Seq: 1, Kind: record.KindAdded, Host: ptr("late"), Group: ptr("editor")}
	expect("late", "its first", 0)
	sup.Live <- supervisor.Event{Seq: 2, Kind: record.KindState, Host: ptr("late"), Group: ptr("editor")} // it is followed once
	later.Live <- capture.Line{Seq: 9, Time: at(4), Stream: capture.Stderr, Text: "again", Lost: 7}
	expect("late", "again", 7)
	close(sup.Live)
	close(ts.Live)
	close(later.Live)
	if ln, err, ok := next(); ok {
		t.Errorf("after the end: %+v, %v", ln, err)
	}
}

// logged is a host whose output is a real log.
type logged struct {
	*controltest.Host
	log *capture.Log
}

func (h logged) History(n int) ([]capture.Line, error) { return h.log.History(n) }
func (h logged) After(ctx context.Context, seq uint64, backlog bool) iter.Seq[capture.Line] {
	return h.log.After(ctx, seq, backlog)
}

// crowd is a supervisor with many hosts.
type crowd struct {
	*controltest.Supervisor
	hosts map[string]logged
}

func (c crowd) Host(name string) (control.Host, error) {
	if h, ok := c.hosts[name]; ok {
		return h, nil
	}
	return nil, supervisor.ErrNoHost
}

// A reader that stops reading must block no host and keep little in memory, and be told
// how many lines of each host it has missed.
func TestSlowReaderOfAllHostsLosesLines(t *testing.T) {
	const hosts, printed = 1000, 300
	sup := crowd{&controltest.Supervisor{Live: make(chan supervisor.Event)}, map[string]logged{}}
	for i := range hosts {
		h := controltest.NewHost(record.HostStatus{Name: fmt.Sprintf("h%03d", i), Group: "all"})
		sup.Members = append(sup.Members, h)
		log := capture.New(capture.Options{Ring: 8, Backlog: 16})
		sup.hosts[h.Status().Name] = logged{h, log}
	}
	next, stop := iter.Pull(control.Output(t.Context(), sup, func(string, string) bool { return true }, 1, true))
	defer stop()
	first := sup.hosts["h000"].log
	for range 2 { // the past, then a line that is followed
		first.Print(capture.Stdout, 1, []byte("hello"))
		if ln, _ := next(); ln.Text != "hello" {
			t.Fatalf("%+v", ln)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for name, h := range sup.hosts {
			for h.log.Lines() < printed {
				h.log.Print(capture.Stdout, 1, []byte(name))
			}
			if err := h.log.Close(); err != nil {
				t.Error(err)
			}
		}
		close(sup.Live)
	}()
	within(t, done, "the end of printing") // though nothing is read
	seen := map[string]uint64{"h000": 2}
	read, lost := 0, uint64(0)
	for ln, ok := next(); ok; ln, ok = next() {
		seen[ln.Host] += 1 + ln.Lost
		read, lost = read+1, lost+ln.Lost
	}
	t.Logf("%d lines read, %d told as lost", read, lost)
	if lost == 0 {
		t.Error("nothing was lost")
	}
	for name := range sup.hosts {
		if seen[name] != printed {
			t.Errorf("%s: %d of %d lines were passed on or told as lost", name, seen[name], printed)
		}
	}
}
