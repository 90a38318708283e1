package show

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", path, diff)
	}
}

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

func screen(width int, color bool) Screen {
	return Screen{Terminal: width > 0, Color: color, Width: width, Now: now, Zone: time.UTC}
}

func status() *supervisor.Status {
	return &supervisor.Status{
		Supervisor: supervisor.Info{PID: 4242, Version: "v0.1.0", Started: now.Add(-3*time.Hour - 12*time.Minute), Kill: "keeper",
			Missing: []string{"no cgroup: the folder of this process is not delegated to it", "no pidns: this user may not make pid namespaces"}},
		Hosts: []record.HostStatus{
			{Name: "store", Group: "editor", State: lifecycle.Running, Life: 1, PID: ptr(4711), Since: now.Add(-time.Minute), Started: ptr(now.Add(-90 * time.Minute)), // it was unresponsive for a while
				RSSBytes: ptr[int64](34 << 20), CPUSeconds: ptr(12.345)},
			{Name: "typescript", Group: "editor", State: lifecycle.Restarting, Reason: ptr("killed by SIGKILL"), Life: 7, Restarts: 6,
				CrashesInWindow: 2, MaxCrashes: 3, RetryInSeconds: ptr(0.35)},
			{Name: "slow", Group: "slow", State: lifecycle.Starting, Life: 1, PID: ptr(9), Started: ptr(now.Add(-61 * time.Second)), Slow: true,
				RSSBytes: ptr[int64](1 << 20), CPUSeconds: ptr(0.0)},
			{Name: "a-host-with-a-very-long-name-indeed", Group: "tools", State: lifecycle.Failed,
				Reason: ptr("unresponsive for 30s while \"sleep\" was not acknowledged\nnext line \x1b[2J"), Life: 3, Restarts: 2, CrashID: ptr("20260301-115900.000-tool-3")},
			{Name: "quiet", Group: "tools", State: lifecycle.Stopped},
		},
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		width int
		color bool
	}{{0, false}, {160, false}, {120, false}, {80, false}, {60, false}, {40, false}, {100, true}} {
		name := fmt.Sprintf("status_%d_%v.txt", tt.width, tt.color)
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := screen(tt.width, tt.color).Status(&b, status()); err != nil {
				t.Fatal(err)
			}
			golden(t, name, b.String())
			if tt.width > 0 && !tt.color {
				for line := range strings.Lines(b.String()) {
					if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > tt.width {
						t.Errorf("%d columns: %s", n, line)
					}
				}
			}
		})
	}
}

func execServers() []part.Status {
	processes := []server.ProcessStatus{
		{ID: "1-ABCDEFGHIJKLMNOPQRSTUVWXYZ", PID: ptr(4713), Command: []string{"sh", "-c", "make test\x1b[2J"}, Since: now.Add(-time.Minute), State: server.ProcessRunning},
		{ID: "2", Command: []string{"false"}, Since: now.Add(-time.Minute), State: server.ProcessClosed, ExitCode: ptr[int32](1)},
		{ID: "3", Command: []string{"sh", "-c", "sleep 9 &"}, Since: now.Add(-time.Second), State: server.ProcessExited, ExitCode: ptr[int32](0)},
	}
	many := make([]server.ProcessStatus, 25)
	for i := range many {
		many[i] = server.ProcessStatus{ID: fmt.Sprint(i), PID: ptr(5000 + i), Command: []string{"sleep", "9"}, Since: now, State: server.ProcessRunning}
	}
	return []part.Status{
		{Name: "agents", URL: "ws://127.0.0.1:4500", State: lifecycle.Running, Since: now.Add(-time.Hour),
			Metrics: server.Metrics{OpenSessions: 3, Processes: 27, Starts: 1234, Requests: 56789, OutputBytes: 3 << 30, LostBytes: 1 << 20},
			Sessions: []server.SessionStatus{
				{ID: "0123456789abcdef", Client: "codex-environment", Since: now.Add(-time.Hour), Peer: ptr("127.0.0.1:55314"), Processes: processes},
				{ID: "fedcba9876543210", Client: "bad\nclient", Since: now.Add(-time.Hour), Detached: ptr(now.Add(-time.Minute))},
				{ID: "aaaaaaaaaaaaaaaa", Client: "many", Since: now, Processes: many},
			}},
		{Name: "signed", URL: "unix:///run/x.sock", State: lifecycle.Restarting, Reason: ptr("address already in use"), Restarts: 3, RetryInSeconds: ptr(0.4)},
	}
}

