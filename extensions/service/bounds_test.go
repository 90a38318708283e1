package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/location"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// newEditor returns a service with the extension a.b and one fake host, whose life 1 is up unless
// it is early.
func newEditor(t *testing.T, early bool) (*Service, *editor) {
	t.Helper()
	s := &Service{
		tree: Tree{Journal: record.NewJournal(nil), Log: hclog.NewNullLogger(), Redact: func(s string) string { return strings.ReplaceAll(s, "SECRET", "[redacted]") }},
		base: actors.Detached(&actors.World{Log: hclog.NewNullLogger()}, actors.HostSpec{Spec: hostspec.Spec{Name: "vs"}}), log: hclog.NewNullLogger(), done: make(chan struct{}),
		refused: map[extensions.ID]string{}, disabled: map[extensions.ID]string{}, notes: map[location.Note]bool{},
		faults: map[int]*faults{}, owner: map[string]int{}, hosts: map[string]*extHost{}, waits: map[uint64]*waiter{},
		why: map[extensions.ID]string{}, history: map[extensions.ID]*history{}, command: map[string]extensions.ID{},
		registered: map[string]registration{}, reported: map[string]bool{}, wrong: map[string]bool{},
	}
	s.queue.wake = make(chan struct{}, 1)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.dialect = editors{}
	x := extensions.Extension{ID: "a.b", Value: "a.b", Main: "x", Events: []string{"onCommand:known"}}
	s.found = []extensions.Extension{x}
	s.registry, _ = extensions.NewRegistry(s.found)
	s.active = activation.New(activation.Rules{})
	at := location.Place{Kind: location.Process, Number: 1}
	name := s.name(at)
	p := s.newHost(name, 1, blame.Home)
	s.hosts[name] = p
	s.placed.Places = map[extensions.ID]location.Place{"a.b": at}
	e, ok := p.adapter.(*editor)
	if !ok {
		t.Fatalf("%T", p.adapter)
	}
	s.activation(activation.Installed{List: s.found, Where: map[extensions.ID]string{"a.b": name}})
	s.activation(activation.Boot{})
	if !early {
		p.life = 1
		s.fault(1, blame.LifeStarted{Cell: blame.Home, Life: 1})
		s.activation(activation.HostUp{Host: name, Life: 1})
		e.lifeUp()
	}
	go s.run()
	t.Cleanup(s.Close)
	return s, e
}

// says sends a request of the host.
func (p *editor) says(ctx context.Context, method, params string) error {
	_, err := p.handler(method)(ctx, &actors.Incoming{Life: 1, Method: method, Params: codec.Raw(params)})
	return err
}

func (s *Service) reasons() (out []string) {
	for e := range s.tree.Journal.Events(context.Background(), 0, false) {
		out = append(out, e.Reason)
	}
	return out
}

