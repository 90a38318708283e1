//go:build linux

package integration

import (
	"context"
	"encoding/json"
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
)

// workbench is what an extension host has on its other side, as far as the
// extensions of these tests need one: it knows what they have registered, opens
// documents for them, changes these as they say, and takes their diagnostics.
type workbench struct {
	mu        sync.Mutex
	host      *supervisor.Host
	providers []provider
	found     map[string][]diagnostic // by path
	documents map[string]*document    // by path
	kept      map[string]string       // JSON, by extension
}

// provider is something that an extension has registered for documents.
type provider struct {
	kind     string // the method's name without $register and Support
	handle   int
	selector string
}

type diagnostic struct {
	Message  string
	Severity any
	Source   string
	Line     int `json:"startLineNumber"`
}

type document struct {
	uri     any
	version int
	text    string
}

// span is a part of a document, in lines and columns from 1.
type span struct {
	StartLine int `json:"startLineNumber"`
	StartCol  int `json:"startColumn"`
	EndLine   int `json:"endLineNumber"`
	EndCol    int `json:"endColumn"`
}

type edit struct {
	Range span
	Text  string
}

// withWorkbench changes a host so that it talks to a workbench.
func withWorkbench() (*workbench, change) {
	w := &workbench{found: map[string][]diagnostic{}, documents: map[string]*document{}, kept: map[string]string{}}
	return w, func(s *supervisor.HostSpec) {
		s.Answers.Handlers = map[string]actors.Handler{
			"MainThreadLanguageFeatures.*":                  w.languages,
			"MainThreadStorage.$initializeExtensionStorage": w.storage,
			"MainThreadDiagnostics.$changeMany":             w.diagnostics,
			"MainThreadTextEditors.$tryApplyEdits":          w.edits,
			"MainThreadBulkEdits.*":                         w.workspaceEdit,
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

func (w *workbench) diagnostics(_ context.Context, r *actors.Incoming) (any, error) {
	var args []json.RawMessage
	if err := r.Decode(&args); err != nil || len(args) < 2 {
		return nil, err
	}
	var entries [][2]json.RawMessage
	if err := json.Unmarshal(args[1], &entries); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, entry := range entries {
		var uri struct{ Path string }
		var list []diagnostic
		if err := json.Unmarshal(entry[0], &uri); err != nil {
			return nil, err
		}
		_ = json.Unmarshal(entry[1], &list) // undefined: none
		w.found[uri.Path] = list
	}
	return nil, nil
}

// edits are those of an extension to the document that it sees in its editor.
func (w *workbench) edits(_ context.Context, r *actors.Incoming) (any, error) {
	var args []json.RawMessage
	var id string
	var list []edit
	if err := r.Decode(&args); err != nil || len(args) < 3 {
		return false, err
	}
	if err := json.Unmarshal(args[0], &id); err != nil {
		return false, err
	}
	if err := json.Unmarshal(args[2], &list); err != nil {
		return false, err
	}
	return w.change(strings.TrimPrefix(id, "editor:"), list) == nil, nil
}

func (w *workbench) workspaceEdit(_ context.Context, r *actors.Incoming) (any, error) {
	var args []json.RawMessage
	if err := r.Decode(&args); err != nil || len(args) == 0 {
		return false, err
	}
	var object struct {
		Object json.RawMessage `json:"$object"`
	}
	if json.Unmarshal(args[0], &object) == nil && object.Object != nil {
		args[0] = object.Object
	}
	var dto struct {
		Edits []struct {
			Resource struct{ Path string }
			TextEdit edit
		}
	}
	if err := json.Unmarshal(args[0], &dto); err != nil {
		return false, err
	}
	for _, d := range dto.Edits {
		if err := w.change(d.Resource.Path, []edit{d.TextEdit}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// change edits a document and tells the host.
func (w *workbench) change(path string, list []edit) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.documents[path]
	if d == nil {
		return fmt.Errorf("no document %s", path)
	}
	changes := []any{}
	for _, c := range sorted(list) {
		from, to := offset(d.text, c.Range.StartLine, c.Range.StartCol), offset(d.text, c.Range.EndLine, c.Range.EndCol)
		d.text = d.text[:from] + c.Text + d.text[to:]
		changes = append(changes, map[string]any{"range": c.Range, "rangeOffset": from, "rangeLength": to - from, "text": c.Text})
	}
	d.version++
	return w.host.Notify(context.Background(), "ExtHostDocuments.$acceptModelChanged", []any{d.uri, map[string]any{
		"changes": changes, "eol": "\n", "versionId": d.version, "isUndoing": false, "isRedoing": false,
	}, true})
}

// sorted are edits in the order in which none moves another: from the end.
func sorted(list []edit) []edit {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b edit) int {
		if a.Range.StartLine != b.Range.StartLine {
			return b.Range.StartLine - a.Range.StartLine
		}
		return b.Range.StartCol - a.Range.StartCol
	})
	return list
}

// offset is where a line and a column are in a text.
func offset(text string, line, column int) int {
	at := 0
	for range line - 1 {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return min(at+column-1, len(text))
}

// formatted is a text with edits made to it.
func formatted(text string, list []edit) string {
	for _, c := range sorted(list) {
		text = text[:offset(text, c.Range.StartLine, c.Range.StartCol)] + c.Text + text[offset(text, c.Range.EndLine, c.Range.EndCol):]
	}
	return text
}

// opens shows a document to the host, in an editor that has the focus.
func (w *workbench) opens(t testing.TB, path, language, text string) {
	t.Helper()
	uri := map[string]any{"$mid": 1, "scheme": "file", "path": path, "fsPath": path}
	w.mu.Lock()
	w.documents[path] = &document{uri: uri, version: 1, text: text}
	w.mu.Unlock()
	here := map[string]int{"selectionStartLineNumber": 1, "selectionStartColumn": 1, "positionLineNumber": 1, "positionColumn": 1}
	delta := map[string]any{
		"addedDocuments": []any{map[string]any{
			"uri": uri, "versionId": 1, "lines": strings.Split(text, "\n"), "EOL": "\n", "languageId": language, "isDirty": false, "encoding": "utf8",
		}},
		"addedEditors": []any{map[string]any{
			"id": "editor:" + path, "documentUri": uri, "selections": []any{here}, "visibleRanges": []any{}, "editorPosition": 0,
			"options": map[string]any{"tabSize": 2, "indentSize": 2, "originalIndentSize": 2, "insertSpaces": true, "cursorStyle": 1, "lineNumbers": 1},
		}},
		"newActiveEditor": "editor:" + path,
	}
	// Some extensions look only at what has a tab.
	w.tells(t, "ExtHostEditorTabs.$acceptTabOperation", map[string]any{"kind": 0, "groupId": 0, "index": 0, "tabDto": map[string]any{
		"id": path, "label": filepath.Base(path), "editorId": "default", "isActive": true, "isPinned": false, "isPreview": false, "isDirty": false,
		"input": map[string]any{"kind": 1, "uri": uri},
	}})
	w.tells(t, "ExtHostDocumentsAndEditors.$acceptDocumentsAndEditorsDelta", delta)
}

func (w *workbench) tells(t testing.TB, method string, args ...any) {
	t.Helper()
	if err := w.host.Call(ctx(t), method, args, nil); err != nil {
		t.Fatal(err)
	}
}

func (w *workbench) text(path string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.documents[path].text
}

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
		uri := w.documents[path].uri
		w.mu.Unlock()
		for _, p := range list {
			q, asked := kinds[p.kind]
			if !asked || !strings.Contains(p.selector, `"`+language+`"`) {
				continue
			}
			var out codec.Raw
			args := slices.Concat([]any{p.handle, uri}, q.rest, []any{map[string]bool{"$token": true}})
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
	text := w.text(path)
	options := map[string]any{"tabSize": 2, "insertSpaces": true}
	all := span{1, 1, strings.Count(text, "\n") + 1, len(text) - strings.LastIndex(text, "\n")}
	w.asks(t, map[string]inquiry{
		"DocumentFormatting": {"$provideDocumentFormattingEdits", []any{options}},
		"RangeFormatting":    {"$provideDocumentRangeFormattingEdits", []any{all, options}},
	}, language, path, func(raw codec.Raw) bool {
		var list []edit
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			return false
		}
		out = formatted(text, list)
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
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.found[path], func(d diagnostic) bool { return strings.Contains(d.Message, want) })
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
