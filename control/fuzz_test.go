package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/intercept/feed"
	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/workbench/questions"
	"github.com/hostsup/hostsup/workbench/scm"
	"github.com/hostsup/hostsup/workbench/status"
	"github.com/hostsup/hostsup/workbench/tests"
	"github.com/hostsup/hostsup/workbench/views"
)

// FuzzDocument makes requests out of the document, right ones and ones that are wrong
// somewhere. Whatever they are, they are answered as the document says, with a class if
// they are refused; the supervisor has no error of its own, and nothing changes for those
// whose role does not allow it.
func FuzzDocument(f *testing.F) {
	for seed := range uint64(require.Rounds(600, 150)) {
		f.Add(seed, []byte(`{"method":"m","params":[1,{"a":null}]}`))
	}
	f.Add(uint64(1), []byte("{"))
	f.Add(uint64(2), bytes.Repeat([]byte("["), 100_000))
	var changed atomic.Bool
	var addr string
	var doc *schemas
	f.Fuzz(func(t *testing.T, seed uint64, body []byte) {
		if doc == nil {
			doc = newSchemas(t)
		}
		addr = console(t, noted(&changed), control.Options{Configuration: changing(func(string) { changed.Store(true) }), MaxBody: 1 << 20}, control.Access{})
		changed.Store(false)
		g := generator{rand.New(rand.NewPCG(seed, 0)), doc}
		paths := doc.doc["paths"].(map[string]any)
		path := g.of(slices.Sorted(maps.Keys(paths)))
		method := g.of(slices.Sorted(maps.Keys(paths[path].(map[string]any))))
		op := paths[path].(map[string]any)[method].(map[string]any)
		at, headers := g.request(path, op)
		if schema := bodyOf(op); schema != nil && g.IntN(3) > 0 {
			body, _ = json.Marshal(g.value(schema, 0))
		}
		role := g.of([]string{"", "wrong", "read", "operate", "full", "full", "full"})
		if role != "" {
			headers = append(headers, "Authorization", "Bearer "+secretOf(control.Role(role)))
		}
		if g.IntN(20) == 0 {
			method = g.of([]string{"put", "get", "post", "delete", "options", "head"})
			op = nil
		}
		res, text := ask(t, addr, strings.ToUpper(method), at, string(body), headers...)
		kind := res.Header.Get("Content-Type")
		switch {
		case method == "head":
		case res.StatusCode != http.StatusOK:
			if class := classIn(t, text); class == "" || class == control.Internal || res.StatusCode >= 500 && res.StatusCode != 502 && res.StatusCode != 503 && res.StatusCode != 504 {
				t.Errorf("%s %s %q: %d %s", method, at, body, res.StatusCode, text)
			}
		case op != nil && kind != "text/event-stream":
			doc.check(t, op, res.StatusCode, kind, text)
		}
		least := "full"
		if op != nil {
			least = op["security"].([]any)[0].(map[string]any)["token"].([]any)[0].(string)
		}
		rank := []string{"", "wrong", "read", "operate", "full"}
		if changed.Load() && (slices.Index(rank, role) < slices.Index(rank, "operate") || op != nil && slices.Index(rank, role) < slices.Index(rank, least)) {
			t.Errorf("%s %s changed something for the role %q", method, at, role)
		}
		if res, text := ask(t, addr, "GET", "/v1/status", "", "Authorization", "Bearer "+secretOf(control.RoleRead)); res.StatusCode != http.StatusOK {
			t.Errorf("afterwards: %d %s", res.StatusCode, text)
		}
	})
}

