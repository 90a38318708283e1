package editors

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/jsonedit"
)

var hosts = []Host{
	{Name: "pyright", Known: "pyright", Language: true, Attach: []string{"hostsup", "attach", "pyright"}},
	{Name: "git", Attach: []string{"hostsup", "attach", "git"}},
}

const (
	gitEntry   = `{"command": "hostsup", "args": ["attach", "git"]}`
	gitEntryIn = `{
      "command": "hostsup",
      "args": [
        "attach",
        "git"
      ]
    }`
)

// What is patched keeps everything else, and a second time changes nothing.
func TestPatchJSON(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"new", "", "{\n  \"mcpServers\": {\n    \"git\": " + gitEntryIn + "\n  }\n}\n"},
		{"empty", "{}", "{\n  \"mcpServers\": {\n    \"git\": " + gitEntryIn + "\n  }\n}\n"},
		{"comments", "// a\n{\n  \"x\": 1, // b\n  /* c */ \"mcpServers\": {\n    \"other\": {\"command\": \"y\"} // d\n    // e\n  } // f\n} // g\n",
			"// a\n{\n  \"x\": 1, // b\n  /* c */ \"mcpServers\": {\n    \"other\": {\"command\": \"y\"}, // d\n    // e\n    \"git\": " + gitEntryIn + "\n  } // f\n} // g\n"},
		{"trailing comma", "{\n  \"mcpServers\": {\n    \"o\": {},\n  },\n}\n", "{\n  \"mcpServers\": {\n    \"o\": {},\n    \"git\": " + gitEntryIn + ",\n  },\n}\n"},
		{"replaced", "{\n  \"mcpServers\": {\n    \"git\": {\"command\": \"uvx\", \"env\": {\"A\": \"b\"}}, // c\n    \"z\": {}\n  }\n}\n", "{\n  \"mcpServers\": {\n    \"git\": " + gitEntryIn + ", // c\n    \"z\": {}\n  }\n}\n"},
		{"same in another form", "{\"mcpServers\": {\"git\":\n" + gitEntry + "}}\n", ""},
		{"one line", `{"mcpServers": {"o": {}}}` + "\n", "{\"mcpServers\": {\"o\": {}, \"git\": {\n    \"command\": \"hostsup\",\n    \"args\": [\n      \"attach\",\n      \"git\"\n    ]\n  }}}\n"},
		{"tabs and CRLF", "{\r\n\t\"x\": {}\r\n}\r\n", "{\r\n\t\"x\": {},\r\n\t\"mcpServers\": {\r\n\t\t\"git\": {\r\n\t\t\t\"command\": \"hostsup\",\r\n\t\t\t\"args\": [\r\n\t\t\t\t\"attach\",\r\n\t\t\t\t\"git\"\r\n\t\t\t]\r\n\t\t}\r\n\t}\r\n}\r\n"},
		{"byte order mark", "\xef\xbb\xbf{}\n", "\xef\xbb\xbf{\n  \"mcpServers\": {\n    \"git\": " + gitEntryIn + "\n  }\n}\n"},
		{"comment at the end", "{ // a\n}// b", "{ // a\n  \"mcpServers\": {\n    \"git\": " + gitEntryIn + "\n  }\n}// b\n"},
	} {
		want := c.want
		if want == "" {
			want = c.src
		}
		got, left, err := Patch(Cursor, []byte(c.src), hosts)
		if err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", c.name, err, got, want)
			continue
		}
		if len(left) != 1 || !strings.Contains(left[0], "pyright: it is a language server") {
			t.Errorf("%s: %q", c.name, left)
		}
		again, _, err := Patch(Cursor, got, hosts)
		if err != nil || string(again) != string(got) {
			t.Errorf("%s, again: %v\n%s", c.name, err, again)
		}
	}
}

func TestPatchRefuses(t *testing.T) {
	for _, c := range []struct {
		editor Editor
		src    string
		want   string
		unsafe bool
	}{
		{Cursor, "{", "unexpected EOF", false},
		{Cursor, "{\n\n x}", "line 3, column 2", false},
		{Cursor, "[]", "line 1: expected an object", false},
		{Cursor, "{\n\"mcpServers\": []}", "line 2: expected an object", false},
		{Cursor, `{"mcpServers": {}, "mcpServers": {}}`, `two members "mcpServers"`, true},
		{Cursor, "{\"mcpServers\": {\"git\": {\n// why\n\"command\": \"uvx\"}}}", "contains comments", true},
		{Cursor, `{"mcpServers": {"git": {"command": "uvx", "args": [/* x */]}}}`, "contains comments", true},
		{Neovim, "local M = {}\nreturn M\n", "ends with return", true},
		{Neovim, "-- hostsup init: begin\n", "one", true},
		{Neovim, "--[[\nx\n", "several lines", true},
	} {
		got, _, err := Patch(c.editor, []byte(c.src), hosts)
		if err == nil || !strings.Contains(err.Error(), c.want) || errors.Is(err, ErrUnsafe) != c.unsafe {
			t.Errorf("%q: %v, want %q", c.src, err, c.want)
		}
		if got != nil {
			t.Errorf("%q became %q", c.src, got)
		}
	}
}