// The length and the number of reported errors are bounded.
func TestUncaughtErrorsAreBounded(t *testing.T) {
	s, p := newEditor(t, false)
	long, err := json.Marshal(map[string]any{"$isError": true, "name": "Error", "message": strings.Repeat("é", 1<<20), "stack": strings.Repeat("at x\n", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	const errs = 1000
	for i := range errs {
		params := fmt.Sprintf(`["a.b",{"$isError":true,"name":"Error","message":"number %d","stack":""}]`, i)
		if i == 0 {
			params = `["a.b",` + string(long) + `]`
		}
		if err := p.says(t.Context(), methodUncaught, params); err != nil {
			t.Fatal(err)
		}
	}
	p.s.post(func() { p.reportDropped(1) })
	if err := p.s.waitIdle(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := s.reasons()
	for _, r := range all {
		if len(r) > 2*maxText {
			t.Errorf("%d bytes are told", len(r))
		}
	}
	// The limit is per minute, and a slow machine may need several.
	if len(all) < errorsReported.Count || len(all) > errs/2 {
		t.Errorf("%d are told", len(all))
	}
	if last := all[len(all)-1]; !strings.Contains(last, "more errors that nobody catches are not told") {
		t.Error(last)
	}
}

func TestTextsOfHosts(t *testing.T) {
	s, _ := newEditor(t, false)
	for in, want := range map[string]string{
		"short SECRET": "short [redacted]", "": "",
		strings.Repeat("x", maxText+1):         strings.Repeat("x", maxText) + fmt.Sprintf("… (%d bytes)", maxText+1),
		"x" + strings.Repeat("é", maxText/2+1): "x" + strings.Repeat("é", maxText/2-1) + fmt.Sprintf("… (%d bytes)", maxText+3),
	} {
		if got := s.text(in); got != want {
			t.Errorf("%.20s…: %d bytes, want %d: …%s", in, len(got), len(want), got[max(0, len(got)-30):])
		}
	}
	s.tree.Redact = func(string) string { return "SEC" }
	if got := s.text(strings.Repeat("x", maxRead+1)); strings.Contains(got, "SEC") {
		t.Errorf("%s: half of a secret", got)
	}
}

// The service keeps nothing about unknown extensions.
func TestUnknownExtensionsAreNotKept(t *testing.T) {
	s, p := newEditor(t, false)
	for i := range 1000 {
		for _, method := range []string{methodWill, methodDid, methodError, methodUncaught} {
			if err := p.says(t.Context(), method, fmt.Sprintf(`["x.y%d",null,null,null,{}]`, i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := p.says(t.Context(), methodWill, `["a.b"]`); err != nil {
		t.Fatal(err)
	}
	n, err := get(t.Context(), s, func() int { return len(p.begun) + len(s.why) + len(s.history) })
	if err != nil || n > 3 || n == 0 {
		t.Errorf("%d entries are kept, %v", n, err)
	}
}

// Reports of a life before it is up are kept until then, up to a bound.
func TestEarlyReportsAreBounded(t *testing.T) {
	s, p := newEditor(t, true)
	text := strings.Repeat("x", maxEarly/64)
	for i := range 200 {
		params := fmt.Sprintf(`["a.b",{"$isError":true,"name":"Error","message":"%s"}]`, text)
		if i%2 == 0 {
			params = fmt.Sprintf(`["a.b","%s"]`, text)
		}
		method := methodWill
		if i%2 == 1 {
			method = methodUncaught
		}
		if err := p.says(t.Context(), method, params); err != nil {
			t.Fatal(err)
		}
	}
	n, err := get(t.Context(), s, func() int { return len(p.early) })
	if err != nil || n != 63 {
		t.Errorf("%d reports are kept, %v", n, err)
	}
	if all := s.reasons(); len(all) != 1 || !strings.Contains(all[0], "not followed") {
		t.Errorf("%q", all)
	}
	// The next life starts with an empty buffer.
	if _, err := get(t.Context(), s, func() bool {
		p.lifeEnded()
		p.keepEarly(report{life: 2, method: methodWill, args: []json.RawMessage{json.RawMessage(`"a.b"`)}})
		return true
	}); err != nil || len(p.early) != 1 {
		t.Errorf("%d, %v", len(p.early), err)
	}
}

// Names of commands beyond the bound do not count.
func TestNamesOfCommandsAreBounded(t *testing.T) {
	s, p := newEditor(t, false)
	name := strings.Repeat("x", maxCommand)
	for _, c := range []string{name, name + "x"} {
		if !p.extHost.adapter.noteRequest(1, methodRegister, codec.Raw(`["`+c+`"]`)) {
			t.Fatal("it is not noted")
		}
		if err := p.says(t.Context(), methodFire, `["`+c+`"]`); err != nil {
			t.Fatal(err)
		}
	}
	requested, err := get(t.Context(), s, s.active.Requested)
	requested = slices.DeleteFunc(requested, func(event string) bool { return !strings.HasPrefix(event, eventCommand) })
	if err != nil || len(requested) != 1 || requested[0] != eventCommand+name || len(s.registered) != 1 {
		t.Errorf("%d events, %d commands, %v", len(requested), len(s.registered), err)
	}
	if err := p.says(t.Context(), methodExecute, `["`+name+`x",[],false]`); err == nil {
		t.Error("it is executed")
	}
}

// A canceled request leaves nothing behind.
func TestRequestsThatAreTakenBackAreForgotten(t *testing.T) {
	s, p := newEditor(t, false)
	if err := p.says(t.Context(), methodWill, `["a.b"]`); err != nil { // without a report of the result
		t.Fatal(err)
	}
	for range 100 {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- p.says(ctx, methodNeeds, `["a.b"]`) }()
		await(t, s, func() bool { return len(s.waits) > 0 })
		cancel()
		if err := <-done; err == nil {
			t.Fatal("it is answered")
		}
		await(t, s, func() bool { return len(s.waits) == 0 })
	}
}

// await polls a condition on the loop until it is true.
func await(t *testing.T, s *Service, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(60 * time.Second); ; {
		if ok, err := get(t.Context(), s, holds); err != nil || ok {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not come to pass")
		}
	}
}

// Searches of the workspace for a host are bounded.
func TestPatternsAreBounded(t *testing.T) {
	_, p := newEditor(t, false)
	dir := t.TempDir()
	p.s.spec.Workspace = []string{dir}
	ask := func(patterns ...string) error {
		raw, err := json.Marshal([]any{[]map[string]string{{"fsPath": dir}}, patterns})
		if err != nil {
			t.Fatal(err)
		}
		return p.says(t.Context(), methodExists, string(raw))
	}
	if err := ask("**/x"); err != nil {
		t.Error(err)
	}
	for _, many := range [][]string{make([]string, maxPatterns+1), {strings.Repeat("**/", maxPattern/3+1)}} {
		if err := ask(many...); err == nil || !strings.Contains(err.Error(), "limit") {
			t.Error(err)
		}
	}
}

// The memory for mistakes in announcements, and the length of their reports, are bounded.
func TestComplaintsAreBounded(t *testing.T) {
	s, e := newEditor(t, false)
	p := &program{extHost: e.extHost}
	n, err := get(t.Context(), s, func() int {
		for i := range 3 * maxMistakes {
			for range 2 {
				p.reportMistake(newMistake("", "%d: %s", i, strings.Repeat("x", 2*maxText)))
			}
		}
		return len(s.reported)
	})
	if err != nil || n > maxMistakes {
		t.Errorf("%d are remembered, %v", n, err)
	}
	all := s.reasons()
	if len(all) != 3*maxMistakes || len(all[0]) > maxText+100 {
		t.Errorf("%d are told, the first in %d bytes", len(all), len(all[0]))
	}
}

// Reading from a host pauses while the loop has too many tasks, and resumes then.
func TestHostsWaitForTheLoop(t *testing.T) {
	s, p := newEditor(t, false)
	begun, end := make(chan struct{}), make(chan struct{})
	s.post(func() {
		close(begun)
		<-end
	})
	<-begun
	for range maxQueue - 1 {
		p.extHost.adapter.noteRequest(1, methodRegister, codec.Raw(`["c"]`))
	}
	s.pace(t.Context()) // there is room for one
	p.extHost.adapter.noteRequest(1, methodRegister, codec.Raw(`["c"]`))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.pace(gone) // a canceled reader does not wait
	paced := make(chan struct{})
	go func() {
		s.pace(t.Context())
		close(paced)
	}()
	for deadline := time.Now().Add(60 * time.Second); ; {
		s.queue.mu.Lock()
		waits := s.queue.room != nil
		s.queue.mu.Unlock()
		if waits {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("it does not wait")
		}
	}
	select {
	case <-paced:
		t.Fatal("it does not wait")
	default:
	}
	close(end)
	<-paced
}

// pace waits like the read loop of a host.
func (s *Service) pace(ctx context.Context) {
	if hold := s.queue.full(); hold != nil {
		select {
		case <-hold:
		case <-ctx.Done():
		}
	}
}

func TestRunsInItsHostOnly(t *testing.T) {
	s, _ := newEditor(t, true)
	home := s.name(location.Place{Kind: location.Process, Number: 1})
	for _, c := range []struct {
		host, id string
		want     bool
	}{{home, "a.b", true}, {home, "A.B", true}, {home, "a.c", false}, {home + "~x", "a.b", false}, {"", "a.b", false}, {"", "", false}} {
		if got, err := s.Runs(t.Context(), c.host, c.id); got != c.want || err != nil {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