// noted is a supervisor that notes when it is changed. Its streams end.
func noted(changed *atomic.Bool) control.Supervisor {
	sup := everything()
	h := sup.Members[0]
	sup.Live, h.Live, h.Said = make(chan supervisor.Event), make(chan capture.Line), make(chan feed.Message)
	close(sup.Live)
	close(h.Live)
	close(h.Said)
	sup.OnSet = func(context.Context, string, string, extensions.Verb) error { changed.Store(true); return nil }
	sup.OnLanguage = func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		changed.Store(true)
		return nil, nil
	}
	sup.Asking = []questions.Question{{ID: "q", Host: "ts"}}
	sup.OnAnswer = func(string, []string, bool) error { changed.Store(true); return nil }
	sup.Shown.Progress = []status.Progress{{ID: "q", Host: "ts", Cancelable: true}}
	sup.Trees = []views.Tree{{View: views.View{Host: "ts", ID: "golang.go"}}}
	sup.Sources = []scm.Control{{ID: "golang.go", Host: "ts", Groups: []scm.ResourceGroup{}}}
	sup.Tests.OnRun = func(context.Context, tests.Request) (*tests.Run, error) {
		changed.Store(true)
		return &tests.Run{State: tests.Empty, Results: []tests.Result{}}, nil
	}
	sup.Tests.OnCancel = func(string) { changed.Store(true) }
	sup.OnCommit = func(string, *string, bool) error { changed.Store(true); return nil }
	sup.OnAct = func(string, views.Action, []string) error { changed.Store(true); return nil }
	sup.OnCancel = func(string) error { changed.Store(true); return nil }
	sup.OnActivate = func(context.Context, string, string) error { changed.Store(true); return nil }
	h.OnVerb = func(_ context.Context, verb string) error { changed.Store(verb != "wait"); return nil }
	call := h.OnCall
	h.OnCall = func(ctx context.Context, c control.Call) (codec.Raw, error) { changed.Store(true); return call(ctx, c) }
	h.OnStream = func(context.Context, control.Call) iter.Seq2[codec.Raw, error] {
		changed.Store(true)
		return func(func(codec.Raw, error) bool) {}
	}
	h.OnAttach = func(_ context.Context, rw io.ReadWriteCloser) error { changed.Store(true); return rw.Close() }
	return sup
}

func bodyOf(op map[string]any) map[string]any {
	body, _ := op["requestBody"].(map[string]any)
	kinds, _ := body["content"].(map[string]any)
	kind, _ := kinds["application/json"].(map[string]any)
	schema, _ := kind["schema"].(map[string]any)
	return schema
}

// generator makes values of schemas, and now and then ones of none.
type generator struct {
	*rand.Rand
	doc *schemas
}

func (g generator) of(list []string) string { return list[g.IntN(len(list))] }

// text is a string that may be a name here, or one that should not matter.
func (g generator) text() string {
	return g.of([]string{"ts", "alone", "c1", "golang.go", "disable", "running", "true", "7", "0", "m", "", "é", "..", "../../etc/passwd", "a/b", "%2e", "\x00", "-1", "1e400",
		"99999999999999999999", "<script>", strings.Repeat("x", 5000), "\r\nX: y", "null"})
}

func (g generator) request(path string, op map[string]any) (at string, headers []string) {
	query := url.Values{}
	params, _ := op["parameters"].([]any)
	for _, p := range params {
		p := p.(map[string]any)
		name, schema := p["name"].(string), p["schema"].(map[string]any)
		text := g.text()
		if g.IntN(3) > 0 {
			text = map[string]string{"host": "ts", "id": "golang.go", "verb": "enable", "n": "3", "follow": "true", "since": "1", "Last-Event-ID": "2"}[name]
		}
		switch {
		case p["in"] == "path":
			if text == "" {
				text = "x"
			}
			path = strings.Replace(path, "{"+name+"}", url.PathEscape(text), 1)
		case g.IntN(4) == 0 && schema["type"] != "array":
		case p["in"] == "header":
			headers = append(headers, name, strings.Map(func(r rune) rune {
				if r < ' ' || r > '~' {
					return -1
				}
				return r
			}, text))
		default:
			query.Add(name, text)
		}
	}
	if g.IntN(10) == 0 {
		query.Add(g.text(), g.text())
	}
	if g.IntN(3) == 0 {
		headers = append(headers, "Accept", "text/event-stream")
	}
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return path, headers
}

func (g generator) value(schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		var all map[string]map[string]any
		if err := json.Unmarshal(g.doc.defs, &all); err != nil {
			panic(err)
		}
		return g.value(all[strings.TrimPrefix(ref, "#/$defs/")], depth)
	}
	if g.IntN(12) == 0 || depth > 5 {
		return []any{nil, true, -1.5, g.text(), []any{}, map[string]any{g.text(): nil}}[g.IntN(6)]
	}
	if enum, ok := schema["enum"].([]any); ok {
		return enum[g.IntN(len(enum))]
	}
	switch schema["type"] {
	case "object":
		out := map[string]any{}
		props, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(props)) {
			if p, ok := props[name].(map[string]any); ok && g.IntN(4) > 0 {
				out[name] = g.value(p, depth+1)
			}
		}
		return out
	case "array":
		items, _ := schema["items"].(map[string]any)
		return []any{g.value(items, depth+1)}
	case "boolean":
		return g.IntN(2) == 0
	case "number", "integer":
		return g.Float64() * 3
	}
	return g.text()
}
