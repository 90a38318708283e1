package control_test

import (
	"bytes"
	stdcmp "cmp"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

var update = flag.Bool("update", false, "write the golden files anew")

func ptr[T any](v T) *T { return &v }

// everything returns a supervisor with one host that has every field and one that
// has none.
func everything() *controltest.Supervisor {
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456789, time.UTC)
	exit := &record.ExitInfo{Signal: ptr("SIGKILL"), Reason: "killed by SIGKILL", At: at}
	full := controltest.NewHost(record.HostStatus{
		Name: "ts", Group: "editor", Protocol: "hostsup", State: lifecycle.Restarting, Reason: ptr("killed by SIGKILL"),
		Life: 7, PID: ptr(4711), Restarts: 6, CrashesInWindow: 2, MaxCrashes: 3, Since: at, Started: &at, Eager: true, CrashID: ptr("c1"), Pending: 4, Liveness: "ping",
		LastExit: exit, RSSBytes: ptr[int64](1 << 20), CPUSeconds: ptr(1.25), Slow: true, RetryInSeconds: ptr(0.5),
		Log:       record.LogStatus{Written: 12, WrittenBytes: 900, Lost: 3, LostBytes: 200, Error: ptr("no space left on device")},
		DependsOn: []string{"db"}, Sandbox: record.SandboxStatus{Level: "none", Missing: []string{"x"}},
	})
	full.Enc = native.New()
	full.Output = []capture.Line{
		{Seq: 1, Time: at, Life: 7, Stream: capture.Stdout, Text: "<b> & \"é\""},
		{Seq: 5, Time: at, Life: 7, Stream: capture.Stderr, Text: "late", Lost: 3},
	}
	full.OnInspect = func(context.Context) (*supervisor.Inspection, error) {
		return &supervisor.Inspection{Host: "ts", Life: 7, PID: 4711, URL: "ws://127.0.0.1:9229/x", DevTools: "devtools://devtools/x", Apart: true}, nil
	}
	full.OnCall = func(context.Context, control.Call) (codec.Raw, error) {
		return nil, &codec.Error{Name: "RangeError", Message: "boom", Code: 7, Stack: "at f", Cause: &codec.Error{Name: "Inner", Message: "why"}}
	}
	return &controltest.Supervisor{
		Info: supervisor.Info{PID: 1, Version: "v1.2.3", Started: at, Config: ptr("/etc/hostsup.hcl"), Socket: ptr("/run/hostsup.sock"),
			Kill: "keeper", Missing: []string{"no cgroup: not delegated"}},
		Groups:  []record.GroupStatus{{Name: "editor", Strategy: lifecycle.OneForAll, Hosts: []string{"ts"}}, {Name: "alone"}},
		Members: []*controltest.Host{full, controltest.NewHost(record.HostStatus{Name: "alone", Group: "alone", Protocol: "none", State: lifecycle.Stopped, Since: at, StoppedByPerson: true, Liveness: "none"})},
		Parts: []supervisor.PartStatus{
			part.Status{
				Name: "agents", URL: "ws://127.0.0.1:4500", State: lifecycle.Restarting, Reason: ptr("accept failed"), Since: at, Restarts: 2,
				RetryInSeconds: ptr(0.25), Metrics: server.Metrics{Connections: 3, Open: 1, Sessions: 2, OpenSessions: 1, Requests: 40, BytesIn: 1000, BytesOut: 2000,
					Starts: 5, Processes: 1, OutputBytes: 1500, LostBytes: 7},
				Sessions: []server.SessionStatus{
					{ID: "s1", Client: "codex", Since: at, Peer: ptr("127.0.0.1:9"), Processes: []server.ProcessStatus{
						{ID: "1", PID: ptr(4712), Command: []string{"sh"}, Dir: "file:///tmp", Since: at, State: server.ProcessRunning, RetainedBytes: 3},
						{ID: "2", Command: []string{"false"}, Dir: "file:///tmp", TTY: true, Since: at, State: server.ProcessClosed, ExitCode: ptr[int32](1), DroppedBytes: 7}}},
					{ID: "s2", Client: "codex", Since: at, Detached: &at},
				},
			}.Part(),
			part.Status{Name: "empty", URL: "unix:///run/x.sock", State: lifecycle.Running, Since: at}.Part(),
		},
		Units: []extensions.Status{
			{
				Host: "ts", Place: "ts-2", ID: "golang.go", Version: "0.52.2", State: "active", Why: "onLanguage:go",
				Activation: &extensions.Activation{Event: "onLanguage:go", CodeLoading: 12.5, ActivateCall: 3.25, ActivateResolved: 40},
				Blame:      extensions.Blame{SuspectIn: 2, Quarantined: true, Decision: "it alone is a suspect in 2 of 2 crashes in 5m0s"},
			},
			{Host: "ts", ID: "acme.theme", Version: "1.0.0", State: "inactive"},
		},
		OnLanguage: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`[{"contents":["text"]}]`), nil
		},
		Asking: []questions.Question{
			{ID: "k3bq7a2x", Host: "ts", Extension: "golang.go", Kind: questions.Message, Text: "Install the tools?", Items: []string{"Yes", "No"}, Asked: at, Until: at.Add(questions.DefaultWait)},
			{ID: "m5cd2w7y", Host: "ts", Kind: questions.Input, Text: "the password", Password: true, Asked: at, Until: at.Add(questions.DefaultWait)},
		},
		Shown: status.State{
			Entries: []status.Entry{
				{Host: "ts", Extension: "vscode.git", Kind: status.Bar, Name: "Git", Text: "main*", Detail: "main", Severity: "warning", Busy: true, Command: "git.checkout", Since: at},
			},
			Progress: []status.Progress{
				{ID: "p7xk2m4a", Host: "ts", Extension: "golang.go", Title: "Indexing", Message: "src", Percent: ptr(40.0), Location: "notification", Started: at, Cancelable: true, Canceled: true},
				{ID: "q2xk2m4a", Host: "ts", Extension: "golang.go", Title: "Loading", Location: "window", Started: at},
			},
		},
		Sources: []scm.Control{{
			ID: "ts.7.0", Host: "ts", Kind: "git", Label: "Git", Root: "file:///srv/x", Count: ptr(1), Accept: "git.commit", Template: "T",
			Groups: []scm.ResourceGroup{{ID: "index", Label: "Staged Changes", Resources: []scm.Resource{{URI: "file:///srv/x/a", State: "Index Modified", Context: "c", Struck: true, Faded: true}}}},
			Input:  scm.Input{Value: "text", Placeholder: "Message", Enabled: true, Visible: true},
		}},
		Trees: []views.Tree{{
			View: views.View{Host: "ts", ID: "acme.tree", Title: "Tests", Description: "all", Message: "2 failed", Badge: &views.Badge{Value: 2, Tooltip: "failed"}, Visible: true, Selection: []string{"0/0:a"}, Many: true},
			Items: []views.Item{{
				Handle: "0/0:a", Label: "a", Description: "1 s", Tooltip: "the first", Resource: "file:///srv/a", Command: "vscode.open", Context: "test", Icon: "beaker", State: views.Expanded, Checked: ptr(true),
				Items: []views.Item{{Handle: "0/0:a/0:b", Label: "b", State: views.Leaf}},
			}},
		}},
		Files: controltest.Files{
			Decorations: []fileinfo.Decoration{{URI: "file:///srv/x/a", Host: "ts", Extension: "vscode.git", Badge: "M", Tooltip: "Modified", Color: "git.modified", Propagates: true}},
			Moments:     []fileinfo.Moment{{Host: "ts", Source: "Git", ID: "c0ffee", Time: at, Label: "first", Description: "A", Tooltip: "the first", Command: "git.timeline.openDiff", Context: "git:file:commit"}},
			Originals: []scm.Original{
				{Control: "ts.7.0", Host: "ts", Label: "Git", URI: "git:/srv/x/a?q", Text: ptr("one")},
				{Control: "ts.7.1", Host: "ts", Label: "Other", URI: "other:/a", Error: "no file system"},
			},
		},
		Tests: testsOfEverything(at),
		OnRescan: func(context.Context, string) ([]extensions.Difference, error) {
			return []extensions.Difference{
				{Host: "ts", ID: "acme.css", Change: extensions.Added, After: "1.0.0"},
				{Host: "ts", ID: "golang.go", Change: extensions.Changed, Before: "0.52.1", After: "0.52.2"},
				{Host: "ts", ID: "acme.words", Change: extensions.Removed, Before: "1.2.0"},
			}, nil
		},
		History: []supervisor.Event{
			{Seq: 1, Time: at, Kind: record.KindSupervisor, Reason: "ready"},
			{Lost: 2},
			{Seq: 4, Time: at, Kind: record.KindState, Group: ptr("editor"), Host: ptr("ts"), Life: ptr[uint64](7), PID: ptr(4711),
				From: ptr(lifecycle.Running), To: ptr(lifecycle.Crashed), Reason: "killed by SIGKILL", Exit: exit, CrashID: ptr("c1")},
		},
		Reports: []record.CrashReport{{ID: "c1", Time: at, Host: "ts", Group: "editor", Life: 7, State: lifecycle.Running, Exit: exit}},
	}
}

