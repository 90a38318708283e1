package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// host is a life. answer answers its calls.
type host struct {
	told   []string
	answer func(ctx context.Context, method string, args []json.RawMessage) (string, error)
}

func (*host) Name() string { return "h" }

func (*host) Life() uint64 { return 1 }

func (h *host) Tell(method string, params codec.Raw) {
	h.told = append(h.told, strings.TrimPrefix(method, ofHost)+string(params))
}

func (h *host) Call(ctx context.Context, method string, params codec.Raw, out any) error {
	h.Tell(method, params)
	var args []json.RawMessage
	if err := json.Unmarshal(params, &args); err != nil {
		return err
	}
	answer, err := "null", error(nil)
	if h.answer != nil {
		answer, err = h.answer(ctx, method, args)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal([]byte(answer), out)
}

// call makes a call of the host.
func call(s *Service, method string, args ...any) error {
	ref := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "h"}})
	method = "MainThreadTesting." + method
	_, err := s.Methods()[method].Now(workbench.NewCall(ref, 1, method, workbench.Params(args...)))
	return err
}

func does(t *testing.T, s *Service, method string, args ...any) {
	t.Helper()
	if err := call(s, method, args...); err != nil {
		t.Errorf("%s: %v", method, err)
	}
}

type dict = map[string]any

// item is a change that adds a test.
func item(id, label string, expand int, more ...any) dict {
	out := dict{"extId": wireID(id), "label": label, "tags": []string{}, "busy": false}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return dict{"op": opAdd, "item": dict{"expand": expand, "item": out}}
}

func wireID(id string) string { return strings.ReplaceAll(id, "/", wireSeparator) }

// shown returns a service with the controller c of the host h, and its root.
func shown(t *testing.T, start ...func(context.Context) error) (*Service, *host) {
	s, h := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }}), &host{}
	if len(start) > 0 {
		s.opt.Start = start[0]
		return s, h
	}
	s.add(h, "c", "C\nc", canRefresh)
	does(t, s, "$publishDiff", "c", []any{item("c", "C", expandable)})
	return s, h
}