func TestShow(t *testing.T) {
	for editor, want := range map[Editor][]string{
		VSCode: {`"servers": {`, `"type": "stdio"`, "pyright: it is a language server"},
		Claude: {`"mcpServers": {`, `"git": {`, "pyright: "},
		Cursor: {`"mcpServers": {`, `"attach",`, "pyright: "},
		Zed:    {`"context_servers": {`, `"lsp": {`, `"binary": {`, `"path": "hostsup"`},
		Neovim: {`cmd = { "hostsup", "attach", "pyright" }`, `filetypes = { "python" }`, "git: it is an MCP server"},
	} {
		text, left, err := Show(editor, hosts)
		if err != nil {
			t.Error(err)
		}
		for _, word := range want {
			if !strings.Contains(text+strings.Join(left, "\n"), word) {
				t.Errorf("%s has no %s:\n%s%q", editor, word, text, left)
			}
		}
		if editor.Where() == "" {
			t.Errorf("where is %s?", editor)
		}
	}
	if len(Names()) != 5 {
		t.Error(Names())
	}
	if text, left, err := Show(Neovim, hosts[1:]); text != "" || len(left) != 1 || err != nil {
		t.Errorf("%q, %q, %v", text, left, err)
	}
}

// Settings of a language server in Zed stay beside its program.
func TestPatchZed(t *testing.T) {
	const src = "{\n  \"lsp\": {\n    \"pyright\": {\n      \"settings\": {\"a\": 1} // mine\n    }\n  }\n}\n"
	got, _, err := Patch(Zed, []byte(src), hosts[:1])
	if err != nil || !strings.Contains(string(got), "\"settings\": {\"a\": 1}, // mine\n      \"binary\": {\n        \"path\": \"hostsup\"") {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestPatchLua(t *testing.T) {
	src := "vim.o.number = true"
	first, _, err := Patch(Neovim, []byte(src), hosts)
	if err != nil || !strings.HasPrefix(string(first), src+"\n\n"+luaBegin+"\n") {
		t.Fatalf("%v\n%s", err, first)
	}
	withMore := string(first) + "vim.o.list = true\n"
	again, _, err := Patch(Neovim, []byte(withMore), hosts)
	if err != nil || string(again) != withMore {
		t.Errorf("%v\n%s", err, again)
	}
	other := []Host{{Name: "my\"own", Language: true, Attach: []string{"/x y/hostsup", "attach", "my\"own"}}}
	changed, _, err := Patch(Neovim, []byte(withMore), other)
	if err != nil || strings.Contains(string(changed), "pyright") || !strings.HasSuffix(string(changed), luaEnd+"\nvim.o.list = true\n") || !strings.Contains(string(changed), `"my\"own"`) {
		t.Errorf("%v\n%s", err, changed)
	}
}

// Whatever a file contains, a patch keeps it or is refused.
func FuzzPatch(f *testing.F) {
	f.Add([]byte("{\"mcpServers\": {\"git\": 1, /* x */}, // y\n}"))
	f.Add([]byte("{\n\t\"a\": [1,],\r\n\t\"mcpServers\": {}}"))
	f.Add([]byte("{\"mcpServers\": {\"o\": \"{\" // }\n}}"))
	f.Fuzz(func(t *testing.T, src []byte) {
		out, _, err := Patch(Claude, src, hosts)
		if err != nil {
			return
		}
		again, _, err := Patch(Claude, out, hosts)
		if err != nil || string(again) != string(out) {
			t.Fatalf("%q became %q and then %q: %v", src, out, again, err)
		}
		before, err1 := jsonedit.Decode(append(src, '\n'))
		after, err2 := jsonedit.Decode(out)
		if err1 != nil && len(strings.TrimSpace(string(src))) > 0 || err2 != nil {
			return // a byte order mark, which the decoder here does not know
		}
		is, _ := after.(map[string]any)
		had, _ := before.(map[string]any)
		for name := range had {
			if _, kept := is[name]; !kept {
				t.Fatalf("%q lost %q: %q", src, name, out)
			}
		}
	})
}