// testsOfEverything is the part of everything about tests.
func testsOfEverything(at time.Time) controltest.Tests {
	place := tests.Location{URI: "file:///srv/x/calc.js", Range: &language.Range{Start: language.Position{Line: 2}, End: language.Position{Line: 4, Character: 1}}}
	return controltest.Tests{
		Controllers: []tests.Controller{{Host: "ts", ID: "calc", Label: "Calc", Refresh: true, Profiles: []tests.Profile{{Label: "Run", Kind: "run", Default: true, Tag: "fast"}}}},
		Tree: tests.TestTree{Truncated: true, Tests: []tests.Test{{
			ID: "calc", Label: "Calc", Tests: []tests.Test{
				{ID: "calc::a", Label: "adds", Description: "fast", Tags: []string{"fast"}, Location: place},
				{ID: "calc::b", Label: "slow", Error: "no compiler", Busy: true, More: true},
			},
		}}},
		Runs: []tests.Run{{
			ID: "k3bq7a2x", Host: "ts", State: tests.Failed, Started: at, Ended: ptr(at.Add(time.Second)), Errors: []string{"no compiler"}, Output: "text\n", Truncated: true,
			Results: []tests.Result{{
				Test: "calc::a", Labels: []string{"Calc", "adds"}, State: tests.Failed, Seconds: ptr(0.5), Location: place,
				Messages: []tests.Failure{{Text: "wrong", Expected: ptr("4"), Actual: ptr("5"), Location: place, Stack: []tests.Frame{{Label: "add", URI: "file:///srv/x/calc.js", Position: &language.Position{Line: 2}}}}},
			}},
		}},
	}
}

