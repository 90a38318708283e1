package scm

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// host is a life.
type host struct {
	told     []string
	original string // JSON
}

func (*host) Life() uint64 { return 1 }

func (h *host) Call(_ context.Context, method string, params codec.Raw, out any) error {
	h.Tell(method, params)
	return json.Unmarshal([]byte(h.original), out)
}

func (h *host) Tell(method string, params codec.Raw) {
	h.told = append(h.told, method+string(params))
}

// call makes a call of the host h.
func call(s *Service, method string, args ...any) error {
	ref := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "h"}})
	method = "MainThreadSCM." + method
	_, err := s.Methods()[method].Now(workbench.NewCall(ref, 1, method, workbench.Params(args...)))
	return err
}

// shown returns a service with a source control of the host h.
func shown() (*Service, *host) {
	s, h := New(Options{}), &host{}
	s.controls[key{"h", 4}] = &control{Control: Control{ID: "h.1.4", Host: "h", Input: Input{Enabled: true, Visible: true}}, host: h, handle: 4}
	return s, h
}

func resources(t *testing.T, s *Service) string {
	t.Helper()
	var lines []string
	for _, g := range s.State("h")[0].Groups {
		var names []string
		for _, r := range g.Resources {
			names = append(names, strings.TrimPrefix(r.URI, "file:///")+" "+r.State)
		}
		lines = append(lines, g.Label+": "+strings.Join(names, ", "))
	}
	return strings.Join(lines, "; ")
}

// raw is a resource as a host writes it.
func raw(name, state string) []any {
	return []any{0, map[string]string{"scheme": "file", "path": "/" + name}, []any{nil, nil}, state, false, true, "c"}
}

func TestGroupsHaveWhatWasChanged(t *testing.T) {
	t.Parallel()
	s, _ := shown()
	groups := []any{
		[]any{0, "index", "Staged", map[string]bool{"hideWhenEmpty": true}, false},
		[]any{1, "working", "Changes", map[string]bool{}, false},
	}
	for _, step := range []struct {
		method string
		args   []any
		want   string
		fails  bool
	}{
		{"$registerGroups", []any{4, groups, []any{}}, "Changes: ", false},
		{"$spliceResourceStates", []any{4, []any{[]any{1, []any{[]any{0, 0, []any{raw("a", "Modified"), raw("b", "Added"), raw("c", "")}}}}}}, "Changes: a Modified, b Added, c ", false},
		{"$spliceResourceStates", []any{4, []any{
			[]any{0, []any{[]any{0, 0, []any{raw("a", "Staged")}}}},
			[]any{1, []any{[]any{0, 1, []any{}}, []any{2, 1, []any{raw("d", ""), raw("e", "")}}}},
		}}, "Staged: a Staged; Changes: b Added, d , e ", false},
		{"$updateGroupLabel", []any{4, 1, "Work"}, "Staged: a Staged; Work: b Added, d , e ", false},
		{"$updateGroup", []any{4, 0, map[string]bool{"hideWhenEmpty": false}}, "Staged: a Staged; Work: b Added, d , e ", false},
		{"$spliceResourceStates", []any{4, []any{[]any{1, []any{[]any{2, 5, []any{}}}}}}, "Staged: a Staged; Work: b Added, d , e ", true},
		{"$spliceResourceStates", []any{4, []any{[]any{9, []any{[]any{2, 5, []any{}}}}}}, "Staged: a Staged; Work: b Added, d , e ", false},
		{"$unregisterGroup", []any{4, 1}, "Staged: a Staged", false},
		{"$unregisterGroup", []any{5, 0}, "Staged: a Staged", false},
	} {
		err := call(s, step.method, step.args...)
		var e *codec.Error
		if step.fails != errors.As(err, &e) {
			t.Errorf("%s: %v", step.method, err)
		}
		if got := resources(t, s); got != step.want {
			t.Errorf("%s: %s, want %s", step.method, got, step.want)
		}
	}
	if r := s.State("")[0].Groups[0].Resources[0]; !r.Faded || r.Struck || r.Context != "c" {
		t.Errorf("%+v", r)
	}
	if err := call(s, "$unregisterSourceControl", 4); err != nil || len(s.State("")) != 0 {
		t.Errorf("%v, %v", s.State(""), err)
	}
}

