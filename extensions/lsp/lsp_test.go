package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/documents"
	"github.com/hostsup/hostsup/workbench/language"
	"github.com/hostsup/hostsup/workbench/status"
)

func TestKinds(t *testing.T) {
	for name, want := range map[language.SymbolKind]int{"file": 1, "method": 6, "variable": 13, "typeParameter": 26, "": 13} {
		if got := symbolKind(name); got != want {
			t.Errorf("symbol %q: %d", name, got)
		}
	}
	for name, want := range map[language.CompletionKind]int{
		"text": 1, "method": 2, "function": 3, "class": 7, "property": 10, "keyword": 14, "snippet": 15, "folder": 19, "struct": 22, "typeParameter": 25, "issue": 1,
	} {
		if got := completionKind(name); got != want {
			t.Errorf("completion %q: %d", name, got)
		}
	}
}

func TestTokensAreDifferences(t *testing.T) {
	at := func(line, character int) language.Position {
		return language.Position{Line: line, Character: character}
	}
	got := encodeTokens([]language.Token{
		{Position: at(2, 1), Length: 4, Type: "member", Modifiers: []string{"static", "odd"}},
		{Position: at(0, 3), Length: 1, Type: "namespace"},
		{Position: at(0, 5), Length: 2, Type: "odd"},
		{Position: at(0, 9), Length: 2, Type: "class", Modifiers: []string{"declaration", "readonly"}},
	})
	if want := []int{0, 3, 1, 0, 0, 0, 6, 2, 2, 5, 2, 1, 4, 13, 8}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSnippetsWithoutPlaceholders(t *testing.T) {
	for snippet, want := range map[string]string{
		"alpha($1)": "alpha()", "for ${1:i} in ${2:list}$0": "for i in list", "${1|a,b|}": "a", `\$1 \} \\`: `$1 } \`, "${1:a ${2:b}}": "a b", "${TM_LINE}": "",
	} {
		if got := plain(snippet); got != want {
			t.Errorf("%s: %q, want %q", snippet, got, want)
		}
	}
}

func TestWordAt(t *testing.T) {
	for character, want := range map[int]string{0: "0-3 one", 3: "0-3 one", 4: "4-6 zö", 6: "4-6 zö", 7: "0-0 ", 11: "10-12 x_", 12: "10-12 x_"} {
		from, to, word := wordAt("one zö +𝄞x_", character)
		if got := fmt.Sprintf("%d-%d %s", from, to, word); got != want {
			// 𝄞 is a symbol of two units.
			t.Errorf("%d: %q, want %q", character, got, want)
		}
	}
}

func TestURIs(t *testing.T) {
	for in, want := range map[string]string{
		"file:///a%20b/c": "file:///a%20b/c", "file:///c%3A/x": "file:///c:/x", "untitled:Untitled-1": "untitled:Untitled-1", "git:/a?x#y": "git:/a?x#y",
	} {
		if u, err := workbench.ParseURI(in); err != nil || u.String() != want {
			t.Errorf("%s: %s, %v", in, u, err)
		}
	}
	for _, in := range []string{"", "/a", "%"} {
		if u, err := workbench.ParseURI(in); err == nil {
			t.Errorf("%q is %s", in, u)
		}
	}
}

// The edits of a document are together, and those before a file operation stay before it.
func TestWorkspaceEdits(t *testing.T) {
	s := server(t, nil)
	c := &session{s: s.Server}
	text := func(uri language.URI, text string) language.Edit {
		return language.Edit{Resource: uri, TextEdit: &language.TextEdit{Text: text}}
	}
	edit := &language.WorkspaceEdit{Edits: []language.Edit{text("file:///a", "1"), text("file:///b", "2"), text("file:///a", "3")}}
	shown := func() string {
		out, err := c.workspaceEdit(edit, map[string]int{"file:///a": 7})
		if err != nil {
			return err.Error()
		}
		raw, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(raw), `"range":{"start":{"line":0,"character":0},"end":{"line":0,"character":0}},"newText":`, "")
	}
	if got, want := shown(), `{"changes":{"file:///a":[{"1"},{"3"}],"file:///b":[{"2"}]}}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	edit.Edits = append(edit.Edits, language.Edit{Old: "file:///a", New: "file:///c"}, text("file:///c", "4"))
	if got := shown(); !strings.Contains(got, "rename a file, which the editor does not know") {
		t.Error(got)
	}
	c.caps.Workspace.WorkspaceEdit.DocumentChanges = true
	c.caps.Workspace.WorkspaceEdit.ResourceOperations = []string{"rename"}
	const want = `{"documentChanges":[{"textDocument":{"uri":"file:///a","version":7},"edits":[{"1"},{"3"}]},{"textDocument":{"uri":"file:///b","version":null},"edits":[{"2"}]},` +
		`{"kind":"rename","newUri":"file:///c","oldUri":"file:///a"},{"textDocument":{"uri":"file:///c","version":null},"edits":[{"4"}]}]}`
	if got := shown(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// served is a server without hosts, and a client of it.
type served struct {
	*Server
	docs *documents.Service

	status  *status.Service
	running atomic.Bool
	report  func(ctx context.Context, report func(status.Update)) // called by a command

	wire  codec.Session
	near  net.Conn
	got   chan codec.Message
	ended chan error
	next  uint32
}

func server(t *testing.T, execute func(context.Context, string, []json.RawMessage) (json.RawMessage, error)) *served {
	t.Helper()
	docs := documents.New(documents.Options{})
	s := &served{docs: docs, status: status.New(status.Options{Report: func(status.Event) {}}), got: make(chan codec.Message, 100), ended: make(chan error, 1)}
	s.Server = New(Options{
		Host: "code", Start: func(context.Context) error { return nil }, Documents: docs, Language: language.New(language.Options{Documents: docs}),
		Diagnostics: diagnostics.New(), Known: func(id string) bool { return id == "acme" },
		Allowed:  func(id string) bool { return strings.HasPrefix(id, "may.") },
		Progress: s.status, Running: s.running.Load,
		Execute: func(ctx context.Context, id string, args []json.RawMessage, report func(status.Update)) (json.RawMessage, error) {
			if s.report != nil {
				s.report(ctx, report)
			}
			return execute(ctx, id, args)
		},
	})
	near, far := net.Pipe()
	s.near, s.wire = near, jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{})
	r := s.wire.NewReader(near)
	go func() {
		defer close(s.got)
		for {
			var m codec.Message
			if r.Next(&m) != nil {
				return
			}
			s.got <- m
		}
	}()
	go func() { s.ended <- s.Serve(context.Background(), far) }()
	t.Cleanup(func() {
		_ = near.Close()
		s.Close(io.EOF)
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *served) send(t *testing.T, m codec.Message, params any) {
	t.Helper()
	if params != nil {
		raw, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		m.Params = raw
	}
	b, err := s.wire.Append(nil, &m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.near.Write(b); err != nil {
		t.Fatal(err)
	}
}

// calls returns the answer of a request, or its error after its code.
func (s *served) calls(t *testing.T, method string, params any) string {
	t.Helper()
	s.next++
	s.send(t, codec.Message{Kind: codec.Request, ID: s.next, Method: method}, params)
	for m := range s.got {
		if m.Kind != codec.Response {
			continue
		}
		if m.Err != nil {
			return fmt.Sprint(m.Err.Code, " ", m.Err.Message)
		}
		if m.Result == nil {
			return "null"
		}
		return string(m.Result)
	}
	t.Fatal("the session has ended")
	return ""
}

func (s *served) tells(t *testing.T, method string, params any) {
	t.Helper()
	s.send(t, codec.Message{Kind: codec.Notification, Method: method}, params)
}

type object = map[string]any

func TestSession(t *testing.T) {
	crash := &actors.HostError{Host: "code", Err: actors.ErrCrashed}
	s := server(t, func(_ context.Context, id string, args []json.RawMessage) (json.RawMessage, error) {
		if id == "may.crash" {
			return nil, crash
		}
		return json.RawMessage(fmt.Sprintf(`{"id":%q,"args":%d}`, id, len(args))), nil
	})
	begins := func(got, want string) {
		t.Helper()
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	begins(s.calls(t, "textDocument/hover", object{}), "-32002 ")
	begins(s.calls(t, "initialize", object{"capabilities": object{}}), `{"capabilities":{`)
	begins(s.calls(t, "initialize", object{"capabilities": object{}}), "-32600 ")
	begins(s.calls(t, "textDocument/odd", object{}), "-32601 ")
	begins(s.calls(t, "textDocument/hover", object{"position": 1}), "-32602 ")
	begins(s.calls(t, "textDocument/hover", object{"textDocument": object{"uri": "no uri"}}), "-32602 ")

	path := filepath.Join(t.TempDir(), "a.acme")
	doc := object{"uri": workbench.File(path).String()}
	s.tells(t, "textDocument/didOpen", object{"textDocument": object{"uri": doc["uri"], "languageId": "acme", "version": 1, "text": "a\r\nb"}})
	begins(s.calls(t, "textDocument/hover", object{"textDocument": doc, "position": object{"line": 0, "character": 0}}), "null") // no provider
	text := func() string {
		d := s.docs.Find(workbench.File(path))
		if d == nil {
			return "closed"
		}
		defer d.Close()
		now, _ := d.Text()
		return fmt.Sprintf("%s %v %q", d.Language(), d.Dirty(), now.String())
	}
	begins(text(), `acme true "a\r\nb"`)
	if err := os.WriteFile(path, []byte("a\r\nb"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.tells(t, "textDocument/didSave", object{"textDocument": doc})
	begins(s.calls(t, "workspace/executeCommand", object{"command": "may.run", "arguments": []int{1, 2}}), `{"args":2,"id":"may.run"}`)
	begins(text(), `acme false "a\r\nb"`)
	begins(s.calls(t, "workspace/executeCommand", object{"command": "hostsup.code", "arguments": []any{"may.run", 1}}), `{"args":1,"id":"may.run"}`)
	begins(s.calls(t, "workspace/executeCommand", object{"command": "hostsup.code", "arguments": []any{object{"offer": 5}}}), "-32803 the command was offered too long ago")
	begins(s.calls(t, "workspace/executeCommand", object{"command": "other"}), `-32803 the command "other" is not allowed`)
	begins(s.calls(t, "workspace/executeCommand", object{"command": "may.crash"}), "-32803 the command has not finished")

	s.tells(t, "textDocument/didChange", object{"textDocument": object{"uri": doc["uri"], "version": 2}, "contentChanges": []object{{"text": "new"}}})
	s.tells(t, "textDocument/didClose", object{"textDocument": doc})
	begins(s.calls(t, "shutdown", nil), "null")
	begins(text(), `acme false "a\r\nb"`)
	begins(s.calls(t, "textDocument/hover", object{}), "-32600 ")
	s.tells(t, "exit", nil)
	if err := <-s.ended; err != nil {
		t.Error(err)
	}
}

func TestCloseEndsSessions(t *testing.T) {
	s := server(t, nil)
	reason := errors.New("the host was removed")
	s.Close(reason)
	if err := <-s.ended; !errors.Is(err, reason) {
		t.Error(err)
	}
	near, far := net.Pipe()
	defer near.Close()
	if err := s.Serve(t.Context(), far); !errors.Is(err, reason) {
		t.Error(err)
	}
}

func TestErrorsOfHosts(t *testing.T) {
	c := &session{s: &Server{}}
	ended := &language.ProviderError{Host: "code", Feature: language.FeatureHover, Err: &actors.HostError{Host: "code", Err: actors.ErrCrashed}}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for _, x := range []struct {
		ctx  context.Context
		err  error
		want int64
	}{
		{t.Context(), ended, codeContentModified}, {gone, ended, codeCancelled}, {t.Context(), fmt.Errorf("%w: why", language.ErrRejected), codeRequestFailed},
		{t.Context(), workbench.Invalid("x"), codeInvalidParams}, {t.Context(), &codec.Error{Name: "TypeError", Message: "x"}, codeRequestFailed},
	} {
		if got := c.failed(x.ctx, "textDocument/hover", x.err); got.Code != x.want {
			t.Errorf("%v: %d, want %d", x.err, got.Code, x.want)
		}
	}
}

func TestTokensDifference(t *testing.T) {
	for _, c := range []struct {
		from, to []int
		want     string
	}{
		{[]int{1, 2, 3}, []int{1, 2, 3}, "[]"}, {nil, []int{1}, "[{0 0 [1]}]"}, {[]int{1, 1, 1}, []int{1, 1}, "[{2 1 []}]"},
		{[]int{1, 2, 3, 4}, []int{1, 5, 4}, "[{1 2 [5]}]"}, {[]int{1, 1}, []int{1, 1, 1}, "[{2 0 [1]}]"},
	} {
		if got := fmt.Sprint(tokensDifference(c.from, c.to)); got != c.want {
			t.Errorf("%v to %v: %s, want %s", c.from, c.to, got, c.want)
		}
	}
}
