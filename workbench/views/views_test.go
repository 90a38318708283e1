package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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

// host is a life with items, by the handle of the one above.
type host struct {
	items map[string]string // JSON objects
	told  []string
}

func (*host) Life() uint64 { return 1 }

func (h *host) Tell(method string, params codec.Raw) {
	h.told = append(h.told, strings.TrimPrefix(method, ofHost)+string(params))
}

func (h *host) Call(_ context.Context, method string, params codec.Raw, out any) error {
	var args []json.RawMessage
	if err := json.Unmarshal(params, &args); err != nil {
		return err
	}
	var answer string
	switch method {
	case methodChildren:
		var above []string
		if len(args) > 1 {
			if err := json.Unmarshal(args[1], &above); err != nil {
				return err
			}
		}
		answer = "null"
		if below := h.items[strings.Join(above, "")]; below != "" {
			answer = "[[0," + below + "]]"
		}
	case methodHasTip:
		answer = "false"
	default:
		h.Tell(method, params)
		return nil
	}
	return json.Unmarshal([]byte(answer), out)
}

// shown returns a service with a view "v" of a host "h" that has items.
func shown(items map[string]string) (*Service, *host) {
	s, h := New(Options{}), &host{items: items}
	v := &view{View: View{Host: "h", ID: "v"}, host: h, expanded: map[string]bool{}, checked: map[string]bool{}, items: map[string]wireItem{}}
	s.views[v.key()] = v
	return s, h
}

// call makes a call of the host.
func call(t *testing.T, s *Service, method string, args ...any) {
	t.Helper()
	ref := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "h"}})
	method = "MainThreadTreeViews." + method
	if out, err := s.Methods()[method].Now(workbench.NewCall(ref, 1, method, workbench.Params(args...))); out != nil || err != nil {
		t.Fatalf("%s: %v, %v", method, out, err)
	}
}

func TestItemsAreReadAsAWindowShowsThem(t *testing.T) {
	t.Parallel()
	s, _ := shown(map[string]string{
		"":  `{"handle":"a","label":{"label":"A $(x)"},"tooltip":{"value":"**a**"},"collapsibleState":2},{"handle":"b","resourceUri":{"scheme":"file","path":"/x/b.go"},"description":true,"collapsibleState":1},null`,
		"a": `{"handle":"c","label":{"label":"C\nc"},"collapsibleState":1},{"handle":"d","label":{"label":"D"},"checkbox":{"isChecked":true}}`,
		"c": `{"handle":"e","label":{"label":"E"}}`, "b": `{"handle":"f","label":{"label":"F"}}`,
	})
	text := func(q Query) string {
		t.Helper()
		q.View = "v"
		tree, err := s.Read(t.Context(), q)
		if err != nil {
			return err.Error()
		}
		var lines func([]Item) string
		lines = func(list []Item) (out string) {
			for _, item := range list {
				out += item.Label + "(" + lines(item.Items) + ")"
			}
			return out
		}
		return lines(tree.Items)
	}
	for _, c := range []struct {
		q    Query
		want string
	}{
		{Query{}, "A $(x)(C c()D())b.go()"},
		{Query{Depth: 1}, "A $(x)(C c(E())D())b.go(F())"},
		{Query{Item: "b"}, "F()"},
		{Query{Item: "x"}, `no such item: "x" is not known in the view v: read its items first`},
		{Query{Host: "other"}, `no such view: "v"`},
	} {
		if got := text(c.q); got != c.want {
			t.Errorf("%+v: %s, want %s", c.q, got, c.want)
		}
	}
	if err := s.Act(t.Context(), "", "v", Collapse, "a"); err != nil {
		t.Error(err)
	}
	if got := text(Query{}); got != "A $(x)()b.go()" {
		t.Errorf("collapsed: %s", got)
	}
	call(t, s, "$refresh", "v")
	if got := text(Query{Item: "a"}); !strings.HasPrefix(got, "no such item") {
		t.Errorf("after a change of all: %s", got)
	}
}

// However much an extension has, a bounded part is read.
func TestReadingIsBounded(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range maxItems + 1 {
		many = append(many, fmt.Sprintf(`{"handle":"%d","label":{"label":"x"}}`, i))
	}
	s, _ := shown(map[string]string{"": strings.Join(many, ",")})
	if tree, err := s.Read(t.Context(), Query{View: "v"}); err != nil || len(tree.Items) != maxItems || !tree.Truncated {
		t.Errorf("%d items, %v", len(tree.Items), err)
	}
	s, _ = shown(map[string]string{"": `{"handle":"a","label":{"label":"A"},"collapsibleState":2}`, "a": `{"handle":"a","label":{"label":"A"},"collapsibleState":2}`})
	tree, err := s.Read(t.Context(), Query{View: "v"})
	if err != nil || !tree.Truncated {
		t.Fatalf("%v", err)
	}
	levels := 0
	for list := tree.Items; len(list) > 0; list = list[0].Items {
		levels++
	}
	if levels != maxDepth {
		t.Errorf("%d levels", levels)
	}
}