func TestExecServers(t *testing.T) {
	for _, tt := range []struct {
		width int
		color bool
	}{{0, false}, {160, false}, {100, false}, {60, false}, {120, true}} {
		name := fmt.Sprintf("exec_servers_%d_%v.txt", tt.width, tt.color)
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			st := status()
			st.Hosts, st.Parts = nil, nil
			for _, e := range execServers() {
				st.Parts = append(st.Parts, e.Part())
			}
			s := screen(tt.width, tt.color)
			if err := s.Status(&b, st); err != nil {
				t.Fatal(err)
			}
			for _, all := range []bool{false, true} {
				if err := s.Sessions(&b, execServers(), all); err != nil {
					t.Fatal(err)
				}
			}
			golden(t, name, b.String())
		})
	}
}

func TestNoHosts(t *testing.T) {
	var b bytes.Buffer
	if err := screen(0, false).Status(&b, &supervisor.Status{Supervisor: supervisor.Info{Started: now, Version: "v1", Kill: "cgroup"}}); err != nil {
		t.Fatal(err)
	}
	if want := "hostsup v1, pid 0, up 0ms, process trees ended by cgroup\n\nno hosts are configured\n"; b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestEvents(t *testing.T) {
	run, crash := lifecycle.Running, lifecycle.Crashed
	start := lifecycle.Starting
	events := []record.Event{
		{Time: now, Kind: record.KindState, Host: ptr("ts"), To: &start, Reason: "the supervisor starts", PID: ptr(12)},
		{Time: now, Kind: record.KindState, Host: ptr("typescript"), From: &run, To: &crash, Reason: "killed by SIGKILL",
			Exit: &record.ExitInfo{Signal: ptr("SIGKILL"), Reason: "killed by SIGKILL"}, CrashID: ptr("20260301-120000.000-ts")},
		{Time: now, Kind: record.KindState, Host: ptr("ts"), From: &run, To: &crash, Reason: "bad bytes\x1b[2J\nfrom it", Exit: &record.ExitInfo{Reason: "exit 3"}},
		{Time: now, Kind: record.KindEscalated, Group: ptr("editor"), Reason: "host ts has failed"},
		{Time: now, Kind: record.KindSupervisor, Reason: "ready"},
	}
	for _, color := range []bool{false, true} {
		var b strings.Builder
		for _, ev := range events {
			b.WriteString(screen(80, color).Event(ev, NameWidth([]string{"ts", "typescript"})) + "\n")
		}
		golden(t, fmt.Sprintf("events_%v.txt", color), b.String())
	}
}

func TestLines(t *testing.T) {
	lines := []capture.Line{
		{Time: now, Stream: capture.Stdout, Text: "plain\ttext"},
		{Time: now, Stream: capture.Stderr, Text: "\x1b[31mred\x1b[0m and \x1b]0;title\x07 \x1b[2J gone"},
		{Time: now, Stream: capture.Stdout, Text: "\x1b[1;32mnever ended, \xff is no text, \u202Ereversed"},
		{Time: now, Stream: capture.Note, Text: "the log file cannot be written"},
		{Time: now, Stream: capture.Stdout, Text: "\x1b["},
	}
	for _, s := range []Screen{screen(80, true), screen(80, false)} {
		var b strings.Builder
		for _, ln := range lines {
			b.WriteString(s.Line(ln) + "\n")
		}
		golden(t, fmt.Sprintf("lines_%v.txt", s.Color), b.String())
	}
	for _, ln := range lines {
		if got := screen(0, false).Line(ln); got != ln.Text {
			t.Errorf("piped: %q, want %q", got, ln.Text)
		}
	}
}

func report() record.CrashReport {
	return record.CrashReport{
		ID: "20260301-120000.000-ts", Time: now, Host: "ts", Group: "editor", Life: 7, PID: 4711, Command: []string{"node", "my host.js", "--x=1"},
		State: lifecycle.Unresponsive, Reason: "killed: no sign of life for 30s", Exit: &record.ExitInfo{Signal: ptr("SIGKILL"), Reason: "killed by SIGKILL"},
		Core: true, Uptime: 192, User: 1.5, System: 0.25, MaxRSS: 64 << 20, Crashes: 1, Next: "killed: no sign of life for 30s: again now, crash 1 of 3 in 5m0s", Pending: 3, Protocol: "hostsup",
		Noise:    []byte("HTTP/1.1\r\n\xff"),
		Lines:    []record.ReportLine{{Time: now, Stream: "stdout", Text: "hello"}, {Time: now, Stream: "stderr", Text: "\x1b[2Jwarn"}},
		Messages: []record.Header{{Time: now, Dir: "sent", Kind: "request", ID: 17, Method: "sleep", Size: 45}, {Time: now, Dir: "received", Kind: "ack", ID: 17, Size: 8}, {Time: now, Dir: "received", Kind: "notification", Method: "log", Size: 2048}},
	}
}

func TestCrashes(t *testing.T) {
	c := report()
	bare := record.CrashReport{ID: "x", Time: now, Host: "gone", Reason: "no such program", State: lifecycle.Starting, Exit: &record.ExitInfo{Code: ptr(127), Reason: "exit 127"}}
	list := evidence.Summarize([]record.CrashReport{c, bare})
	for _, width := range []int{0, 100, 60} {
		var b bytes.Buffer
		if err := screen(width, false).Crashes(&b, list, evidence.Groups(list)); err != nil {
			t.Fatal(err)
		}
		golden(t, fmt.Sprintf("crashes_%d.txt", width), b.String())
	}
	var b bytes.Buffer
	for _, c := range []record.CrashReport{c, bare} {
		if err := screen(80, false).Crash(&b, &c, ""); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "crash.txt", b.String())
}

func TestErrors(t *testing.T) {
	var b strings.Builder
	for _, e := range []*control.Error{
		{Class: control.NoSuchHost, Message: `no host "mth" is configured`, Host: "mth", Hosts: []string{"store", "math"}},
		{Class: control.NoSuchHost, Message: `no host "x" is configured`, Host: "x", Hosts: strings.Split("abcdefghijklmn", "")},
		{Class: control.NoSuchHost, Message: `no host "x" is configured`, Host: "x"},
		{Class: control.NoSupervisor, Message: `no supervisor at /run/hostsup.sock: start one with "hostsup run"`},
		{Class: control.TimedOut, Message: `call sleep of host "ts": timed out after 5s`},
		{Class: control.HostError, Name: "RangeError", Message: "boom\x1b[2J", Code: 7, Stack: "at f\n\tat g\n", Data: []byte(`{"n":1}`),
			Cause: &control.Cause{Name: "Inner", Message: "why", Cause: &control.Cause{Message: "root"}}},
		{Class: control.HostError, Name: "Error", Message: "again", Stack: "at <a>", Data: []byte(`{"$isError":true,"name":"Error","message":"again","stack":"at <a>","noTelemetry":false}`)},
		{Class: control.HostError, Name: "Error", Message: "more", Stack: "at b", Data: []byte(`{"$isError":true,"name":"Error","message":"more","stack":"at b","code":"EPERM"}`)},
		{Class: control.HostError, Name: "Error", Message: "else", Data: []byte(`{}`)},
		{Class: control.HostError, Message: "text", Data: []byte(`"text"`)},
	} {
		b.WriteString(screen(0, false).Error(e) + "\n\n")
	}
	golden(t, "errors.txt", b.String())
}

func TestSpanAndBytes(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", 350 * time.Millisecond: "350ms", 999999999: "999ms", 9999 * time.Millisecond: "9.9s", 59999 * time.Millisecond: "59s",
		time.Minute: "1m0s", time.Hour: "1h0m", 47 * time.Hour: "47h0m", 49 * time.Hour: "2d1h",
	} {
		if got := Span(d); got != want {
			t.Errorf("Span(%v) = %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0B", 1023: "1023B", 1 << 10: "1.0KiB", 10 << 10: "10KiB", 1 << 30: "1.0GiB", 5 << 40: "5.0TiB", 5000 << 40: "5000TiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;t\x07\xff\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		for _, color := range []bool{true, false} {
			got := screen(80, color).harmless(text)
			for i := 0; i < len(got); {
				if n := sgr(got[i:]); n > 0 && color {
					i += n
					continue
				}
				r, n := utf8.DecodeRuneInString(got[i:])
				if r != '\t' && unfit(r) {
					t.Fatalf("%q keeps %q", text, r)
				}
				i += n
			}
		}
		if got := Clean(text); strings.IndexFunc(got, unfit) >= 0 {
			t.Fatalf("%q becomes %q", text, got)
		}
	})
}
