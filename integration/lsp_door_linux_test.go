//go:build linux

package integration

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
)

// lspHost is a host of extensions that is served to LSP clients, with files in their language.
func lspHost(t testing.TB, version string) (sup *supervisor.Supervisor, h *supervisor.Host, path string) {
	t.Helper()
	work := t.TempDir()
	path = written(t, work, "a.acme", "def one\none two\ndef two one\n")
	written(t, work, "b.acme", "def b\n")
	rewrites, err := filepath.Abs("testdata/vscode/rewrites")
	if err != nil {
		t.Fatal(err)
	}
	sup, h = alone(t, edited(t, version, "features", func(s *plan.Spec, o *vscode.Options) {
		s.Folders = append(s.Folders, manifest.Root{Dir: rewrites})
		s.LSP = &plan.LSP{Commands: []string{"rewrites.saved", "rewrites.text", "rewrites.die"}}
		o.Workspace = &vscode.Workspace{Folders: []string{work}}
	}))
	return sup, h, path
}

// editorOf attaches a client of LSP to a host, with the capabilities of a present editor.
func editorOf(t testing.TB, sup *supervisor.Supervisor, host string) *attached {
	t.Helper()
	a := attachTo(t, sup, host, jsonrpc.Headers(jsonrpc.Options{}))
	out := a.must("initialize", dict{"capabilities": dict{
		"workspace": dict{"workspaceEdit": dict{"documentChanges": true, "resourceOperations": list{"create", "rename", "delete"}}},
		"textDocument": dict{
			"documentSymbol": dict{"hierarchicalDocumentSymbolSupport": true},
			"codeAction":     dict{"resolveSupport": dict{"properties": list{"edit"}}},
			"completion":     dict{"completionItem": dict{"snippetSupport": true, "documentationFormat": list{"markdown"}}},
		},
	}})
	if !strings.Contains(out, `"positionEncoding":"utf-16"`) {
		t.Errorf("%s", out)
	}
	a.tell("initialized", dict{})
	return a
}

func opensDoc(a *attached, path, text string) dict {
	uri := "file://" + path
	a.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": "acme", "version": 1, "text": text}})
	return dict{"uri": uri}
}

func docAt(doc dict, line, character int, more ...any) dict {
	out := dict{"textDocument": doc, "position": dict{"line": line, "character": character}}
	for i := 0; i < len(more); i += 2 {
		out[more[i].(string)] = more[i+1]
	}
	return out
}

func span(l1, c1, l2, c2 int) dict {
	return dict{"start": dict{"line": l1, "character": c1}, "end": dict{"line": l2, "character": c2}}
}