func profiled(t *testing.T, s *Service, id, group int, label string, more ...any) {
	t.Helper()
	p := dict{"controllerId": "c", "profileId": id, "group": group, "label": label}
	for i := 0; i < len(more); i += 2 {
		p[more[i].(string)] = more[i+1]
	}
	does(t, s, "$publishTestRunProfile", p)
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for wire, want := range map[string]string{
		"c":                       "c",
		"c\x00a b\x00file:///x/y": "c::a b::file:///x/y",
		"c\x00:a:\x00b::c":        "c::%3Aa%3A::b%3A%3Ac",
		"c\x00\x00":               "c::::",
		"c\x0050%\nx":             "c::50%25%0Ax",
	} {
		got := nameOf(wire)
		if back, err := wireOf(got); got != want || err != nil || back != wire {
			t.Errorf("%q: %q and %q, %v, want %q", wire, got, back, err, want)
		}
	}
	for _, id := range []string{"c::%", "c::%00"} {
		if _, err := wireOf(id); !errors.Is(err, ErrNoTest) {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestTestsAreReadAsTheirExtensionHasThem(t *testing.T) {
	t.Parallel()
	s, h := shown(t)
	at := []any{"uri", dict{"scheme": "file", "path": "/x"}, "range", dict{"startLineNumber": 3, "startColumn": 1, "endLineNumber": 3, "endColumn": 5}}
	h.answer = func(_ context.Context, method string, args []json.RawMessage) (string, error) {
		if method == methodExpand && string(args[0]) == `"c"` {
			does(t, s, "$publishDiff", "c", []any{
				item("c/b", "b", expandable, append(at, "description", "two", "tags", []string{"c\x00fast"})...),
				item("c/a", "hunter2", 0, "sortText", "z", "error", dict{"value": "**broken**"}),
			})
		}
		return "null", nil
	}
	read := func(q Query) string {
		t.Helper()
		tree, err := s.Read(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		return strings.Join(Lines(tree.Tests, true), "\n")
	}
	if got, want := read(Query{Depth: 0, Refresh: true}), "+ C  c\n  + b  two  /x:3:1  c::b\n    ***  error: **broken**  c::a"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if want := []string{`$refreshTests["c",{"$token":true}]`, `$syncTests[]`, `$expandTest["c",-1]`}; !slices.Equal(h.told, want) {
		t.Errorf("the host was asked %q", h.told)
	}
	if c := s.State("h")[0]; c.Label != "C c" || !c.Refresh || len(s.State("other")) != 0 {
		t.Errorf("%+v", c)
	}
	does(t, s, "$publishDiff", "c", []any{
		dict{"op": opUpdate, "item": dict{"extId": wireID("c/b"), "expand": 3, "item": dict{"label": "B", "description": nil, "busy": true, "uri": dict{"scheme": "other", "path": "/y"}, "tags": []string{}}}},
		dict{"op": opUpdate, "item": dict{"extId": wireID("c/gone"), "item": dict{"label": "B"}}},
		dict{"op": opRemove, "itemId": wireID("c/a")},
		dict{"op": 6, "tag": dict{"id": "x"}},
		item("c/b/d", "d", 0),
	})
	h.answer = nil
	if got, want := read(Query{Test: "c::b"}), "  B  other:/y:3:1  (busy)  c::b\n    d  c::b::d"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, id := range []string{"c::b::x", "c::x::y", "d::b"} {
		if got := read(Query{Test: id}); !strings.HasPrefix(got, "no such test") {
			t.Errorf("%s: %s", id, got)
		}
	}
	if err := call(s, "$publishDiff", "c", []any{item("c/x/y", "y", 0)}); err == nil {
		t.Error("a test below one that is not there is taken")
	}
	does(t, s, "$updateController", "c", dict{"label": "new", "capabilities": 0})
	if c := s.State("")[0]; c.Label != "new" || c.Refresh {
		t.Errorf("%+v", c)
	}
	does(t, s, "$unregisterTestController", "c")
	does(t, s, "$updateController", "c", dict{})
	if got := read(Query{}); got != "" {
		t.Errorf("after the end: %s", got)
	}
}

// However many tests an extension has, a bounded part is read.
func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	s, _ := shown(t)
	var many []any
	for i := range maxRead {
		many = append(many, item(fmt.Sprintf("c/%d", i), "x", 0))
	}
	does(t, s, "$publishDiff", "c", many)
	tree, err := s.Read(t.Context(), Query{})
	if err != nil || !tree.Truncated || len(tree.Tests[0].Tests) != maxRead-1 {
		t.Errorf("%d tests, %v", len(tree.Tests[0].Tests), err)
	}
	if err := call(s, "$publishDiff", "c", []any{item("c/"+strings.Repeat("x", maxID), "x", 0)}); err == nil {
		t.Error("a long id is taken")
	}
}

// runs answers a run by what f does in it.
func runs(h *host, f func(ctx context.Context, run string, order map[string]any) string) {
	h.answer = func(ctx context.Context, method string, args []json.RawMessage) (string, error) {
		var orders []map[string]any
		if method != methodRun {
			return "null", nil
		}
		if err := json.Unmarshal(args[0], &orders); err != nil {
			return "", err
		}
		var answers []string
		for _, o := range orders {
			answers = append(answers, f(ctx, o["runId"].(string), o))
		}
		return "[" + strings.Join(answers, ",") + "]", ctx.Err()
	}
}

func TestResultsOfARun(t *testing.T) {
	t.Parallel()
	s, h := shown(t)
	profiled(t, s, 1, 2, "Other")
	profiled(t, s, 2, 2, "Run", "isDefault", true)
	profiled(t, s, 3, 4, "Debug", "isDefault", true)
	profiled(t, s, 4, 2, "Fast", "tag", "c\x00fast")
	does(t, s, "$publishDiff", "c", []any{item("c/a", "a", 0), item("c/b", "b", 0, "tags", []string{"c\x00fast"})})
	var orders []string
	runs(h, func(_ context.Context, run string, o map[string]any) string {
		orders = append(orders, fmt.Sprint(o["profileId"], o["testIds"], o["excludeExtIds"]))
		does(t, s, "$startedTestRunTask", run, dict{"id": "t"})
		does(t, s, "$addTestsToRun", "c", run, []any{dict{"extId": "c", "label": "C"}, dict{"extId": wireID("c/a"), "label": "a"}})
		does(t, s, "$updateTestStateInRun", run, "t", wireID("c/a"), 2)
		does(t, s, "$updateTestStateInRun", run, "t", wireID("c/b"), 1)
		does(t, s, "$appendTestMessagesInRun", run, "t", wireID("c/a"), []any{dict{
			"message": dict{"value": "\x1b[31mhunter2\x1b[0m\nis wrong"}, "expected": "1", "actual": "2",
			"location":   dict{"uri": dict{"scheme": "file", "path": "/x"}, "range": dict{"startLineNumber": 3, "startColumn": 1, "endLineNumber": 3, "endColumn": 5}},
			"stackTrace": []any{dict{"label": "f", "uri": dict{"scheme": "file", "path": "/x"}, "position": dict{"lineNumber": 4, "column": 2}}},
		}})
		does(t, s, "$appendOutputToRun", run, "t", workbench.Bytes("hun"))
		does(t, s, "$appendOutputToRun", run, "t", workbench.Bytes("ter2\r\n\x1b[1mbold\x1b[0m\r\n"))
		does(t, s, "$updateTestStateInRun", run, "t", wireID("c/a"), 4, 12.5)
		does(t, s, "$finishedTestRunTask", run, "t")
		return `{"error":"Error: hunter2"}`
	})
	out, err := s.Run(t.Context(), Request{Tests: []string{"c::a", "c::b"}, Exclude: []string{"c::a", "c::c"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"failed  C > a  12.5ms", "  /x:3:1: ***", "    is wrong", "  expected: 1", "  actual: 2", "  at f /x:4:2",
		"unset  C", "error: Error: ***", "run " + out.ID + ": failed: 1 failed, 1 unset",
	}
	if got := out.Lines(); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if out.Output != "***\nbold\n" || out.Truncated || out.Ended == nil {
		t.Errorf("%+v", out)
	}
	for _, q := range []Request{{}, {Tests: []string{"c::b"}, Profile: "Fast"}, {Profile: "Debug"}} {
		if _, err := s.Run(t.Context(), q); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"2 [c\x00a c\x00b] [c\x00c]", "2 [c] []", "4 [c\x00b] []", "3 [c] []"}; !slices.Equal(orders, want) {
		t.Errorf("%q", orders)
	}
	for want, q := range map[error]Request{
		ErrNoProfile: {Tests: []string{"c::a"}, Profile: "Fast"}, ErrNoTest: {Tests: []string{"c::x"}},
	} {
		if _, err := s.Run(t.Context(), q); !errors.Is(err, want) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	does(t, s, "$updateTestRunConfig", "c", 2, dict{"isDefault": false, "label": "L", "tag": "c\x00t"})
	does(t, s, "$removeTestProfile", "c", 1)
	if p := s.State("")[0].Profiles; len(p) != 3 || p[0] != (Profile{Label: "L", Kind: "run", Tag: "t", id: 2}) {
		t.Errorf("%+v", p)
	}
}

// A run without a result of a test has not passed.
func TestARunWithoutTestsIsEmpty(t *testing.T) {
	t.Parallel()
	s, h := shown(t)
	profiled(t, s, 1, 2, "Run")
	runs(h, func(context.Context, string, map[string]any) string { return "{}" })
	out, err := s.Run(t.Context(), Request{})
	if err != nil || out.State != Empty || len(out.Results) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
	s, h = shown(t)
	profiled(t, s, 1, 2, "Run")
	h.answer = func(_ context.Context, method string, _ []json.RawMessage) (string, error) {
		if method == methodRun {
			return "", errors.New("the host has crashed")
		}
		return "null", nil
	}
	if out, err := s.Run(t.Context(), Request{}); err != nil || out.State != Failed || !slices.Equal(out.Errors, []string{"the host has crashed"}) {
		t.Errorf("%+v, %v", out, err)
	}
}

// A run is canceled by its caller and by others. The host is told, and has time to end it.
func TestRunsAreCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, h := shown(t)
		profiled(t, s, 1, 2, "Run")
		began := make(chan string)
		runs(h, func(ctx context.Context, run string, _ map[string]any) string {
			does(t, s, "$startedTestRunTask", run, dict{"id": "t"})
			does(t, s, "$updateTestStateInRun", run, "t", "c", 2)
			began <- run
			<-ctx.Done()
			return "{}"
		})
		ended := make(chan error)
		var out *Run
		begin := func(ctx context.Context) {
			go func() {
				var err error
				out, err = s.Run(ctx, Request{})
				ended <- err
			}()
		}
		begin(t.Context())
		id := <-began
		if err := s.Cancel(id); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if !slices.Contains(h.told, `$cancelExtensionTestRun["`+id+`"]`) || s.Runs("h")[0].State != Running {
			t.Errorf("%q, %+v", h.told, s.Runs(""))
		}
		does(t, s, "$updateTestStateInRun", id, "t", "c", 5)
		does(t, s, "$finishedTestRunTask", id, "t")
		if err := <-ended; err != nil || out.State != Canceled || out.Results[0].State != Skipped {
			t.Errorf("%+v, %v", out, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		begin(ctx)
		<-began
		cancel()
		before := time.Now()
		if err := <-ended; !errors.Is(err, context.Canceled) || out.State != Canceled || out.Results[0].State != Unset || time.Since(before) != canceled {
			t.Errorf("%+v, %v after %v", out, err, time.Since(before))
		}
		if err := s.Cancel("x"); !errors.Is(err, ErrNoRun) {
			t.Error(err)
		}
		if err := s.Cancel(id); err != nil { // it has ended
			t.Error(err)
		}
	})
}

// A host without controllers is started, and what it does not have is said.
func TestTheHostIsStarted(t *testing.T) {
	t.Parallel()
	started := 0
	s, _ := shown(t, func(context.Context) error { started++; return nil })
	for _, err := range []error{
		func() error { _, err := s.Run(t.Context(), Request{}); return err }(),
		func() error { _, err := s.Read(t.Context(), Query{Test: "c"}); return err }(),
	} {
		if !errors.Is(err, ErrNoTest) {
			t.Error(err)
		}
	}
	if tree, err := s.Read(t.Context(), Query{}); err != nil || len(tree.Tests) != 0 || started != 3 {
		t.Errorf("%+v, %v, started %d times", tree, err, started)
	}
	s.opt.Start = func(context.Context) error { return errors.New("no node") }
	if _, err := s.Read(t.Context(), Query{}); err == nil || err.Error() != "no node" {
		t.Error(err)
	}
}

// The last runs are kept, and hosts are told of those that are forgotten.
func TestRunsAreKept(t *testing.T) {
	t.Parallel()
	s, h := shown(t)
	for i := range maxRuns + 2 {
		r := s.begin(fmt.Sprint(i), "h")
		r.hosts[h] = true
		if i > 0 {
			does(t, s, "$finishedExtensionTestRun", fmt.Sprint(i))
		}
	}
	var ids []string
	for _, r := range s.Runs("h") {
		ids = append(ids, r.ID)
	}
	if len(ids) != maxRuns || ids[0] != "0" || ids[1] != "3" || !slices.Equal(h.told, []string{`$disposeRun["1"]`, `$disposeRun["2"]`}) {
		t.Errorf("%v, %q", ids, h.told)
	}
	does(t, s, "$appendOutputToRun", "5", "t", workbench.Bytes("x"))
	if out := s.Runs("")[3]; out.ID != "5" || out.Output != "" {
		t.Errorf("a run that has ended gets output: %+v", out)
	}
}