// sampled returns two samples of the hosts of everything.
func sampled() *samples.Store {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	ts := samples.Reading{Host: "ts", State: lifecycle.Running, Life: 7, Restarts: 6, Calls: 10, Pending: 4, Memory: 1 << 20, CPU: time.Second}
	s := samples.NewStore()
	s.Add(at, []samples.Reading{ts})
	ts.Calls, ts.CPU, ts.State = 20, 2*time.Second, lifecycle.Unresponsive
	ts.Responses.Buckets[4], ts.Responses.Count = 10, 10
	s.Add(at.Add(samples.Interval), []samples.Reading{ts, {Host: "alone", State: lifecycle.Stopped, Memory: -1, CPU: -1}})
	return s
}

// Scripts read these documents: a changed shape must show here.
func TestShapes(t *testing.T) {
	socket := controltest.Serve(t, everything(), control.Options{Version: "v1.2.3", Samples: sampled()})
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer web.CloseIdleConnections()
	doc := newSchemas(t)
	// The path of the document is that of the request, unless it is named.
	tests := []struct{ name, method, path, body, kind, documented string }{
		{"status.json", "GET", "/v1/status", "", "application/json", ""},
		{"host.json", "POST", "/v1/hosts/alone/stop", "", "application/json", "/v1/hosts/{host}/stop"},
		{"caller.json", "GET", "/v1/caller", "", "application/json", ""},
		{"samples.json", "GET", "/v1/samples?host=ts&host=alone", "", "application/json", "/v1/samples"},
		{"error_samples.json", "GET", "/v1/samples?host=tss", "", "application/json", "/v1/samples"},
		{"events.ndjson", "GET", "/v1/events", "", "application/x-ndjson", ""},
		{"logs.ndjson", "GET", "/v1/hosts/ts/logs?n=10", "", "application/x-ndjson", "/v1/hosts/{host}/logs"},
		{"all_logs.ndjson", "GET", "/v1/logs?n=1&host=ts", "", "application/x-ndjson", "/v1/logs"},
		{"crashes.json", "GET", "/v1/crashes", "", "application/json", ""},
		{"crash.json", "GET", "/v1/crashes/c1", "", "application/json", "/v1/crashes/{id}"},
		{"extensions.json", "GET", "/v1/extensions?host=ts", "", "application/json", ""},
		{"extension.json", "POST", "/v1/extensions/acme.theme/disable", "", "application/json", "/v1/extensions/{id}/{verb}"},
		{"rescan.json", "POST", "/v1/extensions/rescan?host=ts", "", "application/json", ""},
		{"language.json", "POST", "/v1/language", `{"query":{"feature":"hover"}}`, "application/json", ""},
		{"questions.json", "GET", "/v1/questions?host=ts", "", "application/json", "/v1/questions"},
		{"answer.json", "POST", "/v1/questions/k3bq7a2x", `{"values":["Yes"]}`, "application/json", "/v1/questions/{id}"},
		{"error_question.json", "POST", "/v1/questions/x", `{"dismiss":true}`, "application/json", "/v1/questions/{id}"},
		{"activity.json", "GET", "/v1/activity?host=ts", "", "application/json", "/v1/activity"},
		{"cancel.json", "POST", "/v1/activity/p7xk2m4a/cancel", "", "application/json", "/v1/activity/{id}/cancel"},
		{"error_progress.json", "POST", "/v1/activity/x/cancel", "", "application/json", "/v1/activity/{id}/cancel"},
		{"views.json", "GET", "/v1/views?host=ts", "", "application/json", "/v1/views"},
		{"view.json", "POST", "/v1/views/acme.tree/read?depth=1", "", "application/json", "/v1/views/{id}/read"},
		{"view_item.json", "POST", "/v1/views/acme.tree/read?item=0%2F0%3Aa", "", "application/json", "/v1/views/{id}/read"},
		{"act.json", "POST", "/v1/views/acme.tree/act", `{"action":"select","items":["0/0:a"]}`, "application/json", "/v1/views/{id}/act"},
		{"error_view.json", "POST", "/v1/views/x/read?host=ts", "", "application/json", "/v1/views/{id}/read"},
		{"error_item.json", "POST", "/v1/views/acme.tree/act", `{"action":"select","items":["x"]}`, "application/json", "/v1/views/{id}/act"},
		{"scm.json", "GET", "/v1/scm?host=ts", "", "application/json", "/v1/scm"},
		{"commit.json", "POST", "/v1/scm/ts.7.0", `{"message":"m","accept":true}`, "application/json", "/v1/scm/{id}"},
		{"error_scm.json", "POST", "/v1/scm/x", `{"accept":true}`, "application/json", "/v1/scm/{id}"},
		{"decorations.json", "POST", "/v1/files/decorations", `{"host":"ts","uris":["file:///srv/x/a"]}`, "application/json", ""},
		{"timeline.json", "POST", "/v1/files/timeline", `{"uri":"file:///srv/x/a","limit":1}`, "application/json", ""},
		{"originals.json", "POST", "/v1/files/originals", `{"uri":"file:///srv/x/a"}`, "application/json", ""},
		{"error_file.json", "POST", "/v1/files/timeline", `{"uri":"/srv/x/a"}`, "application/json", "/v1/files/timeline"},
		{"test_controllers.json", "GET", "/v1/tests?host=ts", "", "application/json", "/v1/tests"},
		{"tests.json", "POST", "/v1/hosts/ts/tests/read?depth=2", "", "application/json", "/v1/hosts/{host}/tests/read"},
		{"error_test.json", "POST", "/v1/hosts/ts/tests/read?test=x", "", "application/json", "/v1/hosts/{host}/tests/read"},
		{"test_run.json", "POST", "/v1/hosts/ts/tests/run", `{"tests":["calc"],"exclude":["calc::a"],"profile":"Run"}`, "application/json", "/v1/hosts/{host}/tests/run"},
		{"test_runs.json", "GET", "/v1/tests/runs?host=ts", "", "application/json", "/v1/tests/runs"},
		{"test_cancel.json", "POST", "/v1/tests/runs/k3bq7a2x/cancel", "", "application/json", "/v1/tests/runs/{id}/cancel"},
		{"error_test_run.json", "POST", "/v1/tests/runs/x/cancel", "", "application/json", "/v1/tests/runs/{id}/cancel"},
		{"activate.json", "POST", "/v1/activate", `{"event":"onLanguage:go"}`, "application/json", ""},
		{"inspect.json", "POST", "/v1/hosts/ts/inspect", "", "application/json", "/v1/hosts/{host}/inspect"},
		{"error_extension.json", "POST", "/v1/extensions/golang.g/release?host=ts", "", "application/json", "/v1/extensions/{id}/{verb}"},
		{"error.json", "POST", "/v1/hosts/ts/call", `{"method":"m"}`, "application/json", "/v1/hosts/{host}/call"},
		{"error_host.json", "POST", "/v1/hosts/tss/start", "", "application/json", "/v1/hosts/{host}/start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://h"+tt.path, bytes.NewBufferString(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			res, err := web.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			if got := res.Header.Get("Content-Type"); got != tt.kind {
				t.Errorf("Content-Type %q", got)
			}
			got, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			at, _, _ := strings.Cut(tt.path, "?")
			doc.check(t, doc.operation(t, tt.method, stdcmp.Or(tt.documented, at)), res.StatusCode, tt.kind, got)
			if tt.kind == "application/json" {
				var b bytes.Buffer
				if err := json.Indent(&b, got, "", "  "); err != nil {
					t.Fatal(err)
				}
				got = b.Bytes()
			}
			golden(t, tt.name, got)
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got), -update writes it anew:\n%s", path, diff)
	}
}