func TestExtensionsAreALanguageServer(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := lspHost(t, version)
		a := editorOf(t, sup, h.Name())
		doc := opensDoc(a, path, "def one\none two\ndef two one\nbad\n")
		word := `{"start":{"line":1,"character":0},"end":{"line":1,"character":3}}`
		for _, c := range []struct {
			method string
			params dict
			want   []string
		}{
			{"hover", docAt(doc, 1, 1), []string{`"kind":"markdown"`, "speaker: one", "listener: 1 1", word}},
			{"definition", docAt(doc, 1, 1), []string{`"line":0,"character":4`, "file://" + path}},
			{"declaration", docAt(doc, 1, 1), []string{`"line":0,"character":4`}},
			{"typeDefinition", docAt(doc, 1, 1), []string{`"line":0,"character":4`}},
			{"implementation", docAt(doc, 1, 1), []string{"file:///listener.acme"}},
			{"references", docAt(doc, 1, 1, "context", dict{"includeDeclaration": false}), []string{word, `"line":2,"character":8`}},
			{"documentHighlight", docAt(doc, 1, 1), []string{`"kind":3`}},
			{"signatureHelp", docAt(doc, 1, 1), []string{`"activeParameter":1`, "f(a, b)"}},
			{"documentSymbol", docAt(doc, 0, 0), []string{`"kind":13`, `"name":"two"`}},
			{"formatting", docAt(doc, 0, 0, "options", dict{"tabSize": 2, "insertSpaces": false}), []string{"DEF2FALSE"}},
			{"rename", docAt(doc, 1, 1, "newName", "uno"), []string{`"documentChanges":[{`, `"version":1`, `"newText":"uno"`}},
			{"prepareRename", docAt(doc, 1, 1), []string{`"placeholder":"one"`}},
			{"foldingRange", docAt(doc, 0, 0), []string{`"startLine":1`, `"kind":"region"`}},
			{"selectionRange", docAt(doc, 0, 0, "positions", list{dict{"line": 1, "character": 1}}), []string{`"parent":{`}},
			{"semanticTokens/full", docAt(doc, 0, 0), []string{`"data":[0,0,3,15,0,0,4,3,8,1,`}},
			{"inlayHint", docAt(doc, 0, 0, "range", span(0, 0, 3, 0)), []string{`"label":"bc"`}},
			{"documentLink", docAt(doc, 0, 0), []string{"https://b.example/"}},
			{"codeLens", docAt(doc, 0, 0), []string{`"data":"`}},
		} {
			out := a.must("textDocument/"+c.method, c.params)
			for _, part := range c.want {
				if !strings.Contains(out, part) {
					t.Errorf("%s: %s is not in %s", c.method, part, out)
				}
			}
		}
		if out := a.must("textDocument/references", docAt(doc, 1, 1, "context", dict{"includeDeclaration": false})); strings.Contains(out, `"line":0,"character":4`) {
			t.Errorf("the declaration is in %s", out)
		}
		if out := a.must("workspace/symbol", dict{"query": "x"}); !strings.Contains(out, `"kind":5`) || !strings.Contains(out, "found x") {
			t.Errorf("%s", out)
		}
		if _, err := a.call("textDocument/rename", docAt(doc, 0, 1, "newName", "x")); err == nil || !strings.Contains(err.Error(), "a keyword stays") {
			t.Errorf("%v", err)
		}
		a.until("diagnostics", noted("textDocument/publishDiagnostics", "a bad word", `"severity":2`, `"code":"7"`))
		resolvesItems(t, a, doc)
	})
}

// resolvesItems asks for the other parts of a completion, an action and a lens.
func resolvesItems(t *testing.T, a *attached, doc dict) {
	t.Helper()
	var all struct {
		Items []struct {
			Label    string
			Kind     int
			Format   int `json:"insertTextFormat"`
			TextEdit struct{ NewText string }
			Raw      json.RawMessage
		}
	}
	out := a.must("textDocument/completion", docAt(doc, 1, 3, "context", dict{"triggerKind": 2, "triggerCharacter": "."}))
	var raw struct{ Items []json.RawMessage }
	if err := errors.Join(json.Unmarshal([]byte(out), &all), json.Unmarshal([]byte(out), &raw)); err != nil {
		t.Fatal(err)
	}
	found := ""
	for i, item := range all.Items {
		found += fmt.Sprintf("%s %d %d %s\n", item.Label, item.Kind, item.Format, item.TextEdit.NewText)
		if now := a.must("completionItem/resolve", raw.Items[i]); !strings.Contains(now, `"detail":"resolved"`) || !strings.Contains(now, `"value":"**doc**"`) {
			t.Errorf("%s", now)
		}
	}
	for _, want := range []string{"zebra 14 1 zebra\n", "alpha 10 2 alpha($1)\n", "typed . 10 1 typed .\n"} {
		if !strings.Contains(found, want) {
			t.Errorf("%q is not in %q", want, found)
		}
	}
	action := actionOf(t, a, doc, "refactor", "extract it")
	if now := a.must("codeAction/resolve", action); !strings.Contains(now, "file:///made.acme") {
		t.Errorf("%s", now)
	}
	var lens []json.RawMessage
	if err := json.Unmarshal([]byte(a.must("textDocument/codeLens", docAt(doc, 0, 0))), &lens); err != nil || len(lens) == 0 {
		t.Fatalf("%v %v", lens, err)
	}
	if now := a.must("codeLens/resolve", lens[0]); !strings.Contains(now, `"title":"resolved"`) || !strings.Contains(now, `"command":"hostsup.`) {
		t.Errorf("%s", now)
	}
}

