package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
)

// answersAboutFiles answers as a supervisor with extensions does.
func answersAboutFiles(_ context.Context, _ string, raw json.RawMessage) (json.RawMessage, error) {
	var q struct {
		Feature  string
		Text     string
		URI      struct{ Path string }
		Position struct{ Line, Character int }
	}
	if err := json.Unmarshal(raw, &q); err != nil {
		return nil, err
	}
	const at = `{"start":{"line":2,"character":4},"end":{"line":2,"character":7}}`
	switch q.Feature {
	case "hover":
		return fmt.Appendf(nil, `[{"contents":["line %d\nchar %d"]}]`, q.Position.Line, q.Position.Character), nil
	case "definition":
		return json.RawMessage(`[{"uri":"file:///a%20b.go","range":` + at + `}]`), nil
	case "completion":
		return json.RawMessage(`{"items":[{"label":{"label":"f","detail":"()"},"kind":"function","insertText":"f"}]}`), nil
	case "symbols":
		return json.RawMessage(`[{"name":"T","kind":"class","range":` + at + `,"selectionRange":` + at + `,"children":[{"name":"m","kind":"method","range":` + at + `,"selectionRange":` + at + `}]}]`), nil
	case "rename":
		return json.RawMessage(`{"edits":[{"resource":"file:///a.go","textEdit":{"range":` + at + `,"text":"` + q.Text + `"}},{"oldResource":"file:///a","newResource":"file:///b"}]}`), nil
	case "actions":
		return json.RawMessage(`[{"title":"Fix it","kind":"quickfix"}]`), nil
	case "tokens":
		return json.RawMessage(`[{"position":{"line":0,"character":1},"length":3,"type":"keyword","modifiers":["static"]}]`), nil
	case "folding":
		return json.RawMessage(`[{"start":0,"end":2}]`), nil
	case "format", "signature":
		return json.RawMessage(map[string]string{"format": "[]", "signature": "null"}[q.Feature]), nil
	case "workspace-symbols":
		return json.RawMessage(`[{"name":"` + q.Text + `","kind":"class","location":{"uri":"untitled:x","range":` + at + `}}]`), nil
	case "diagnostics":
		return json.RawMessage(`[{"range":` + at + `,"severity":8,"message":"no\u001b","source":"ts","code":"7"}]`), nil
	}
	return nil, fmt.Errorf("%w: %s", extensions.ErrNoProvider, q.Feature)
}

func TestLangExitCodes(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	for _, tt := range []struct {
		args string
		code int
		says string // on standard error
	}{
		{"lang hover a.go:3:4", 0, ""},
		{"lang hover", 2, "FILE"},
		{"lang dance a.go", 2, `"dance" is not a feature that is known: actions, colors`},
		{"lang rename a.go", 2, "NAME is missing"},
		{"lang hover a.go b", 2, `"b" is too much: hover takes no other argument`},
		{"lang hover a.go:0", 2, `"a.go:0": lines and columns count from 1`},
		{"lang diagnostics a.go --wait -1s", 2, "--wait is negative"},
		{"lang format a.go", 0, "the extensions have no format here"},
		{"lang colors a.go", 1, "no extension provides the language feature: colors"},
		{"lang hover a.go --host db", 1, `host "db" has no extensions`},
		{"lang hover a.go --host tss", 5, `did you mean "ts"?`},
	} {
		r := hostsupRun(t, "", strings.Fields(tt.args)...)
		if r.code != tt.code || !strings.Contains(r.err, tt.says) || tt.says == "" && r.err != "" {
			t.Errorf("%s: exit %d, %q, want %d, %q", tt.args, r.code, r.err, tt.code, tt.says)
		}
	}
}

func TestLangOutput(t *testing.T) {
	fake(t)
	t.Chdir(t.TempDir())
	for _, tt := range []struct{ args, want string }{
		{"lang hover /a.go", "line 0\nchar 0\n"},
		{"lang hover /a.go:3:4", "line 2\nchar 3\n"},
		{"lang definition /a.go", "/a b.go:3:5\n"},
		{"lang completion /a.go", "f() function\n"},
		{"lang symbols /a.go", "/a.go:3:5 class T\n/a.go:3:5   method m\n"},
		{"lang rename /a.go x", "/a.go:3:5-3:8 \"x\"\nmove /a /b\n"},
		{"lang actions /a.go", "Fix it (quickfix)\n"},
		{"lang tokens /a.go", "/a.go:1:2 3 keyword static\n"},
		{"lang folding /a.go", "{\"start\":0,\"end\":2}\n"},
		{"lang workspace-symbols T", "untitled:x:3:5 class T\n"},
		{"lang diagnostics /a.go", "/a.go:3:5: error: no\\x1b ts 7\n"},
		{"lang signature /a.go --json", "null\n"},
		{"lang actions /a.go --json", "[\n  {\n    \"title\": \"Fix it\",\n    \"kind\": \"quickfix\"\n  }\n]\n"},
		{"__complete lang ", strings.Join(featureNames(), "\n") + "\n:4\n"},
		{"__complete lang hover ", ":0\n"},
	} {
		if got := hostsupRun(t, "", strings.Split(tt.args, " ")...).out; got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.args, got, tt.want)
		}
	}
}