func TestTheInputBoxIsWrittenByBothSides(t *testing.T) {
	t.Parallel()
	s, h := shown()
	do := func(method string, args ...any) {
		t.Helper()
		if err := call(s, method, append([]any{4}, args...)...); err != nil {
			t.Error(err)
		}
	}
	do("$setInputBoxPlaceholder", "Message\n(Enter)")
	do("$setInputBoxValue", "one\ntwo")
	do("$updateSourceControl", map[string]any{"count": 3, "commitTemplate": "T", "acceptInputCommand": map[string]any{"id": "git.commit", "arguments": []int{1}}})
	c := s.State("")[0]
	if c.Input.Value != "one\ntwo" || c.Input.Placeholder != "Message (Enter)" || *c.Count != 3 || c.Template != "T" || c.Accept != "git.commit" {
		t.Errorf("%+v", c)
	}
	if err := s.SetInput("h.1.4", "three"); err != nil || s.State("")[0].Input.Value != "three" || !slices.Equal(h.told, []string{`ExtHostSCM.$onInputBoxValueChange[4,"three"]`}) {
		t.Errorf("%v, %q", err, h.told)
	}
	do("$setInputBoxEnablement", false)
	if err := s.SetInput("h.1.4", "four"); !errors.Is(err, ErrNotAccepted) {
		t.Errorf("a disabled box is written: %v", err)
	}
	do("$setInputBoxEnablement", true)
	do("$setInputBoxVisibility", false)
	if err := s.SetInput("h.1.4", "four"); !errors.Is(err, ErrNotAccepted) {
		t.Errorf("a hidden box is written: %v", err)
	}
	do("$setInputBoxVisibility", true)
	if err := s.SetInput("h.1.4", strings.Repeat("x", maxInput+1)); !errors.Is(err, ErrNotAccepted) {
		t.Errorf("a long message is written: %v", err)
	}
	if err := s.SetInput("x", ""); !errors.Is(err, ErrNoControl) {
		t.Error(err)
	}
	if err := s.Accept(t.Context(), "x"); !errors.Is(err, ErrNoControl) {
		t.Error(err)
	}
	if err := s.Accept(t.Context(), "h.1.4"); !errors.Is(err, ErrNotAccepted) { // nothing executes commands here
		t.Error(err)
	}
	if text, err := json.Marshal(s.State("other")); err != nil || string(text) != "[]" {
		t.Errorf("%s, %v", text, err)
	}
}

// A file is compared with what the source controls say whose roots are above it.
func TestOriginalsOfFiles(t *testing.T) {
	t.Parallel()
	s, h := shown()
	c := s.controls[key{"h", 4}]
	c.root, c.Label = &workbench.URI{Scheme: "file", Path: "/x/"}, "Git"
	ask := func(host, path string) []Original {
		t.Helper()
		out, err := s.Original(t.Context(), host, workbench.File(path))
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	h.original = `{"scheme":"git","path":"/x/a","query":"q"}`
	if out := ask("", "/x/a"); len(out) != 0 {
		t.Errorf("a source control without originals is asked: %+v", out)
	}
	if err := call(s, "$updateSourceControl", 4, map[string]bool{"hasQuickDiffProvider": true}); err != nil {
		t.Fatal(err)
	}
	out := ask("h", "/x/a")
	if len(out) != 1 || out[0].Control != "h.1.4" || out[0].Label != "Git" || out[0].URI != "git:/x/a?q" || out[0].Text != nil || !strings.Contains(out[0].Error, "cannot be read here") {
		t.Errorf("%+v", out)
	}
	if want := []string{`ExtHostSCM.$provideOriginalResource[4,{"$mid":1,"scheme":"file","path":"/x/a"},{"$token":true}]`}; !slices.Equal(h.told, want) {
		t.Errorf("asked %q", h.told)
	}
	for _, one := range []struct{ host, path string }{{"h", "/xy"}, {"h", "/x"}, {"other", "/x/a"}} {
		if out := ask(one.host, one.path); len(out) != 0 {
			t.Errorf("%s: %+v", one, out)
		}
	}
	h.original = "null"
	if out := ask("", "/x/new"); len(out) != 0 {
		t.Errorf("%+v", out)
	}
}
