//go:build linux

package integration

import (
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

const silent = `{"textDocumentSync":{"openClose":true,"change":2},"experimental":"silent"}`

// toldTo returns what the present life of the text server was told, by methods.
func toldTo(t testing.TB, host *supervisor.Host) []string {
	t.Helper()
	var out []string
	if err := host.Call(ctx(t), "test/told", nil, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// toldOf returns the params of the last message with a method, "" if there was none.
func toldOf(list []string, method string) string {
	for _, m := range slices.Backward(list) {
		if params, is := strings.CutPrefix(m, method+" "); is {
			return params
		}
	}
	return ""
}

// A request that only reads and is lost in a crash is answered by the next life, if the
// client still has the text that it asked about. Others fail: quietly where an editor
// asks by itself.
func TestAttachLostRequests(t *testing.T) {
	t.Parallel()
	h, become := textServer(t, silent)
	sup, host := alone(t, h)
	a := newSharer(t, sup, opening(t.TempDir()))
	a.opens("u", 1, "one")
	a.opens("v", 1, "two")
	hover := func(uri string, more dict) chan codec.Message {
		q := dict{"textDocument": dict{"uri": uri}, "position": at(0, 1)}
		for k, v := range more {
			q[k] = v
		}
		_, answer := a.begin("textDocument/hover", q)
		return answer
	}
	fails := func(what string, answer chan codec.Message, code int64, parts ...string) {
		t.Helper()
		out, err := a.wait(answer)
		var e *codec.Error
		if !errors.As(err, &e) || e.Code != code || slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(e.Message, p) }) {
			t.Errorf("%s: %s %v, want %d %v", what, out, err, code, parts)
		}
	}
	again, edited, partial := hover("u", nil), hover("v", nil), hover("u", dict{"partialResultToken": "p"})
	_, resolve := a.begin("completionItem/resolve", dict{"label": "x"})
	_, command := a.begin("workspace/executeCommand", dict{"command": "x"})
	eventually(t, func() bool { return toldOf(toldTo(t, host), "workspace/executeCommand") != "" })
	a.inserts("v", 2, at(0, 0), "x")
	become(incremental)
	signal(t, host, syscall.SIGKILL)
	if out, err := a.wait(again); err != nil || out != `{"contents":"ne"}` {
		t.Errorf("a hover that was lost: %s, %v", out, err)
	}
	fails("a hover whose document was edited", edited, -32801, "SIGKILL")
	fails("a hover of which a part may have come", partial, -32801, "SIGKILL")
	fails("a completion to resolve", resolve, -32801, "SIGKILL")
	fails("a command", command, -32803, "SIGKILL")
	runs(t, host, 2)

	// One that ends each life is not made a third time.
	become(silent)
	signal(t, host, syscall.SIGKILL)
	runs(t, host, 3)
	twice := hover("u", nil)
	for life := uint64(3); life < 5; life++ {
		eventually(t, func() bool { return toldOf(toldTo(t, host), "textDocument/hover") != "" })
		signal(t, host, syscall.SIGKILL)
		runs(t, host, life+1)
	}
	fails("a hover that was lost twice", twice, -32801, "SIGKILL")

	// A person restarts the host: it may be answered, and nothing is shown if it is not.
	cut := hover("u", nil)
	eventually(t, func() bool { return toldOf(toldTo(t, host), "textDocument/hover") != "" })
	become(incremental)
	if err := host.Restart(ctx(t)); err != nil {
		t.Fatal(err)
	}
	if out, err := a.wait(cut); err == nil && out != `{"contents":"ne"}` {
		t.Errorf("a hover that was cut off by a restart: %s", out)
	} else if err != nil {
		var e *codec.Error
		if !errors.As(err, &e) || e.Code != -32801 {
			t.Errorf("a hover that was cut off by a restart: %v", err)
		}
	}
}

// What editors show of a life that has crashed ends with it, and what the next life
// has to know is told.
func TestAttachRestartIsTold(t *testing.T) {
	t.Parallel()
	h, _ := textServer(t, silent)
	sup, host := alone(t, h)
	hello := opening(t.TempDir())
	hello["capabilities"].(dict)["workspace"].(dict)["codeLens"] = dict{"refreshSupport": true}
	a := newSharer(t, sup, hello)
	a.must("test/say", dict{"say": "$/progress", "params": dict{"token": "theirs", "value": dict{"kind": "begin", "title": "indexing"}}})
	a.must("test/say", dict{"say": "$/progress", "params": dict{"token": "done", "value": dict{"kind": "begin", "title": "loading"}}})
	a.must("test/say", dict{"say": "$/progress", "params": dict{"token": "done", "value": dict{"kind": "end"}}})
	a.until("progress", noted("$/progress", `"done"`, `"end"`))
	_, command := a.begin("workspace/executeCommand", dict{"command": "x", "workDoneToken": 7})
	a.until("progress of its own", noted("$/progress", `"token":7`, "begin"))
	a.tell("window/workDoneProgress/cancel", dict{"token": 7})

	cell := func(name string) dict { return dict{"kind": 2, "document": name} }
	text := func(name, text string) dict {
		return dict{"uri": name, "languageId": "python", "version": 1, "text": text}
	}
	book := dict{"uri": "book", "version": 2}
	a.tell("notebookDocument/didOpen", dict{
		"notebookDocument":  dict{"uri": "book", "notebookType": "jupyter", "version": 1, "cells": []dict{cell("c1"), cell("c2")}},
		"cellTextDocuments": []dict{text("c1", "x = 1"), text("c2", "y")},
	})
	a.tell("notebookDocument/didChange", dict{"notebookDocument": book, "change": dict{"cells": dict{
		"structure":   dict{"array": dict{"start": 1, "deleteCount": 1, "cells": []dict{cell("c3")}}, "didOpen": []dict{text("c3", "z")}, "didClose": []dict{{"uri": "c2"}}},
		"textContent": []dict{{"document": dict{"uri": "c1", "version": 2}, "changes": []dict{{"range": dict{"start": at(0, 4), "end": at(0, 5)}, "text": "22"}}}},
	}}})
	eventually(t, func() bool { return toldOf(toldTo(t, host), "notebookDocument/didChange") != "" })
	if got := toldOf(toldTo(t, host), "window/workDoneProgress/cancel"); !strings.Contains(got, "hostsup-") {
		t.Errorf("work is cancelled as %s, which the server does not know", got)
	}

	signal(t, host, syscall.SIGKILL)
	ended := map[string]bool{}
	for len(ended) < 2 {
		m := a.until("the end of progress", noted("$/progress", `"end"`))
		ended[string(m.Params)] = true
	}
	if !ended[`{"token":"theirs","value":{"kind":"end"}}`] || !ended[`{"token":7,"value":{"kind":"end"}}`] {
		t.Errorf("%v", ended)
	}
	if _, err := a.wait(command); err == nil {
		t.Error("a command that was lost has succeeded")
	}
	runs(t, host, 2)
	want := `{"cellTextDocuments":[{"uri":"c1","languageId":"python","version":2,"text":"x = 22"},{"uri":"c3","languageId":"python","version":1,"text":"z"}],` +
		`"notebookDocument":{"cells":[{"document":"c1","kind":2},{"document":"c3","kind":2}],"notebookType":"jupyter","uri":"book","version":2}}`
	if got := toldOf(toldTo(t, host), "notebookDocument/didOpen"); got != want {
		t.Errorf("the next life is told of the notebook\n%s, want\n%s", got, want)
	}
	eventually(t, func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return slices.Contains(a.asked, "workspace/codeLens/refresh")
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(slices.DeleteFunc(slices.Clone(a.asked), func(m string) bool { return m == "window/workDoneProgress/create" })) != 1 { // it is, if the restart takes long
		t.Errorf("it is asked %v", a.asked)
	}
}