// Extensions are told what a user does, and of a reveal what it changes.
func TestWhatExtensionsAreTold(t *testing.T) {
	t.Parallel()
	s, h := shown(map[string]string{"": `{"handle":"a","label":{"label":"A"},"collapsibleState":1,"checkbox":{"isChecked":false}}`})
	if _, err := s.Read(t.Context(), Query{View: "v"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing changes
		for _, c := range []struct {
			action Action
			items  []string
		}{{Show, nil}, {Expand, []string{"a"}}, {Select, []string{"a"}}} {
			if err := s.Act(t.Context(), "h", "v", c.action, c.items...); err != nil {
				t.Errorf("%s: %v", c.action, err)
			}
		}
	}
	if err := s.Act(t.Context(), "h", "v", Check, "a"); err != nil {
		t.Error(err)
	}
	item := func(handle string) map[string]any {
		return map[string]any{"handle": handle, "label": map[string]string{"label": handle}, "collapsibleState": 1}
	}
	at := map[string]any{"item": item("c"), "parentChain": []any{item("a"), item("b")}}
	call(t, s, "$reveal", "v", at, map[string]any{"select": true, "focus": true, "expand": 2})
	call(t, s, "$reveal", "v", at, map[string]any{"select": false, "focus": false, "expand": false})
	want := []string{
		`$setVisible["v",true]`, `$setExpanded["v","a",true]`, `$setSelectionAndFocus["v",["a"],"a"]`,
		`$changeCheckboxState["v",[{"treeItemHandle":"a","newState":true}]]`,
		`$setExpanded["v","b",true]`, `$setSelectionAndFocus["v",["c"],"c"]`, `$setExpanded["v","c",true]`,
	}
	if !slices.Equal(h.told, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(h.told, "\n"), strings.Join(want, "\n"))
	}
	for _, c := range []struct {
		action Action
		items  []string
		want   error
	}{
		{Show, []string{"a"}, ErrAction}, {Select, nil, ErrAction}, {Select, []string{"a", "c"}, ErrAction}, {Run, []string{"a"}, ErrAction},
		{Check, []string{"c"}, ErrAction}, {"drag", nil, ErrAction}, {Expand, []string{"x"}, ErrNoItem},
	} {
		if err := s.Act(t.Context(), "h", "v", c.action, c.items...); !errors.Is(err, c.want) {
			t.Errorf("%s %v: %v, want %v", c.action, c.items, err, c.want)
		}
	}
}

func TestCommandsOfViews(t *testing.T) {
	t.Parallel()
	s, h := shown(nil)
	for name, want := range map[string]bool{"v.focus": true, "v.open": true, "w.focus": false, "v": false, "v.close": false} {
		if _, ok := s.Command(name); ok != want {
			t.Errorf("%s: %v", name, ok)
		}
	}
	m, _ := s.Command("v.focus")
	ref := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "other"}})
	if _, err := m.Now(workbench.NewCall(ref, 1, "v.focus", nil)); err != nil || !slices.Equal(h.told, []string{`$setVisible["v",true]`}) {
		t.Errorf("%v, %q", err, h.told)
	}
	call(t, s, "$disposeTree", "v")
	if _, err := m.Now(workbench.NewCall(ref, 1, "v.focus", nil)); !errors.Is(err, ErrNoView) {
		t.Errorf("%v", err)
	}
}

// What stands above the items has one line and no secrets.
func TestHeadsOfViews(t *testing.T) {
	t.Parallel()
	s, _ := shown(nil)
	s.opt.Redact = func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }
	call(t, s, "$setTitle", "v", "T\nt", "hunter2")
	call(t, s, "$setMessage", "v", map[string]string{"value": "**m**"})
	call(t, s, "$setBadge", "v", map[string]any{"value": 2, "tooltip": "b"})
	call(t, s, "$setTitle", "gone", "T", "")
	v := s.State("h")[0]
	if v.Title != "T t" || v.Description != "***" || v.Message != "**m**" || v.Badge == nil || *v.Badge != (Badge{2, "b"}) {
		t.Errorf("%+v", v)
	}
	call(t, s, "$setBadge", "v", nil)
	if v := s.State("")[0]; v.Badge != nil {
		t.Errorf("%+v", v)
	}
}
