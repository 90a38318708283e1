//go:build linux

package integration

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

// What a client asks for while a user types and saves, and what has several steps.
func TestTypingAndHierarchiesOfLanguageClients(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := lspHost(t, version)
		a := editorOf(t, sup, h.Name())
		doc := opensDoc(a, path, "def one\none two\ndef two one\nbad\n")
		answers := func(method string, params dict, want string) {
			t.Helper()
			same(t, strings.ReplaceAll(a.must("textDocument/"+method, params), "file://"+path, "FILE"), want)
		}
		zero := `{"start":{"line":0,"character":0},"end":{"line":0,"character":3}}`
		answers("onTypeFormatting", docAt(doc, 1, 1, "ch", ";", "options", dict{"tabSize": 2}), `[{"range":{"start":{"line":1,"character":1},"end":{"line":1,"character":1}},"newText":"after ;"}]`)
		answers("onTypeFormatting", docAt(doc, 1, 1, "ch", "x", "options", dict{"tabSize": 2}), `[]`)
		answers("linkedEditingRange", docAt(doc, 1, 1), `{"ranges":[{"start":{"line":0,"character":4},"end":{"line":0,"character":7}},{"start":{"line":1,"character":0},"end":{"line":1,"character":3}},`+
			`{"start":{"line":2,"character":8},"end":{"line":2,"character":11}}],"wordPattern":"[a-z]+"}`)
		answers("linkedEditingRange", docAt(doc, 0, 1), "null")
		answers("documentColor", docAt(doc, 0, 0), `[{"color":{"red":1,"green":0,"blue":0.5,"alpha":1},"range":`+zero+`}]`)
		answers("colorPresentation", docAt(doc, 0, 0, "color", dict{"red": 1, "green": 0.5, "blue": 0, "alpha": 1}, "range", span(0, 0, 0, 3)), `[{"label":"rgb 1 0.5 0"}]`)
		inline := a.must("textDocument/inlineCompletion", docAt(doc, 1, 1, "context", dict{"triggerKind": 2, "selectedCompletionInfo": dict{"range": span(1, 0, 1, 3), "text": "sel"}}))
		for _, part := range []string{`"insertText":"inline 1 sel"`, `"command":"hostsup.` + h.Name(), `{"insertText":{"kind":"snippet","value":"snip($1)"}`} {
			if !strings.Contains(inline, part) {
				t.Errorf("%s is not in %s", part, inline)
			}
		}
		var offered []struct{ Command any }
		if err := json.Unmarshal([]byte(inline), &offered); err != nil {
			t.Fatal(err)
		}
		a.must("workspace/executeCommand", offered[0].Command)
		if asked := a.must("textDocument/inlineCompletion", docAt(doc, 1, 1, "context", dict{"triggerKind": 1})); !strings.Contains(asked, `"inline 0 undefined"`) {
			t.Errorf("%s", asked)
		}
		var hints []json.RawMessage
		if err := json.Unmarshal([]byte(a.must("textDocument/inlayHint", docAt(doc, 0, 0, "range", span(0, 0, 3, 0)))), &hints); err != nil || len(hints) != 2 {
			t.Fatalf("%s %v", hints, err)
		}
		if now := a.must("inlayHint/resolve", hints[0]); !strings.Contains(now, `"tooltip":{"kind":"markdown","value":"why"}`) || !strings.Contains(now, `"label":"from 0 to 3"`) {
			t.Errorf("%s", now)
		}

		// Only what was registered for a character is asked for when it is typed.
		typed := func(kind int, character string) string {
			return a.must("textDocument/completion", docAt(doc, 1, 3, "context", dict{"triggerKind": kind, "triggerCharacter": character}))
		}
		for _, c := range []struct {
			out  string
			want bool
		}{{typed(2, "."), true}, {typed(2, "#"), false}, {a.must("textDocument/completion", docAt(doc, 1, 3)), true}} {
			if got := strings.Contains(c.out, "zebra"); got != c.want {
				t.Errorf("%v: %s", got, c.out)
			}
		}
		changesTokens(t, a, doc)
		walksHierarchies(t, a, h, doc)
	})
}

// changesTokens asks for the difference of semantic tokens.
func changesTokens(t *testing.T, a *attached, doc dict) {
	t.Helper()
	var first, next struct {
		ResultID string
		Data     []int
		Edits    []struct {
			Start, DeleteCount int
			Data               []int
		}
	}
	if err := json.Unmarshal([]byte(a.must("textDocument/semanticTokens/full", docAt(doc, 0, 0))), &first); err != nil || first.ResultID == "" {
		t.Fatalf("%+v %v", first, err)
	}
	a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": doc["uri"], "version": 2}, "contentChanges": list{dict{"range": span(1, 4, 1, 7), "text": "three"}}})
	if err := json.Unmarshal([]byte(a.must("textDocument/semanticTokens/full/delta", docAt(doc, 0, 0, "previousResultId", first.ResultID))), &next); err != nil || len(next.Edits) != 1 {
		t.Fatalf("%+v %v", next, err)
	}
	e := next.Edits[0]
	patched := fmt.Sprint(append(append(append([]int{}, first.Data[:e.Start]...), e.Data...), first.Data[e.Start+e.DeleteCount:]...))
	var all struct{ Data []int }
	if err := json.Unmarshal([]byte(a.must("textDocument/semanticTokens/full/delta", docAt(doc, 0, 0, "previousResultId", first.ResultID))), &all); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(all.Data); got != patched || len(e.Data) > 2 { // an old id has no difference
		t.Errorf("%s, want %s", got, patched)
	}
	if part := a.must("textDocument/semanticTokens/range", docAt(doc, 0, 0, "range", span(0, 0, 1, 0))); !strings.HasPrefix(part, `{"data":[0,0,3,15,0,`) {
		t.Errorf("%s", part)
	}
}

