package lists

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// source is where the lists of the tests come from.
func source(program Program) Source {
	return Source{Program: program, Dir: "/proj", Home: "/home/me"}
}

// describe writes servers as text.
func describe(servers []Server, left []Left) string {
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "%s:", s.Name)
		if s.Language {
			b.WriteString(" language server")
		}
		for _, t := range s.Command {
			fmt.Fprintf(&b, " %q", t)
		}
		if s.URL != nil {
			fmt.Fprintf(&b, " at %q", s.URL)
		}
		b.WriteByte('\n')
		if s.Token != nil {
			fmt.Fprintf(&b, "  token %q\n", s.Token)
		}
		for _, k := range slices.Sorted(maps.Keys(s.Headers)) {
			fmt.Fprintf(&b, "  %s: %q\n", k, s.Headers[k])
		}
		for _, k := range slices.Sorted(maps.Keys(s.Env)) {
			fmt.Fprintf(&b, "  %s = %q", k, s.Env[k])
			for _, p := range s.Env[k] {
				if p.HasDefault {
					fmt.Fprintf(&b, " or %q", p.Default)
				}
			}
			b.WriteByte('\n')
		}
		if s.Dir != nil {
			fmt.Fprintf(&b, "  in %q\n", s.Dir)
		}
		if s.Timeout > 0 {
			fmt.Fprintf(&b, "  starts within %v\n", s.Timeout)
		}
		for _, n := range s.Notes {
			fmt.Fprintf(&b, "  note: %s\n", n)
		}
	}
	for _, l := range left {
		fmt.Fprintf(&b, "left out: %s: %s\n", l.Name, l.Why)
	}
	return b.String()
}

// What is read of the list of each program is in its golden file.
func TestRead(t *testing.T) {
	for file, program := range map[string]Program{
		"claude.json": Claude, "claude_desktop_config.json": ClaudeDesktop, "codex.toml": Codex, "cursor.json": Cursor,
		"gemini.json": Gemini, "opencode.jsonc": OpenCode, "vscode.json": VSCode, "zed.json": Zed,
	} {
		src, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		servers, left, err := Read(src, source(program))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		got := describe(servers, left)
		golden := filepath.Join("testdata", file+".golden")
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s: got\n%swant\n%s", file, got, want)
		}
		// Most are recognized by their content alone.
		if program == Cursor || program == Gemini || program == ClaudeDesktop {
			continue
		}
		if servers, left, err = Read(append([]byte("\xef\xbb\xbf"), src...), source("")); err != nil || describe(servers, left) != got {
			t.Errorf("%s without its name: %v\n%s", file, err, describe(servers, left))
		}
	}
}

