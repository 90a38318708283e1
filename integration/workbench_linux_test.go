//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
	bench "github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/text"
)

// workbench is what an extension host has on its other side beside the services of package workbench:
// it knows what its extensions have registered, and asks them.
type workbench struct {
	mu        sync.Mutex
	host      *supervisor.Host
	providers []provider
	kept      map[string]string // JSON, by extension
}

// provider is something that an extension has registered for documents.
type provider struct {
	kind     string // the method's name without $register and Support
	handle   int
	selector string
}

// withWorkbench changes a host so that it talks to a workbench.
func withWorkbench() (*workbench, change) {
	w := &workbench{kept: map[string]string{}}
	return w, func(s *supervisor.HostSpec) {
		s.Answers.Handlers = map[string]actors.Handler{
			"MainThreadLanguageFeatures.*":                  w.languages,
			"MainThreadStorage.$initializeExtensionStorage": w.storage,
		}
	}
}

func (w *workbench) languages(_ context.Context, r *actors.Incoming) (any, error) {
	_, name, _ := strings.Cut(r.Method, ".$register")
	var args []json.RawMessage
	if err := r.Decode(&args); err != nil || name == "" || len(args) < 2 {
		return nil, err
	}
	p := provider{kind: strings.TrimSuffix(strings.TrimSuffix(name, "Support"), "Provider"), selector: string(args[1])}
	if err := json.Unmarshal(args[0], &p.handle); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.providers = append(w.providers, p)
	return nil, nil
}

// storage is what an extension has kept: for a workspace, or for all.
func (w *workbench) storage(_ context.Context, r *actors.Incoming) (any, error) {
	var args []any
	if err := r.Decode(&args); err != nil || len(args) != 2 || args[0] != false {
		return nil, err
	}
	return w.kept[fmt.Sprint(args[1])], nil
}

// serviceOf returns a service of the workbench of the host.
func serviceOf[S bench.Service](t testing.TB, h *supervisor.Host) S {
	t.Helper()
	s, err := bench.Of[S](h.Ref())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opens shows a file to the host, in an editor that has the focus.
func (w *workbench) opens(t testing.TB, path, language, content string) {
	t.Helper()
	d, err := serviceOf[*documents.Service](t, w.host).Open(ctx(t), bench.File(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	if err := errors.Join(d.SetText(content), d.SetLanguage(language), d.Show()); err != nil {
		t.Fatal(err)
	}
}

// document returns an open document.
func (w *workbench) document(t testing.TB, path string) *text.Text {
	t.Helper()
	d := serviceOf[*documents.Service](t, w.host).Find(bench.File(path))
	if d == nil {
		t.Fatalf("%s is not open", path)
	}
	defer d.Close()
	now, _ := d.Text()
	return now
}

func (w *workbench) text(t testing.TB, path string) string { return w.document(t, path).String() }

// inquiry is a method that extensions answer for documents, with what it is
// told besides the document.
type inquiry struct {
	method string
	rest   []any
}

// asks calls what extensions have registered for a language, by its kind, until
// one has an answer that ok likes.
func (w *workbench) asks(t testing.TB, kinds map[string]inquiry, language, path string, ok func(codec.Raw) bool) {
	t.Helper()
	eventually(t, func() bool {
		w.mu.Lock()
		list := slices.Clone(w.providers)
		w.mu.Unlock()
		for _, p := range list {
			q, asked := kinds[p.kind]
			if !asked || !strings.Contains(p.selector, `"`+language+`"`) {
				continue
			}
			var out codec.Raw
			args := slices.Concat([]any{p.handle, bench.File(path)}, q.rest, []any{map[string]bool{"$token": true}})
			if err := w.host.Call(ctx(t), "ExtHostLanguageFeatures."+q.method, args, &out); err != nil {
				t.Logf("%s: %v", q.method, err)
				continue
			}
			if ok(out) {
				return true
			}
		}
		return false
	}, kinds, "for", language)
}

// formats has a document formatted, as a whole or from its first to its last
// line, and returns the text.
func (w *workbench) formats(t testing.TB, path, language string) (out string) {
	t.Helper()
	now := w.document(t, path)
	options := map[string]any{"tabSize": 2, "insertSpaces": true}
	w.asks(t, map[string]inquiry{
		"DocumentFormatting": {"$provideDocumentFormattingEdits", []any{options}},
		"RangeFormatting":    {"$provideDocumentRangeFormattingEdits", []any{now.Whole(), options}},
	}, language, path, func(raw codec.Raw) bool {
		var list []text.Edit
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return false
		}
		after, _, err := now.Apply(list)
		if err != nil {
			t.Fatal(err)
		}
		out = after.String()
		return true
	})
	return out
}

// hovers looks at a place in a document until what is shown there mentions all
// of want.
func (w *workbench) hovers(t testing.TB, path, language string, line, column int, want ...string) {
	t.Helper()
	at := map[string]int{"lineNumber": line, "column": column}
	w.asks(t, map[string]inquiry{"Hover": {"$provideHover", []any{at, map[string]any{}}}}, language, path, func(raw codec.Raw) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(string(raw), w) })
	})
}

// completes asks what could stand at a place until want is offered.
func (w *workbench) completes(t testing.TB, path, language string, line, column int, want string) {
	t.Helper()
	at := map[string]int{"lineNumber": line, "column": column}
	w.asks(t, map[string]inquiry{"Completions": {"$provideCompletionItems", []any{at, map[string]int{"triggerKind": 0}}}}, language, path, func(raw codec.Raw) bool {
		var list struct {
			B []struct{ A any }
		}
		return json.Unmarshal(raw, &list) == nil && slices.ContainsFunc(list.B, func(i struct{ A any }) bool {
			label, _ := i.A.(map[string]any)
			return i.A == want || label["label"] == want
		})
	})
}

// complains waits for a diagnostic of a document.
func (w *workbench) complains(t testing.TB, path, want string) {
	t.Helper()
	eventually(t, func() bool {
		list := serviceOf[*diagnostics.Service](t, w.host).Diagnostics(bench.File(path))
		return slices.ContainsFunc(list, func(d diagnostics.Diagnostic) bool { return strings.Contains(d.Message, want) })
	}, "diagnostic", want)
}

// published is the folder of an extension among the peers.
func published(t testing.TB, parts ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{peerDir}, parts...)...)
	if _, err := os.Stat(filepath.Join(dir, "package.json")); err != nil {
		peer(t, dir) // no program, but it is missing the same way
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	return abs
}