// actionOf returns the code action with a title.
func actionOf(t *testing.T, a *attached, doc dict, kind, title string) json.RawMessage {
	t.Helper()
	var all []json.RawMessage
	out := a.must("textDocument/codeAction", docAt(doc, 0, 0, "range", span(1, 0, 1, 3), "context", dict{"diagnostics": list{}, "only": list{kind}}))
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Fatal(err)
	}
	for _, one := range all {
		if strings.Contains(string(one), `"title":"`+title+`"`) {
			return one
		}
	}
	t.Fatalf("no %q in %s", title, out)
	return nil
}

// What extensions change reaches the editor, and what the editor changes reaches extensions, in every
// life.
func TestDocumentsOfLanguageClients(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := lspHost(t, version)
		a := editorOf(t, sup, h.Name())
		applied := make(chan string, 10)
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			applied <- method + " " + string(params)
			return codec.Raw(`{"applied":true}`), nil
		})
		command := func(id string, args ...any) string {
			t.Helper()
			return a.must("workspace/executeCommand", dict{"command": "hostsup." + h.Name(), "arguments": append(list{id}, args...)})
		}
		text := func(want string) {
			t.Helper()
			raw, _ := json.Marshal(want)
			if got := command("rewrites.text", path); got != string(raw) {
				t.Errorf("%s, want %s", got, raw)
			}
		}
		doc := opensDoc(a, path, "def ä\n")
		edits := 1
		change := func(changes ...any) {
			edits++
			a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": doc["uri"], "version": edits}, "contentChanges": changes})
		}
		a.must("textDocument/hover", docAt(doc, 0, 0)) // activates the extensions
		text("acme true def ä\n")
		change(dict{"range": span(0, 4, 0, 5), "text": "𝄞x"}, dict{"range": span(0, 6, 0, 7), "text": "y"})
		text("acme true def 𝄞y\n")

		// The changes of a command are made by the editor, also in a file that it does not have open.
		action := actionOf(t, a, doc, "source", "make it loud")
		var of struct{ Command any }
		if err := json.Unmarshal(action, &of); err != nil {
			t.Fatal(err)
		}
		same(t, a.must("workspace/executeCommand", of.Command), "true")
		seen := <-applied + <-applied
		for _, part := range []string{"a.acme", "b.acme", "LOUD", `"version":2`} {
			if !strings.Contains(seen, part) {
				t.Errorf("%s is not in %s", part, seen)
			}
		}
		change(dict{"text": "LOUD 𝄞y\n"})
		text("acme true LOUD 𝄞y\n")

		// So are those that an extension makes by itself.
		change(dict{"text": "change me\n"})
		if seen := <-applied; !strings.Contains(seen, "changed") {
			t.Errorf("%s", seen)
		}
		change(dict{"text": "changed\n"})
		text("acme true changed\n")

		// Another editor has the same document with another text: that of the last one counts.
		b := editorOf(t, sup, h.Name())
		opensDoc(b, path, "def b\n")
		b.must("textDocument/hover", docAt(doc, 0, 0))
		text("acme true def b\n")
		a.must("textDocument/hover", docAt(doc, 0, 0))
		text("acme true changed\n")
		b.tell("textDocument/didClose", dict{"textDocument": doc})
		b.must("shutdown", nil)
		b.tell("exit", nil)
		if err := <-b.served; err != nil {
			t.Error(err)
		}

		// A save of the editor is one for extensions, and the text stays in the next life.
		if err := os.WriteFile(path, []byte("changed\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a.tell("textDocument/didSave", dict{"textDocument": doc})
		text("acme false changed\n")
		same(t, command("rewrites.saved"), "1")
		change(dict{"range": span(0, 7, 0, 7), "text": " again"})
		if _, err := a.call("workspace/executeCommand", dict{"command": "rewrites.die"}); err == nil || !strings.Contains(err.Error(), "it is not repeated") {
			t.Errorf("%v", err)
		}
		out := a.must("textDocument/hover", docAt(doc, 0, 1)) // of the next life
		if !strings.Contains(out, "speaker: changed") {
			t.Errorf("%s", out)
		}
		text("acme true changed again\n")
		signal(t, h, syscall.SIGKILL)
		if out := a.must("textDocument/hover", docAt(doc, 0, 9)); !strings.Contains(out, "speaker: again") {
			t.Errorf("%s", out)
		}

		// What was not saved is gone with the document.
		a.tell("textDocument/didClose", dict{"textDocument": doc})
		text("acme false changed\n")
		if _, err := a.call("workspace/executeCommand", dict{"command": "rewrites.loud"}); err == nil || !strings.Contains(err.Error(), "is not allowed") {
			t.Errorf("%v", err)
		}
	})
}