// walksHierarchies asks for calls and types, and again after a kill.
func walksHierarchies(t *testing.T, a *attached, h *supervisor.Host, doc dict) {
	t.Helper()
	root := func(method string) json.RawMessage {
		t.Helper()
		var all []json.RawMessage
		if err := json.Unmarshal([]byte(a.must("textDocument/"+method, docAt(doc, 1, 1))), &all); err != nil || len(all) != 1 {
			t.Fatalf("%s %v", all, err)
		}
		return all[0]
	}
	related := func(method string, item any, want string) json.RawMessage {
		t.Helper()
		var all []struct {
			From, To   json.RawMessage
			FromRanges []any
		}
		out := a.must(method, dict{"item": item})
		if err := json.Unmarshal([]byte(out), &all); err != nil || len(all) != 1 || !strings.Contains(out, want) || !strings.Contains(out, `"kind":`) {
			t.Fatalf("%s: %s %v", method, out, err)
		}
		if all[0].From != nil && len(all[0].FromRanges) != 1 {
			t.Errorf("%s", out)
		}
		return all[0].From
	}
	one, base := root("prepareCallHierarchy"), root("prepareTypeHierarchy")
	caller := related("callHierarchy/incomingCalls", one, `"name":"caller of one"`)
	related("callHierarchy/outgoingCalls", caller, `"name":"called by caller of one"`)
	related("typeHierarchy/supertypes", base, `"name":"super one"`)
	related("typeHierarchy/subtypes", base, `"name":"sub one"`)
	signal(t, h, syscall.SIGKILL)
	related("callHierarchy/outgoingCalls", one, `"name":"called by one"`) // it is found again at its place
	if _, err := a.call("callHierarchy/outgoingCalls", dict{"item": caller}); err == nil || !strings.Contains(err.Error(), "function caller of one is not at ") {
		t.Errorf("%v", err)
	}
}

// A client that takes registrations gets the characters of the extensions when they are active.
func TestTriggersAreRegistered(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := lspHost(t, version)
		a := attachTo(t, sup, h.Name(), jsonrpc.Headers(jsonrpc.Options{}))
		told := make(chan string, 100)
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			told <- method + " " + string(params)
			return codec.Raw("null"), nil
		})
		later := dict{"dynamicRegistration": true}
		out := a.must("initialize", dict{"capabilities": dict{"textDocument": dict{"completion": later, "signatureHelp": later, "onTypeFormatting": later}}})
		for _, name := range []string{"completionProvider", "signatureHelpProvider", "documentOnTypeFormattingProvider"} {
			if strings.Contains(out, name) {
				t.Errorf("%s is in %s", name, out)
			}
		}
		a.tell("initialized", dict{})
		opensDoc(a, path, "def one\n")
		want := map[string]string{
			"completion":       `"triggerCharacters":["."]`,
			"signatureHelp":    `"triggerCharacters":["("]`,
			"onTypeFormatting": `"firstTriggerCharacter":";","moreTriggerCharacter":[]`,
		}
		for len(want) > 0 {
			method, text, _ := strings.Cut(<-told, " ")
			var p struct {
				Registrations []struct {
					Method          string
					RegisterOptions json.RawMessage
				}
			}
			if method != "client/registerCapability" {
				continue
			}
			if err := json.Unmarshal([]byte(text), &p); err != nil {
				t.Fatal(err)
			}
			for _, r := range p.Registrations {
				name := strings.TrimPrefix(r.Method, "textDocument/")
				if strings.Contains(string(r.RegisterOptions), want[name]) {
					delete(want, name)
				}
			}
		}
	})
}

