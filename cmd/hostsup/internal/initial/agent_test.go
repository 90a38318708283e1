package initial

import (
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
)

// read returns the hosts of a list.
func read(t *testing.T, m Machine, src string) ([]Host, []Left) {
	t.Helper()
	servers, left, err := lists.Read([]byte(src), lists.Source{Dir: "/proj", Home: "/home/me"})
	if err != nil {
		t.Fatal(err)
	}
	hosts, more := m.FromList(servers)
	return hosts, append(left, more...)
}

func TestFromList(t *testing.T) {
	m := machine("npx", "/proj/bin/x", "/proj/server.py", "python3", "$SET", "rust-analyzer", "shim:rust-analyzer")
	hosts, left := read(t, m, `{"mcpServers": {
		"Größe/1": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem@2025.1.1", "/srv"]},
		"py": {"command": "python3", "args": ["server.py"], "env": {"A": "${SET}", "B": "${UNSET}-${UNSET}", "C": "${D:-x}"}},
		"gone": {"command": "./gone"}, "there": {"command": "./bin/x", "cwd": "sub"},
		"name": {"command": "x", "env": {"A B": "x"}}, "own": {"command": "x", "env": {"HOSTSUP_SOCKET": "x"}},
		"nul": {"command": "x", "args": ["\u0000"]}
	}, "lsp": {"rust": {"binary": {"path": "rust-analyzer"}}}}`)
	why := map[string]string{}
	for _, l := range left {
		why[l.Name] = l.Why
	}
	for name, word := range map[string]string{"name": `"A B"`, "own": "HOSTSUP_SOCKET", "nul": "NUL"} {
		if !strings.Contains(why[name], word) {
			t.Errorf("%s is left out because %q, want %q", name, why[name], word)
		}
	}
	got := map[string]Host{}
	for _, h := range hosts {
		got[h.Name] = h
	}
	if h := got["Gr-e-1"]; h.Known != "filesystem" || !h.Fetches || !strings.Contains(strings.Join(h.Remarks, " "), "Größe/1") {
		t.Errorf("%+v", h)
	}
	if h := got["py"]; h.Dir.String() != "/proj" || !strings.Contains(strings.Join(h.Remarks, " "), "Not set here: UNSET. Set") {
		t.Errorf("%+v", h)
	}
	if h := got["gone"]; h.program() != "/proj/gone" || len(h.Remarks) != 1 || !strings.Contains(h.Remarks[0], "cannot be run yet") {
		t.Errorf("%+v", h)
	}
	if h := got["there"]; h.Dir.String() != "/proj/sub" || len(h.Remarks) != 1 {
		t.Errorf("%+v", h)
	}
	if h := got["rust"]; h.Known != "rust-analyzer" || h.Kind != LanguageServer || !slices.Equal(h.Inherit, []string{"CARGO_HOME", "RUSTUP_HOME"}) ||
		len(h.Remarks) != 1 || !strings.Contains(h.Remarks[0], "lacks that component") {
		t.Errorf("%+v", h)
	}
	text := string(Render(hosts, "/proj"))
	for _, want := range []string{`A = env("SET")`, `B = "${env("UNSET", "")}-${env("UNSET", "")}"`, `C = env("D", "x")`, `kill_after = "5m"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	parsed(t, hosts)
}

// A server elsewhere becomes a host with its URL. What looks like a secret does not stay in it,
// and a URL that has one is left out.
func TestFromListRemote(t *testing.T) {
	m := machine("$HTTPS_PROXY")
	hosts, left := read(t, m, `{"mcpServers": {
		"token": {"type": "http", "url": "https://mcp.example/mcp?a=b", "headers": {"authorization": "bearer abcdef-123456", "X-Team": "ops", "X-Api-Key": "k-0123456789"}},
		"env": {"url": "https://mcp.example/${REGION:-eu}/mcp", "headers": {"Authorization": "Bearer ${MCP_TOKEN}", "X-Empty": ""}},
		"basic": {"url": "http://127.0.0.1:8080/mcp", "headers": {"Authorization": "Basic dXNlcjpwYXNz"}},
		"plain": {"url": "http://far.example/mcp", "oauth": {"clientId": "x"}},
		"sse": {"type": "sse", "url": "https://mcp.example/sse"}, "ws": {"type": "ws", "url": "wss://mcp.example"},
		"query": {"url": "https://mcp.example/mcp?api_key=0123456789"}, "var": {"url": "https://mcp.example/mcp?k=${API_KEY}"},
		"user": {"url": "https://me:pass@mcp.example/mcp"}, "unset": {"url": "${URL}"}, "header": {"url": "https://mcp.example", "headers": {"A B": "x"}},
		"line": {"url": "https://mcp.example", "headers": {"A": "x\ny"}}
	}}`)
	why := map[string]string{}
	for _, l := range left {
		why[l.Name] = l.Why
	}
	for name, word := range map[string]string{
		"sse": "transport SSE", "ws": "WebSocket", "query": "api_key in its URL looks like a secret", "var": "API_KEY in its URL", "user": "has a user",
		"unset": "is not one such as", "header": `"A B" cannot be the name of a header`, "line": "control character",
	} {
		if !strings.Contains(why[name], word) {
			t.Errorf("%s is left out because %q, want %q", name, why[name], word)
		}
		delete(why, name)
	}
	if len(why) > 0 {
		t.Errorf("left out too: %q", why)
	}
	hosts, secrets, _ := m.Guard(hosts, nil)
	var names []string
	for _, s := range secrets {
		names = append(names, s.Name+"="+s.Value)
	}
	if want := []string{"basic.Authorization=Basic dXNlcjpwYXNz", "env.token=", "token.token=abcdef-123456", "token.X-Api-Key=k-0123456789"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	text := strings.Join(strings.Fields(string(Render(hosts, "/proj"))), " ")
	for _, want := range []string{
		`url = "https://mcp.example/mcp?a=b"`, `token = secret("token.token")`, `X-Api-Key = secret("token.X-Api-Key") X-Team = "ops"`,
		`url = "https://mcp.example/${env("REGION", "eu")}/mcp"`, `token = secret("env.token")`, `inherit_env = ["HTTPS_PROXY"]`,
		`Authorization = secret("basic.Authorization")`, `allow_unencrypted = true`, "whoever is between this machine and far.example", "signed in by OAuth",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	if strings.Count(text, "allow_unencrypted") != 1 || strings.Contains(text, "X-Empty") {
		t.Error(text)
	}
	for name, h := range parsed(t, hosts) {
		if len(h.Command) != 2 || h.Command[1] != "connect" {
			t.Errorf("%s: %q", name, h.Command)
		}
	}
}

func TestKnownCommands(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"/usr/bin/pyright-langserver --stdio", "pyright"},
		{"npx -y --package=pyright pyright-langserver --stdio", "pyright"},
		{"npx -y pyright@1.1 --stdio", "pyright"},
		{"npx --package=vscode-langservers-extracted vscode-css-language-server", "css"},
		{"ruff server", "ruff"},
		{"ruff check", ""},
		{"node pyright-langserver", ""},
		{"docker run pyright", ""},
		{"x", ""},
	} {
		if k, ok := knownCommand(languageServers, lists.Literals(strings.Fields(c.command))); k.name != c.want || ok != (c.want != "") {
			t.Errorf("%s: %q, want %q", c.command, k.name, c.want)
		}
	}
	if k, _ := knownCommand(mcpServers, lists.Literals([]string{"uvx", "mcp-server-git"})); k.name != "git" {
		t.Errorf("%+v", k)
	}
}

// Whatever a list contains, the result must be valid.
func FuzzFromAgent(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"a b": {"command": "npx", "args": ["${x}", "\"\n"], "env": {"for": "%{x}", "K": "${K}", "TOKEN": "abcdefgh"}, "cwd": "x"}}}`))
	f.Add([]byte(`{"servers": {"a": {"command": "x"}, "a ": {"command": "x"},}} // x`))
	f.Add([]byte(`{"mcpServers": {"a": {"command": "/*", "args": ["//", ",]"], "env": {"-": "\u2028"}}}}`))
	f.Add([]byte("[mcp_servers.a]\ncommand = \"x\"\nargs = [\"--token=abcdefgh\"]\nenv_vars = [\"X\"]"))
	f.Add([]byte(`{"inputs": [{"id": "k", "password": true}], "servers": {"a": {"command": "x", "args": ["$${input:k}$${env:A}%"]}}}`))
	f.Add([]byte(`{"mcpServers": {"a": {"url": "https://x.example/${R}?k=v", "headers": {"Authorization": "Bearer abcdefgh", "for": "${K}", "X": "a\"%{b}"}}, "b": {"url": "http://x/#"}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		servers, _, err := lists.Read(src, lists.Source{Dir: "/proj", Home: "/home/me"})
		if err != nil {
			return
		}
		m := machine("sh")
		hosts, _ := m.FromList(servers)
		if hosts, err = Join([]Host{m.Neovim()}, hosts); err != nil {
			t.Fatal(err)
		}
		hosts, secrets, _ := m.Guard(hosts, nil)
		for name, h := range parsed(t, hosts) {
			i := slices.IndexFunc(hosts, func(h Host) bool { return h.Name == name })
			if hosts[i].URL != nil {
				continue
			}
			for j, word := range hosts[i].Command[1:] {
				if h.Command[1+j] != evaluated(word) {
					t.Fatalf("%+v became %+v", hosts[i], h)
				}
			}
			for k, v := range hosts[i].Env {
				if !v.HasSecret() && h.Env[k] != evaluated(v) || v.HasSecret() && h.Secrets.Env[k] == nil {
					t.Fatalf("%s: %+v became %+v", k, hosts[i], h)
				}
			}
		}
		for _, s := range secrets {
			for _, h := range hosts {
				for _, v := range append(slices.Clone(h.Command), h.Dir, h.URL, h.Token) {
					if len(s.Value) > 8 && secretWord("", s.Value) && strings.Contains(v.String(), s.Value) {
						t.Fatalf("%q is in %v", s.Value, h)
					}
				}
			}
		}
	})
}
