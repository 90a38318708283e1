//go:build linux

package integration

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

func init() { roles["text-server"] = playTextServer }

// textCapsEnv names the file with the capabilities of the text server, which a test
// changes between two lives.
const textCapsEnv = "TEST_TEXT_SERVER_CAPABILITIES"

// textServer is a language server that keeps documents, and tells what it has: the
// request "test/text" is answered with the text of a document, "test/told" with the
// notifications and requests that came. It publishes the text as a diagnostic of it.
// "textDocument/hover" is answered with the text behind a position, in UTF-16. One whose
// capabilities have the word "silent" answers no other requests than those of tests.
func textServer(t testing.TB, capabilities string) (h supervisor.HostSpec, become func(capabilities string)) {
	t.Helper()
	h = demoHost("ls", plays("text-server"))
	file := filepath.Join(t.TempDir(), "capabilities")
	become = func(capabilities string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(capabilities), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	become(capabilities)
	h.Env[textCapsEnv] = file
	h.Protocol = jsonrpc.Headers(jsonrpc.Options{})
	h.Attach, h.Restart.MaxCrashes, h.Liveness.NeverKill = true, 20, true
	return h, become
}

const incremental = `{"textDocumentSync":{"openClose":true,"change":2}}`

// playedDocument is a document of the text server.
type playedDocument struct {
	text    string
	version int64
}

func playTextServer() int {
	s := jsonrpc.Headers(jsonrpc.Options{}).Open(codec.Limits{})
	say := func(m *codec.Message) {
		b, err := s.Append(nil, m)
		if err == nil {
			_, err = os.Stdout.Write(b)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	fmt.Fprintln(os.Stderr, "reading its capabilities")
	capabilities, err := os.ReadFile(os.Getenv(textCapsEnv))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	raw := func(v any) codec.Raw {
		b, _ := json.Marshal(v) // of strings and numbers
		return b
	}
	docs := map[string]*playedDocument{}
	var told []string
	var asked uint32
	var opening codec.Raw
	r := s.NewReader(os.Stdin)
	for {
		var m codec.Message
		if err := r.Next(&m); err != nil {
			return 0
		}
		var p struct {
			TextDocument struct {
				URI     string `json:"uri"`
				Version int64  `json:"version"`
				Text    string `json:"text"`
			} `json:"textDocument"`
			Position       struct{ Line, Character int }
			ContentChanges []struct {
				Range *struct{ Start, End struct{ Line, Character int } }
				Text  string
			}
			Say           string          // of test/say: a notification; of test/ask: a request
			Params        json.RawMessage // and what it says
			WorkDoneToken json.RawMessage // it tells that work has begun
		}
		_ = json.Unmarshal(m.Params, &p)
		uri := p.TextDocument.URI
		if m.Kind == codec.Request || m.Kind == codec.Notification {
			told = append(told, m.Method+" "+string(m.Params))
		} else if m.Kind == codec.Response {
			told = append(told, fmt.Sprint("answer ", cmp.Or(string(m.Result), "null"), " ", m.Err))
		}
		changed := false
		d := docs[uri]
		answer := codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw("null")}
		switch m.Method {
		case "initialize":
			opening = append(opening, m.Params...)
			answer.Result = codec.Raw(`{"capabilities":` + string(capabilities) + `}`)
		case "test/opening":
			answer.Result = opening
		case "test/text":
			if d != nil {
				answer.Result = raw(d.text)
			}
		case "test/told":
			answer.Result = raw(told)
		case "test/say":
			say(&codec.Message{Kind: codec.Notification, Method: p.Say, Params: codec.Raw(p.Params)})
		case "test/ask":
			asked++
			say(&codec.Message{Kind: codec.Request, ID: asked, Method: p.Say, Params: codec.Raw(p.Params)})
		case "textDocument/hover":
			if d != nil {
				answer.Result = raw(map[string]any{"contents": d.text[utf16At(d.text, p.Position.Line, p.Position.Character):]})
			}
		case "textDocument/semanticTokens/full", "textDocument/semanticTokens/full/delta":
			answer.Result = codec.Raw(`{"resultId":"1","data":[]}`) // as many servers count
		case "textDocument/didOpen":
			if d != nil {
				fmt.Fprintln(os.Stderr, uri, "is opened twice")
				return 1
			}
			docs[uri], changed = &playedDocument{p.TextDocument.Text, p.TextDocument.Version}, true
		case "textDocument/didChange":
			if d == nil {
				fmt.Fprintln(os.Stderr, uri, "is not open")
				return 1
			}
			for _, c := range p.ContentChanges {
				if c.Range == nil {
					d.text = c.Text
				} else {
					d.text = d.text[:utf16At(d.text, c.Range.Start.Line, c.Range.Start.Character)] + c.Text + d.text[utf16At(d.text, c.Range.End.Line, c.Range.End.Character):]
				}
			}
			d.version, changed = p.TextDocument.Version, true
		case "textDocument/didClose":
			delete(docs, uri)
		case "exit":
			return 0
		}
		if changed {
			d := docs[uri]
			say(&codec.Message{Kind: codec.Notification, Method: "textDocument/publishDiagnostics", Params: raw(map[string]any{
				"uri": uri, "version": d.version, "diagnostics": []any{map[string]any{"message": "says " + d.text}},
			})})
		}
		if p.WorkDoneToken != nil {
			say(&codec.Message{Kind: codec.Notification, Method: "$/progress", Params: raw(map[string]any{"token": p.WorkDoneToken, "value": map[string]any{"kind": "begin", "title": "x"}})})
		}
		silent := strings.Contains(string(capabilities), "silent") && m.Method != "initialize" && m.Method != "shutdown" && !strings.HasPrefix(m.Method, "test/")
		if m.Kind == codec.Request && !silent {
			say(&answer)
		}
	}
}

// utf16At is where a position is in a text of lines that end in \n, in bytes: the end
// of a text that does not reach so far.
func utf16At(text string, line, character int) int {
	i := 0
	for ; line > 0; line-- {
		i += strings.IndexByte(text[i:], '\n') + 1
	}
	for n := 0; n < character && i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i, n = i+size, n+utf16.RuneLen(r)
	}
	return i
}

// sharer is a client of the text server.
type sharer struct{ *attached }

func newSharer(t testing.TB, sup *supervisor.Supervisor, hello dict) sharer {
	t.Helper()
	p := sharer{attachTo(t, sup, "ls", jsonrpc.Headers(jsonrpc.Options{}))}
	p.must("initialize", hello)
	p.tell("initialized", dict{})
	return p
}

func at(line, character int) dict { return dict{"line": line, "character": character} }

func (p sharer) opens(uri string, version int, text string) {
	p.t.Helper()
	p.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": "x", "version": version, "text": text}})
}

func (p sharer) inserts(uri string, version int, where dict, text string) {
	p.t.Helper()
	p.tell("textDocument/didChange", dict{"textDocument": dict{"uri": uri, "version": version}, "contentChanges": []dict{{"range": dict{"start": where, "end": where}, "text": text}}})
}

func (p sharer) closes(uri string) {
	p.t.Helper()
	p.tell("textDocument/didClose", dict{"textDocument": dict{"uri": uri}})
}

// has says what text the server has. It asks without naming the document as one asks
// about a document, which would give the server the client's own text.
func (p sharer) has(host *supervisor.Host, uri, want string) {
	p.t.Helper()
	p.must("test/told", nil) // it has read what came before
	var got *string
	if err := host.Call(ctx(p.t), "test/text", dict{"textDocument": dict{"uri": uri}}, &got); err != nil {
		p.t.Fatal(err)
	}
	if got == nil || *got != want {
		p.t.Errorf("the server has %q, want %q", *got, want)
	}
}

func (p sharer) leaves() {
	p.t.Helper()
	_ = p.rw.Close()
	<-p.served
}

// Programs that share a document have each their own text, and the server has that of
// the one that used it last.
func TestAttachSharedDocument(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, incremental)
	sup, host := alone(t, h)
	hello := opening(t.TempDir())
	a, b := newSharer(t, sup, hello), newSharer(t, sup, hello)
	a.opens("u", 1, "one")
	a.until("diagnostics", noted("textDocument/publishDiagnostics", "says one"))
	b.opens("u", 7, "one")
	b.until("diagnostics of what was open already", noted("textDocument/publishDiagnostics", "says one", `"version":7`))
	a.inserts("u", 2, at(0, 0), "LONG ")
	a.has(host, "u", "LONG one")
	b.until("a warning", noted("window/showMessage", "another text", "u"))
	a.closes("u")
	a.has(host, "u", "one")
	b.inserts("u", 8, at(0, 3), "!")
	b.has(host, "u", "one!")
	b.until("diagnostics", noted("textDocument/publishDiagnostics", "says one!", `"version":8`))

	// Another text of the same document, each asked about in its own.
	a.opens("u", 1, "𝄞 other")
	a.until("diagnostics", noted("textDocument/publishDiagnostics", "other", `"version":1`))
	a.has(host, "u", "𝄞 other")
	hover := func(p sharer, character int, want string) {
		t.Helper()
		if out := p.must("textDocument/hover", dict{"textDocument": dict{"uri": "u"}, "position": at(0, character)}); out != `{"contents":"`+want+`"}` {
			t.Errorf("hover: %s, want %s", out, want)
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		for range 30 {
			hover(a, 3, "other")
		}
	})
	both.Go(func() {
		for range 30 {
			hover(b, 3, "!")
		}
	})
	both.Wait()
	hover(a, 3, "other")
	if out := a.must("textDocument/semanticTokens/full", dict{"textDocument": dict{"uri": "u"}}); !strings.Contains(out, `"resultId":"1/1"`) {
		t.Errorf("semantic tokens: %s", out)
	}
	delta := dict{"textDocument": dict{"uri": "u"}, "previousResultId": "1/1"}
	a.must("textDocument/semanticTokens/full/delta", delta)
	if got := toldOf(toldTo(t, host), "textDocument/semanticTokens/full/delta"); !strings.Contains(got, `"previousResultId":"1"`) {
		t.Errorf("a difference to an answer is asked for by %s", got)
	}
	signal(t, host, syscall.SIGKILL)
	runs(t, host, 2)
	a.has(host, "u", "𝄞 other")
	if out := a.must("textDocument/semanticTokens/full/delta", delta); !strings.Contains(out, `"resultId":"2/1"`) {
		t.Errorf("semantic tokens of the next life: %s", out)
	}
	if got := toldTo(t, host); toldOf(got, "textDocument/semanticTokens/full/delta") != "" {
		t.Errorf("the next life is asked for the difference to an answer of another: %q", got)
	}
	a.leaves()
	eventually(t, func() bool {
		var got string
		err := host.Call(ctx(t), "test/text", dict{"textDocument": dict{"uri": "u"}}, &got)
		return err == nil && got == "one!"
	})
	b.inserts("u", 9, at(0, 4), "?")
	b.has(host, "u", "one!?")
	b.until("diagnostics", noted("textDocument/publishDiagnostics", "says one!?", `"version":9`))
}

