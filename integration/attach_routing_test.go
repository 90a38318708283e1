//go:build linux

package integration

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/supervisor"
)

// askedFor returns how often the server has asked the program for a method.
func (a *attached) askedFor(method string) (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, m := range a.asked {
		if m == method {
			n++
		}
	}
	return n
}

// The edit that a command of the second editor makes lands in the second editor.
func TestAttachEditsOfSecondEditor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := server(t, "typescript", jsonrpc.Headers(jsonrpc.Options{}), "typescript-language-server", "--stdio")
	h.Attach, h.Stop.Grace = true, time.Second
	sup, _ := alone(t, h)
	const edits = "workspace/applyEdit"
	join := func() *attached {
		a := attachTo(t, sup, "typescript", h.Protocol)
		a.setReply(func(method string, _ codec.Raw) (codec.Raw, *codec.Error) {
			switch method {
			case "workspace/configuration":
				return codec.Raw(`[{},{},{},{},{},{},{},{}]`), nil
			case edits:
				return codec.Raw(`{"applied":true}`), nil
			}
			return nil, nil
		})
		o := opening(dir)
		o["capabilities"].(dict)["workspace"].(dict)["applyEdit"] = true
		a.must("initialize", o)
		a.tell("initialized", dict{})
		return a
	}
	first, second := join(), join()
	path := filepath.Join(dir, "a.ts")
	uri := "file://" + path
	second.tell("textDocument/didOpen", dict{"textDocument": dict{"uri": uri, "languageId": "typescript", "version": 1,
		"text": "import { b } from './b'\nimport { a } from './a'\nexport { a, b }\n"}})
	second.must("workspace/executeCommand", dict{"command": "_typescript.organizeImports", "arguments": []any{path}})
	if first.askedFor(edits) != 0 || second.askedFor(edits) != 1 {
		t.Errorf("the first editor was asked for %d edits, the second for %d", first.askedFor(edits), second.askedFor(edits))
	}
}

// A server asks one of its clients what any of them could answer, and that one leaves without an
// answer: another one is asked, and without one the server has the answer of an editor that lacks what
// it is asked for. An error would end some servers.
func TestAttachAskedClientLeaves(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ method, params, alone, other string }{
		{"workspace/configuration", `{"items":[{"section":"a"},{}]}`, "[null,null]", `[1,2]`},
		{"window/workDoneProgress/create", `{"token":"x"}`, "null", "null"},
		{"workspace/workspaceFolders", "", "null", `[]`},
		{"client/registerCapability", `{"registrations":[{"id":"1","method":"m"}]}`, "null", "null"},
	} {
		t.Run(row.method, func(t *testing.T) {
			t.Parallel()
			h, _ := textServer(t, incremental)
			sup, host := alone(t, h)
			hello := opening(t.TempDir())
			hello["capabilities"].(dict)["window"] = dict{"workDoneProgress": true}
			// silent is a client that reads what it is asked, and has no answer.
			silent := func() (leave func()) {
				a := newSharer(t, sup, hello)
				asked, left := make(chan struct{}), make(chan struct{})
				var once sync.Once
				a.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) {
					once.Do(func() { close(asked) })
					<-left
					return nil, nil
				})
				return func() {
					<-asked
					_ = a.rw.Close()
					close(left)
					<-a.served
				}
			}
			ask := func() {
				params := dict{"say": row.method}
				if row.params != "" {
					params["params"] = json.RawMessage(row.params)
				}
				if err := host.Notify(ctx(t), "test/ask", params); err != nil {
					t.Fatal(err)
				}
			}
			answered := func(n int, want string) {
				var answers []string
				eventually(t, func() bool {
					answers = slices.DeleteFunc(toldTo(t, host), func(m string) bool { return !strings.HasPrefix(m, "answer ") })
					return len(answers) >= n
				}, "an answer to ", row.method)
				if answers[n-1] != "answer "+want+" <nil>" {
					t.Errorf("the server has %q, want %s", answers[n-1], want)
				}
			}
			leave := silent()
			ask()
			leave()
			answered(1, row.alone)

			leave = silent()
			b := newSharer(t, sup, hello)
			b.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) { return codec.Raw(row.other), nil })
			ask()
			leave()
			answered(2, row.other)
			if n := b.askedFor(row.method); n == 0 {
				t.Error("the other client was not asked")
			}
			b.leaves()
		})
	}
}

