package initial

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

func TestFromAgent(t *testing.T) {
	const src = "\xef\xbb\xbf" + `{
  // the first one
  "mcpServers": {
    "files": {"command": "npx", "args": ["-y", "@x/files", "/srv // no comment", ",]"], "cwd": "sub",},
    "Größe/1": {"command": "x", "env": {"N": 1, "B": true, "Z": null, "T": "${T}", "E": "${env:E}", "PATH": "${PATH}", "O": "${P}", "D": "${D:-x}"}, "envFile": ".env"},
    "ws": {"command": "${workspaceFolder}/x", "cwd": "${workspaceFolder}"},
    "on": {"command": "x", "enabled": true}, /* and
    those that are left out */
    "url": {"url": "https://example.com"}, "http": {"type": "http"}, "sse": {"serverUrl": "x"},
    "off": {"command": "x", "disabled": true}, "not-on": {"command": "x", "enabled": false},
    "none": {"args": ["x"]}, "empty": {"command": ""}, "list": [], "null": null,
    "args": {"command": "x", "args": "y"}, "arg": {"command": "x", "args": [1]}, "env": {"command": "x", "env": {"A": {}}},
    "name": {"command": "x", "env": {"A B": "x"}}, "own": {"command": "x", "env": {"HOSTSUP_SOCKET": "x"}},
    "nul": {"command": "x", "args": ["\u0000"]},
  },
  "servers": {"code": {"type": "stdio", "command": "x"}, "on": {"command": "another"}},
  "mcp": {"servers": {"deep": {"command": "x"}}},
}`
	hosts, left, err := machine().FromAgent([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]Host{}
	for _, h := range hosts {
		got[h.Name] = h
	}
	if names := slices.Sorted(maps.Keys(got)); !slices.Equal(names, []string{"Gr-e-1", "code", "deep", "files", "on", "ws"}) {
		t.Errorf("%q", names)
	}
	if h := got["files"]; !slices.Equal(h.Command, []string{"npx", "-y", "@x/files", "/srv // no comment", ",]"}) || h.Dir != "/proj/sub" || !h.Fetches {
		t.Errorf("%+v", h)
	}
	h := got["Gr-e-1"]
	if !maps.Equal(h.Env, map[string]string{"N": "1", "B": "true", "O": "${P}", "D": "${D:-x}"}) || !slices.Equal(h.Inherit, []string{"E", "T"}) {
		t.Errorf("%+v", h)
	}
	for _, word := range []string{"Größe/1", ".env", "in O,", "in D,"} {
		if !strings.Contains(strings.Join(h.Remarks, "\n"), word) {
			t.Errorf("nothing about %s: %q", word, h.Remarks)
		}
	}
	if h := got["ws"]; h.Dir != "" || len(h.Remarks) != 2 {
		t.Errorf("%+v", h)
	}
	if got["on"].Command[0] != "x" {
		t.Errorf("%+v", got["on"])
	}
	why := map[string]string{}
	for _, l := range left {
		why[l.Name] = l.Why
	}
	for name, word := range map[string]string{
		"url": "URL", "http": "URL", "sse": "URL", "off": "disabled", "not-on": "disabled", "none": "no command", "empty": "no command", "list": "not an object", "null": "no command",
		"args": "args cannot be of type string", "arg": "args", "env": "A is not a string", "name": `"A B"`, "own": "HOSTSUP_SOCKET", "nul": "NUL",
	} {
		if !strings.Contains(why[name], word) {
			t.Errorf("%s is left out because %q, want %q", name, why[name], word)
		}
		delete(why, name)
	}
	if len(why) > 0 {
		t.Errorf("left out too: %q", why)
	}
	parsed(t, hosts)
}

func TestFromAgentRefused(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"", "line 1: "},
		{"{\n\"a\": x}", "line 2: "},
		{"{} {}", "line 1: "},
		{"{", "line 1: "},
		{"[]", "the whole: expected an object, not array"},
		{"{\n\"mcpServers\": 1}", "line 2: mcpServers: expected an object, not number"},
		{"{}", "no servers"},
		{`{"mcpServers": {}}`, "no servers"},
		{"/* ", "line 1: "},
	} {
		if _, _, err := machine().FromAgent([]byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.src, err, c.want)
		}
	}
}

// Whatever an agent's file contains, the result must be valid.
func FuzzFromAgent(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a b": {"command": "npx", "args": ["${x}", "\"\n"], "env": {"for": "%{x}", "K": "${K}", "TOKEN": "abcdefgh"}, "cwd": "x"}}}`))
	f.Add([]byte(`{"servers": {"a": {"command": "x"}, "a ": {"command": "x"},}} // x`))
	f.Add([]byte(`{"mcpServers": {"a": {"command": "/*", "args": ["//", ",]"], "env": {"-": "\u2028"}}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		if plain := plainJSON(src); json.Valid(src) && string(plain) != string(src) {
			t.Fatalf("%q became %q", src, plain)
		}
		hosts, _, err := machine().FromAgent(src)
		if err != nil || len(hosts) == 0 {
			return
		}
		if hosts, err = Join([]Host{machine().Neovim()}, hosts); err != nil {
			t.Fatal(err)
		}
		for name, h := range parsed(t, hosts) {
			i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
			if !slices.Equal(h.Command[1:], hosts[i].Command[1:]) || !maps.Equal(h.Env, hosts[i].Env) {
				t.Fatalf("%+v became %+v", hosts[i], h)
			}
		}
	})
}