// An editor that closes a document leaves another one with its own text of it.
func TestAttachOwnerLeaves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := server(t, "typescript", jsonrpc.Headers(jsonrpc.Options{}), "typescript-language-server", "--stdio")
	h.Attach = true
	sup, host := alone(t, h)
	uri := "file://" + filepath.Join(dir, "a.ts")
	connect := func() sharer {
		e := sharer{attachTo(t, sup, "typescript", h.Protocol)}
		e.must("initialize", opening(dir))
		e.tell("initialized", dict{})
		e.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": "typescript", "version": 1, "text": "const one = 1\n"}})
		return e
	}
	hover := func(e sharer, line, character int, want string) {
		t.Helper()
		out := e.must("textDocument/hover", dict{"textDocument": dict{"uri": uri}, "position": at(line, character)})
		if !strings.Contains(out, want) {
			t.Errorf("hover: %s, want %s", out, want)
		}
	}
	a := connect()
	hover(a, 0, 6, "const one: 1") // it has the document, before the other one opens it
	b := connect()
	a.inserts(uri, 2, at(0, 6), "LONG_")
	hover(a, 0, 6, "const LONG_one: 1")
	a.closes(uri)
	b.inserts(uri, 2, at(0, 9), "s")
	hover(b, 0, 6, "const ones: 1")
	signal(t, host, syscall.SIGKILL)
	hover(b, 0, 6, "const ones: 1")
	b.leaves()
	a.leaves()
}