// A list of an unknown program may be in any form.
func TestReadUnknown(t *testing.T) {
	const src = `{
  // the first one
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@x/files", "/srv // no comment", ",]"], "cwd": "sub",},
    "v": {"command": "x", "env": {"N": 1e6, "B": true, "Z": null, "T": "${T}", "E": "${env:E}", "D": "${D:-x y}", "W": "$W", "M": "a $M"}},
    "on": {"command": "x", "enabled": true}, /* and
    those that are left out */
    "url": {"url": "https://example.com"}, "http": {"type": "http"}, "sse": {"serverUrl": "x"},
    "off": {"command": "x", "disabled": true}, "not-on": {"command": "x", "enabled": false},
    "none": {"args": ["x"]}, "empty": {"command": ""}, "list": [], "null": null, "number": {"command": 1},
    "args": {"command": "x", "args": "y"}, "arg": {"command": "x", "args": [1]}, "env": {"command": "x", "env": {"A": {}}},
    "vars": {"command": "x", "env_vars": [1]},
  },
  "servers": {"code": {"type": "stdio", "command": "x"}, "on": {"command": "another"}},
  "mcp": {"servers": {"deep": {"command": "x"}}},
}`
	servers, left, err := Read([]byte(src), source(""))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Server{}
	for _, s := range servers {
		got[s.Name] = s
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"code", "deep", "files", "on", "sse", "url", "v"}) {
		t.Errorf("%q", names)
	}
	if got["on"].Command[0].String() != "x" {
		t.Errorf("%+v", got["on"])
	}
	if text := describe(servers, nil); !strings.Contains(text, `"/srv // no comment" ",]"`) || !strings.Contains(text, `in "/proj/sub"`) {
		t.Error(text)
	}
	env := ""
	for _, k := range slices.Sorted(maps.Keys(got["v"].Env)) {
		env += k + "=" + got["v"].Env[k].String() + " "
	}
	// VS Code, which this is taken for, replaces ${env:E} alone.
	if want := "B=true D=${D:-x y} E=${E} M=a $M N=1e6 T=${T} W=$W "; env != want {
		t.Errorf("%s, want %s", env, want)
	}
	why := map[string]string{}
	for _, l := range left {
		why[l.Name] = l.Why
	}
	for name, word := range map[string]string{
		"http": "URL", "off": "disabled", "not-on": "disabled", "none": "no command", "empty": "no command", "list": "not an object", "null": "no command",
		"number": "neither a string", "args": "args cannot be of type string", "arg": "args", "env": "A is not a string", "vars": "env_vars",
	} {
		if !strings.Contains(why[name], word) {
			t.Errorf("%s is left out because %q, want %q", name, why[name], word)
		}
		delete(why, name)
	}
	if len(why) > 0 {
		t.Errorf("left out too: %q", why)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "unexpected EOF; expected JSON"},
		{"{\n\"a\": x}", "line 2, column 6: "},
		{"{} {}", "line 1, column 4: "},
		{"{", "line "},
		{"{\"a\": \"b\nc\"}", "line 1"},
		{"[]", "line 1: the whole: expected an object, not array"},
		{"{\n\"mcpServers\": 1}", "line 2: mcpServers: expected an object, not number"},
		{"{\n\n\"inputs\": {}}", "line 3: inputs: expected a list, not object"},
		{"{}", "no servers"},
		{`{"mcpServers": {}}`, "no servers"},
		{"/* ", "unexpected EOF"},
		{"[mcp_servers.a]\ncommand = x", "line 2, column 11: "},
		{"[mcp_servers.a]\n[mcp_servers.a]", "line 2, column "},
		{"mcp_servers = 1", "expected a table"},
		{"x = 'mcp_servers'", "no servers"},
		{"[mcp_servers]", "no servers"},
		{strings.Repeat("[", 1<<20), "nested more than 1000 deep"},
		{"mcp_servers = \n" + strings.Repeat("[", 1<<20), "line 2: nested more than 1000 deep"},
		{"\xff", "invalid character"},
	} {
		if _, _, err := Read([]byte(c.src), source("")); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.src, err, c.want)
		}
	}
	if _, _, err := Read([]byte("{}"), source("")); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}

func TestGuess(t *testing.T) {
	for file, want := range map[string]Program{
		"/p/.mcp.json": Claude, "/home/me/.claude.json": Claude, "/x/Claude/claude_desktop_config.json": ClaudeDesktop,
		"/p/.cursor/mcp.json": Cursor, "/p/.vscode/mcp.json": VSCode, "/x/Code/User/mcp.json": VSCode, "/p/.gemini/settings.json": Gemini,
		"/p/.zed/settings.json": Zed, "/home/me/.config/zed/settings.json": Zed, "/p/opencode.jsonc": OpenCode, "/home/me/.codex/config.toml": Codex, "/x/servers.toml": Codex,
		"/p/mcp.json": "",
	} {
		if got := Guess(file); got != want {
			t.Errorf("%s is of %q, want %q", file, got, want)
		}
	}
	for _, name := range Programs() {
		f := Folders{Project: "/p", Home: "/home/me", Config: "/home/me/.config", XDG: "/home/me/.config"}
		files := Files(Program(name), f)
		if len(files) == 0 {
			t.Errorf("%s has no file", name)
		}
		for _, file := range files {
			if got := Guess(file); got != Program(name) {
				t.Errorf("%s of %s is guessed as of %q", file, name, got)
			}
		}
	}
}

func TestWorkspace(t *testing.T) {
	for file, want := range map[string]string{
		"/p/.cursor/mcp.json": "/p", "/p/.mcp.json": "/p", "/home/me/.cursor/mcp.json": "/dir", "/home/me/.claude.json": "/dir", "/x/mcp.json": "/dir",
	} {
		if got := workspace(file, "/home/me", "/dir"); got != want {
			t.Errorf("%s belongs to %s, want %s", file, got, want)
		}
	}
}