// What extensions change when a document is saved is in the answer to the client, once.
func TestSavesOfLanguageClientsHaveParticipants(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		sup, h, path := lspHost(t, version)
		a := editorOf(t, sup, h.Name())
		a.setReply(func(method string, params codec.Raw) (codec.Raw, *codec.Error) {
			t.Errorf("%s %s", method, params)
			return codec.Raw(`{"applied":false}`), nil
		})
		doc := opensDoc(a, path, "why\n")
		a.must("textDocument/hover", docAt(doc, 0, 0)) // activates the extensions
		save := func(reason int) string {
			return a.must("textDocument/willSaveWaitUntil", dict{"textDocument": doc, "reason": reason})
		}
		same(t, save(2), `[{"range":{"start":{"line":0,"character":0},"end":{"line":1,"character":0}},"newText":"because 2\n"}]`)
		a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": doc["uri"], "version": 2}, "contentChanges": list{dict{"range": span(0, 0, 0, 3), "text": "because 2"}}})
		if err := os.WriteFile(path, []byte("because 2\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a.tell("textDocument/didSave", dict{"textDocument": doc})
		text := func(want string) {
			t.Helper()
			same(t, a.must("workspace/executeCommand", dict{"command": "rewrites.text", "arguments": list{path}}), want)
		}
		text(`"acme false because 2\n"`)
		same(t, save(1), "[]")

		// A client that does not make the changes keeps its text.
		a.tell("textDocument/didChange", dict{"textDocument": dict{"uri": doc["uri"], "version": 3}, "contentChanges": list{dict{"text": "why not\n"}}})
		if out := save(1); !strings.Contains(out, "because 1 not") {
			t.Errorf("%s", out)
		}
		if err := os.WriteFile(path, []byte("why not\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		a.tell("textDocument/didSave", dict{"textDocument": doc})
		text(`"acme false why not\n"`)
	})
}

// Neovim's own client walks calls, asks for tokens, and writes a file with what extensions change.
func TestNeovimTypesAndSaves(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		file := written(t, work, "a.acme", "why one\none two\n")
		folders, err := filepath.Abs("testdata/vscode/rewrites")
		if err != nil {
			t.Fatal(err)
		}
		host := configuredHost(t, version, "features", fmt.Sprintf("    workspace = [%q]\n    serve \"lsp\" {}\n", work))
		runNeovim(t, strings.Replace(host, `features"]`, fmt.Sprintf(`features", %q]`, folders), 1), file, neovimTyping)
		saved, err := os.ReadFile(file)
		same(t, string(saved), "because 1 one\none two\n")
		if err != nil {
			t.Error(err)
		}
	})
}

// runNeovim runs a script in Neovim, which edits a file and can attach to the host of a configuration.
func runNeovim(t *testing.T, host, file, script string) {
	t.Helper()
	nvim, program, dir := peer(t, "nvim"), hostsupBinary(t), t.TempDir()
	client := written(t, dir, "client.lua", script)
	config := written(t, dir, "config.hcl", fmt.Sprintf("supervisor { state_dir = %q }\n%s\n", filepath.Join(dir, "state"), host))
	socket := filepath.Join(dir, "sock")
	defer runProgram(t, program, "run", "-c", config, "--socket", socket)()
	cmd := exec.CommandContext(ctx(t), nvim, "--headless", "--clean", "-i", "NONE", file, "-c", "luafile "+client)
	cmd.Env = append(os.Environ(), "HOME="+dir, "TMPDIR="+dir, "HOSTSUP_SOCKET="+socket, "PROGRAM="+program)
	out, err := cmd.CombinedOutput()
	if got := strings.TrimSpace(strings.ReplaceAll(string(out), "\r", "")); err != nil || !strings.HasSuffix(got, "all is well") {
		t.Errorf("%v: %s", err, got)
	}
}

const neovimTyping = `
local function check(ok, what) if not ok then print(what) vim.cmd('cquit') end end
local id = vim.lsp.start_client({ name = 'code', cmd = { os.getenv('PROGRAM'), 'attach', 'code' }, get_language_id = function() return 'acme' end })
check(id, 'the client was not started')
vim.lsp.buf_attach_client(0, id)
check(vim.wait(60000, function() return vim.lsp.get_client_by_id(id).initialized end, 20), 'not initialized')
local function request(method, params)
  local out, err = vim.lsp.buf_request_sync(0, method, params, 60000)
  check(out and out[id] and not out[id].error, method .. ': ' .. vim.inspect(err or out))
  return out[id].result
end
local here = { textDocument = vim.lsp.util.make_text_document_params(), position = { line = 1, character = 1 } }
local roots = request('textDocument/prepareCallHierarchy', here)
check(#roots == 1, vim.inspect(roots))
local calls = request('callHierarchy/incomingCalls', { item = roots[1] })
check(#calls == 1 and calls[1].from.name == 'caller of one', vim.inspect(calls))

local tokens = request('textDocument/semanticTokens/full', here)
local same = request('textDocument/semanticTokens/full/delta', { textDocument = here.textDocument, previousResultId = tokens.resultId })
check(#tokens.data == 20 and #same.edits == 0, vim.inspect(tokens) .. vim.inspect(same))

-- A file is written as later versions do it by themselves.
vim.api.nvim_create_autocmd('BufWritePre', { buffer = 0, callback = function()
  local edits = request('textDocument/willSaveWaitUntil', { textDocument = here.textDocument, reason = 1 })
  vim.lsp.util.apply_text_edits(edits, 0, 'utf-16')
end })
vim.cmd('write')
check(vim.api.nvim_buf_get_lines(0, 0, 1, true)[1] == 'because 1 one', vim.inspect(vim.api.nvim_buf_get_lines(0, 0, -1, true)))
check(not vim.bo.modified, 'it is still modified')
print('all is well')
vim.cmd('qall!')
`