// Neovim's own client uses the extensions by hostsup attach, with a kill in the middle.
func TestNeovimUsesExtensions(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		nvim, program := peer(t, "nvim"), hostsupBinary(t)
		spec := vscodeHost(t, version)
		dir := t.TempDir()
		within := func(name string) string { return filepath.Join(dir, name) }
		features, err := filepath.Abs("testdata/vscode/features")
		if err != nil {
			t.Fatal(err)
		}
		written(t, dir, "a.acme", "def one\none two\nbad\n")
		written(t, dir, "client.lua", neovimClient)
		written(t, dir, "config.hcl", fmt.Sprintf(`supervisor { state_dir = %[1]q }
host "code" {
  command  = [%[2]q, %[3]q, %[4]q]
  protocol = "vscode"
  env      = { HOME = %[5]q, TMPDIR = %[5]q, PATH = "/usr/local/bin:/usr/bin:/bin" }
  start { timeout = "90s" }
  extensions {
    user      = [%[6]q]
    workspace = [%[7]q]
    serve "lsp" {}
  }
}`, within("state"), spec.Command[0], spec.Command[1], spec.Command[2], spec.Env["HOME"], features, dir))
		socket := within("sock")
		defer runProgram(t, program, "run", "-c", within("config.hcl"), "--socket", socket)()
		cmd := exec.CommandContext(ctx(t), nvim, "--headless", "--clean", "-i", "NONE", within("a.acme"), "-c", "luafile "+within("client.lua"))
		cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "HOSTSUP_SOCKET="+socket, "PROGRAM="+program)
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")); err != nil || !strings.HasSuffix(got, "all is well") {
			t.Errorf("%v: %s", err, got)
		}
	})
}

const neovimClient = `
local function check(ok, what) if not ok then print(what) vim.cmd('cquit') end end
local id = vim.lsp.start_client({ name = 'code', cmd = { os.getenv('PROGRAM'), 'attach', 'code' }, get_language_id = function() return 'acme' end })
check(id, 'the client was not started')
vim.lsp.buf_attach_client(0, id)
local function ask(method, more)
  local params = vim.tbl_extend('force', { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 1, character = 1 } }, more or {})
  local out, err = vim.lsp.buf_request_sync(0, method, params, 60000)
  check(out and out[id], method .. ': ' .. vim.inspect(err))
  return out[id].result, out[id].error
end
check(vim.wait(60000, function() return vim.lsp.get_client_by_id(id).initialized end, 20), 'not initialized')
local hover = ask('textDocument/hover')
check(hover and hover.contents.value:find('speaker: one'), vim.inspect(hover))
check(vim.wait(30000, function() local d = vim.diagnostic.get(0) return #d == 1 and d[1].message == 'a bad word' end, 20), vim.inspect(vim.diagnostic.get(0)))

-- The client makes the edits of a rename.
local edit = ask('textDocument/rename', { newName = 'uno' })
vim.lsp.util.apply_workspace_edit(edit, 'utf-16')
check(table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '|') == 'def uno|uno two|bad', vim.inspect(vim.api.nvim_buf_get_lines(0, 0, -1, true)))

-- The next life has the text of the buffer, which is not saved.
local function pid() return vim.fn.json_decode(vim.fn.system({ os.getenv('PROGRAM'), 'status', '--json' })).hosts[1].pid end
local before = pid()
vim.loop.kill(before, 'sigkill')
check(vim.wait(30000, function() return pid() ~= before end, 50), 'the killed process is still there')
hover = ask('textDocument/hover')
check(hover and hover.contents.value:find('speaker: uno'), vim.inspect(hover))
print('all is well')
vim.cmd('qall!')
`
