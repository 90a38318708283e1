package fileinfo

import (
	"context"
	"encoding/json"
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

// host is a life that answers each call by its method.
type host struct {
	answers map[string]string
	asked   []string
}

func (*host) Name() string { return "h" }

func (*host) Life() uint64 { return 1 }

func (h *host) Call(_ context.Context, method string, params codec.Raw, out any) error {
	h.asked = append(h.asked, string(params))
	return json.Unmarshal([]byte(h.answers[method]), out)
}

// call makes a call of the host.
func call(s *Service, method string, args ...any) error {
	ref := actors.Detached(&actors.World{}, actors.HostSpec{Spec: hostspec.Spec{Name: "h"}})
	_, err := s.Methods()[method].Now(workbench.NewCall(ref, 1, method, workbench.Params(args...)))
	return err
}

func TestDecorationsAreThoseOfAllProviders(t *testing.T) {
	t.Parallel()
	h := &host{answers: map[string]string{methodDecorations: `{
		"0":[true,"Modified\nhunter2","M",{"id":"git.modified"}], "2":[null,null,{"id":"warning"}], "7":[true]
	}`}}
	s := New(Options{Redact: func(text string) string { return strings.ReplaceAll(text, "hunter2", "***") }})
	for handle, id := range []string{"acme.b", "acme.a"} {
		if err := s.add(s.decorating, key{"h", fmt.Sprint(handle)}, &provider{host: h, handle: handle, id: id}, ""); err != nil {
			t.Fatal(err)
		}
	}
	files := []workbench.URI{workbench.File("/x"), workbench.File("/y"), workbench.File("/z")}
	got, err := s.Decorations(t.Context(), "", files)
	if err != nil {
		t.Fatal(err)
	}
	want := []Decoration{
		{URI: "file:///x", Host: "h", Extension: "acme.b", Badge: "M", Tooltip: "Modified ***", Color: "git.modified", Propagates: true},
		{URI: "file:///x", Host: "h", Extension: "acme.a", Badge: "M", Tooltip: "Modified ***", Color: "git.modified", Propagates: true},
		{URI: "file:///z", Host: "h", Extension: "acme.b", Badge: "$(warning)"},
		{URI: "file:///z", Host: "h", Extension: "acme.a", Badge: "$(warning)"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if want := `[0,[{"id":0,"uri":{"$mid":1,"scheme":"file","path":"/x"}},{"id":1,"uri":{"$mid":1,"scheme":"file","path":"/y"}},{"id":2,"uri":{"$mid":1,"scheme":"file","path":"/z"}}],{"$token":true}]`; h.asked[0] != want {
		t.Errorf("asked %s", h.asked[0])
	}
	if err := call(s, "MainThreadDecorations.$unregisterDecorationProvider", 0); err != nil {
		t.Error(err)
	}
	if got, err := s.Decorations(t.Context(), "h", files); err != nil || len(got) != 2 || got[0].Extension != "acme.a" {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.Decorations(t.Context(), "other", files); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := s.Decorations(t.Context(), "", make([]workbench.URI, maxFiles+1)); err == nil {
		t.Error("too many files are asked about")
	}
}

func TestTimelinesHaveTheLatestFirst(t *testing.T) {
	t.Parallel()
	h := &host{answers: map[string]string{methodTimeline: `{"items":[
		{"id":"a","timestamp":1000,"label":"first","tooltip":{"value":"**x**"},"command":{"id":"git.open"},"contextValue":"c"},
		{"timestamp":3000.5,"label":"third\nline","description":"me","tooltip":"t"}, {"timestamp":2000,"label":"more than was asked for"}
	]}`}}
	s := New(Options{})
	for _, p := range []*provider{{host: h, id: "git", label: "Git", schemes: []string{"file"}}, {host: h, id: "z", label: "Z", schemes: []string{"other", "*"}}, {host: h, id: "no", schemes: []string{"other"}}} {
		if err := s.add(s.timelines, key{"h", p.id}, p, ""); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Timeline(t.Context(), "", workbench.File("/x"), 2)
	var lines []string
	for _, m := range got {
		lines = append(lines, strings.Join([]string{m.Source, m.Time.Format("05.0"), m.ID, m.Label, m.Description, m.Tooltip, m.Command, m.Context}, "|"))
	}
	want := []string{"Git|03.0||third line|me|t||", "Z|03.0||third line|me|t||", "Git|01.0|a|first||**x**|git.open|c", "Z|01.0|a|first||**x**|git.open|c"}
	if err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v", lines, err)
	}
	h.answers[methodTimeline] = "null"
	if got, err := s.Timeline(t.Context(), "h", workbench.File("/x"), 1); err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	for _, limit := range []int{0, maxItems + 1} {
		if _, err := s.Timeline(t.Context(), "", workbench.File("/x"), limit); err == nil {
			t.Errorf("the limit %d is taken", limit)
		}
	}
	for _, id := range []string{"git", "z"} {
		if err := call(s, "MainThreadTimeline.$unregisterTimelineProvider", id); err != nil {
			t.Error(err)
		}
	}
	if len(s.of(s.timelines, "")) != 1 {
		t.Error("a timeline is left")
	}
}

// A provider whose arguments are wrong, or that is one too many, is refused.
func TestProvidersAreBounded(t *testing.T) {
	t.Parallel()
	s, h := New(Options{}), &host{}
	for i := range maxProviders {
		if err := s.add(s.decorating, key{"h", fmt.Sprint(i)}, &provider{host: h}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.add(s.decorating, key{"h", "more"}, &provider{host: h}, "x"); err == nil {
		t.Error("one too many is registered")
	}
	for _, scheme := range []any{1, []int{1}} {
		if err := call(s, "MainThreadTimeline.$registerTimelineProvider", map[string]any{"id": "x", "scheme": scheme}); err == nil {
			t.Errorf("the scheme %v is taken", scheme)
		}
	}
	if err := call(s, "MainThreadTimeline.$registerTimelineProvider", map[string]any{"id": "x", "scheme": "file"}); err == nil {
		t.Error("a host that is not up registers a timeline")
	}
}