// attachAgent attaches to an MCP server as somebody who answers what a person is asked.
func attachAgent(t *testing.T, sup *supervisor.Supervisor, host, name string) *attached {
	t.Helper()
	a := attachTo(t, sup, host, jsonrpc.Lines(jsonrpc.Options{}))
	a.setReply(func(method string, _ codec.Raw) (codec.Raw, *codec.Error) {
		switch method {
		case "elicitation/create":
			return codec.Raw(`{"action":"accept","content":{"name":"` + name + `"}}`), nil
		case "sampling/createMessage":
			return codec.Raw(`{"role":"assistant","model":"m","content":{"type":"text","text":"I am ` + name + `"}}`), nil
		case "roots/list":
			return codec.Raw(`{"roots":[]}`), nil
		}
		return nil, &codec.Error{Code: -32601, Message: "no " + method}
	})
	a.must("initialize", dict{"protocolVersion": "2025-11-25", "clientInfo": dict{"name": "agent", "version": "1"},
		"capabilities": dict{"elicitation": dict{}, "sampling": dict{}, "roots": dict{"listChanged": true}}})
	a.tell("notifications/initialized", nil)
	return a
}

// What a tool asks a person is asked of the agent that has called the tool, and no
// answer of one agent's person goes to another agent.
func TestAttachAsksTheCaller(t *testing.T) {
	t.Parallel()
	h := server(t, "every", jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
	h.Attach, h.Stop.Grace = true, time.Second
	sup, _ := alone(t, h)
	one := attachAgent(t, sup, "every", "one")
	two := attachAgent(t, sup, "every", "two")
	for _, ask := range []struct{ tool, method string }{
		{"trigger-elicitation-request", "elicitation/create"},
		{"trigger-sampling-request", "sampling/createMessage"},
	} {
		out := two.must("tools/call", dict{"name": ask.tool, "arguments": dict{"prompt": "who are you", "maxTokens": 5}})
		if !strings.Contains(out, "two") || strings.Contains(out, "one") {
			t.Errorf("%s of the second: %s", ask.tool, out)
		}
		if one.askedFor(ask.method) != 0 || two.askedFor(ask.method) != 1 {
			t.Errorf("%s: the first was asked %d times, the second %d times", ask.method, one.askedFor(ask.method), two.askedFor(ask.method))
		}
		out = one.must("tools/call", dict{"name": ask.tool, "arguments": dict{"prompt": "who are you", "maxTokens": 5}})
		if one.askedFor(ask.method) != 1 || two.askedFor(ask.method) != 1 {
			t.Errorf("%s of the first: %s", ask.tool, out)
		}
	}
}

// Between agents that are isolated nothing is asked that may be another one's: the
// server is told why.
func TestAttachIsolated(t *testing.T) {
	t.Parallel()
	h := server(t, "every", jsonrpc.Lines(jsonrpc.Options{}), "mcp-server-everything", "stdio")
	h.Attach, h.Features, h.Stop.Grace = true, []supervisor.Feature{attach.Rule{Isolate: true}}, time.Second
	sup, _ := alone(t, h)
	one, two := attachAgent(t, sup, "every", "one"), attachAgent(t, sup, "every", "two")
	call := func(a *attached) (string, error) {
		return a.call("tools/call", dict{"name": "trigger-elicitation-request", "arguments": dict{}})
	}
	if out, err := call(two); err != nil || !strings.Contains(out, "two") {
		t.Errorf("one alone has a call open: %s, %v", out, err)
	}
	_, long := one.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}, "_meta": dict{"progressToken": 1}})
	one.until("progress", noted("notifications/progress")) // so that it is open
	out, err := call(two)
	if err != nil {
		out = err.Error()
	}
	if !strings.Contains(out, "isolated") {
		t.Errorf("two have calls open: %s", out)
	}
	if n := one.askedFor("elicitation/create"); n != 0 {
		t.Errorf("the other was asked %d times", n)
	}
	_ = one.rw.Close()
	<-one.served
	if _, err := one.wait(long); err == nil {
		t.Error("a call of a program that has left is answered")
	}
	if out, err := call(two); err != nil || !strings.Contains(out, "two") {
		t.Errorf("the other has left: %s, %v", out, err)
	}
	// A request that no call has caused is nobody's, whoever has calls open.
	three := attachAgent(t, sup, "every", "three")
	two.begin("tools/call", dict{"name": "trigger-long-running-operation", "arguments": dict{"duration": 600, "steps": 600}, "_meta": dict{"progressToken": 1}})
	two.until("progress", noted("notifications/progress"))
	before := two.askedFor("roots/list") + three.askedFor("roots/list")
	three.tell("notifications/roots/list_changed", nil)
	three.must("tools/call", dict{"name": "echo", "arguments": dict{"message": "behind it"}})
	if after := two.askedFor("roots/list") + three.askedFor("roots/list"); after != before {
		t.Errorf("%d requests for roots went to some client", after-before)
	}
}
