package initial

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/supervisor"
)

// machine returns a Machine with these programs and folders.
func machine(have ...string) Machine {
	return Machine{
		Dir: "/proj",
		LookPath: func(name string) (string, error) {
			if slices.Contains(have, name) {
				return name, nil
			}
			return "", fs.ErrNotExist
		},
		IsDir:  func(path string) bool { return slices.Contains(have, path) },
		IsFile: func(path string) bool { return slices.Contains(have, path) },
		Getenv: func(name string) (string, bool) { return "", slices.Contains(have, "$"+name) },
		Shim: func(program string) string {
			if slices.Contains(have, "shim:"+program) {
				return program
			}
			return ""
		},
		IsLoopback: func(host string) bool { return host == "127.0.0.1" },
	}
}

// words returns the words of a command with ${NAME} for variables.
func words(command []Text) []string {
	out := make([]string, len(command))
	for i, t := range command {
		out[i] = t.String()
	}
	return out
}

// environment is the one of the tests: each variable has its name as its value.
func environment(name string) (string, bool) { return "value of " + name, true }

// evaluated returns the value of a text in the environment of the tests.
func evaluated(t Text) string {
	out := ""
	for _, p := range t {
		switch {
		case p.Env != "":
			v, _ := environment(p.Env)
			out += v
		case p.Secret != "":
			panic("a secret has no value")
		default:
			out += p.Words
		}
	}
	return out
}

// parsed reads back rendered text, which must be valid and formatted.
func parsed(t testing.TB, hosts []Host) map[string]supervisor.HostSpec {
	t.Helper()
	text := Render(hosts, "/proj")
	if string(hclwrite.Format(text)) != string(text) {
		t.Errorf("not formatted:\n%s", text)
	}
	file, diags := config.Parse(text, "/proj/config.hcl", config.Options{LookupEnv: environment})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	out := map[string]supervisor.HostSpec{}
	for _, g := range file.Spec.Groups {
		for _, h := range g.Hosts {
			out[h.Name] = h
		}
	}
	if len(out) != len(hosts) {
		t.Fatalf("%d hosts became %d:\n%s", len(hosts), len(out), text)
	}
	return out
}

func TestKnownServersAreValid(t *testing.T) {
	for _, m := range []Machine{machine(), machine("npx", "uvx")} {
		var hosts []Host
		for _, name := range KnownLanguageServers() {
			h, err := m.LanguageServer(name)
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, h)
		}
		for _, name := range KnownMCPServers() {
			arg := name
			if name == "filesystem" {
				arg += "=/srv"
			}
			h, err := m.MCPServer(arg)
			if err != nil {
				t.Fatal(err)
			}
			hosts = append(hosts, h)
		}
		hosts = append(hosts, m.Neovim())
		if _, err := Join(hosts, nil); err != nil {
			t.Fatal(err)
		}
		for i, spec := range []string{"pyright", "filesystem", "nvim"} {
			h := parsed(t, hosts)[spec]
			if want := []string{"jsonrpc-headers", "jsonrpc-lines", "msgpack-rpc"}[i]; h.Protocol.Name() != want {
				t.Errorf("%s speaks %s", spec, h.Protocol.Name())
			}
			if h.Attach != (spec != "nvim") || !slices.Equal(h.InheritEnv, []string{"PATH", "HOME"}) {
				t.Errorf("%+v", h)
			}
		}
		for _, h := range hosts {
			if len(h.Remarks) == 0 {
				t.Errorf("nothing is said of %s, which is not installed", h.Name)
			}
		}
	}
}

func TestLanguageServer(t *testing.T) {
	for _, c := range []struct {
		arg  string
		have []string
		want string // words of the command, or of the error
	}{
		{"pyright", []string{"pyright-langserver", "npx"}, "pyright-langserver --stdio"},
		{"pyright-langserver", []string{"pyright-langserver"}, "pyright-langserver --stdio"},
		{"pyright", []string{"pyright-langserver", "/proj/node_modules/.bin/pyright-langserver"}, "/proj/node_modules/.bin/pyright-langserver --stdio"},
		{"pyright", []string{"npx"}, "npx -y --package=pyright pyright-langserver --stdio"},
		{"typescript", nil, "npx -y --package=typescript-language-server --package=typescript@5 typescript-language-server --stdio"},
		{"gopls", []string{"npx"}, "gopls"},
		{"mine=./bin/server --stdio", nil, "/proj/bin/server --stdio"},
		{"mine=server", nil, "server"},
		{"mine=", nil, "it has no command"},
		{"=server", nil, "cannot be the name of a host"},
		{"mine=a \x00", nil, "NUL"},
		{"mine=a \xff", nil, "UTF-8"},
		{"mine=e\u0301", nil, "NFC"},
		{"mine=a 'b", nil, "quote without its end"},
		{"other", nil, "not a known server"},
	} {
		h, err := machine(c.have...).LanguageServer(c.arg)
		if got := strings.Join(words(h.Command), " "); err == nil && got != c.want {
			t.Errorf("%q: %q, want %q", c.arg, got, c.want)
		} else if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.arg, err, c.want)
		}
		if known := c.arg != "other"; known == errors.Is(err, ErrUnknown) {
			t.Errorf("%q: %v", c.arg, err)
		}
	}
}

func TestMCPServer(t *testing.T) {
	for _, c := range []struct {
		arg, want string
		remarks   int
	}{
		{"filesystem=/srv", "mcp-server-filesystem /srv", 0},
		{"filesystem=/srv,data", "mcp-server-filesystem /srv /proj/data", 1},
		{"filesystem", "the folders that it may use", 0},
		{"filesystem=", "is empty", 0},
		{"filesystem=/srv,", "is empty", 0},
		{"everything", "npx -y --package=@modelcontextprotocol/server-everything mcp-server-everything stdio", 1},
		{"everything=mine x", "mine x", 1},
		{"git", "uvx mcp-server-git", 1},
		{"git=/srv", "uvx mcp-server-git --repository /srv", 1},
		{"git=/srv,/srv", "one folder", 0},
		{"db=npx -y @x/db", "npx -y @x/db", 0},
		{"nosuch", "not a known server", 0},
	} {
		h, err := machine("mcp-server-filesystem", "npx", "/srv").MCPServer(c.arg)
		if got := strings.Join(words(h.Command), " "); err == nil && (got != c.want || len(h.Remarks) != c.remarks) {
			t.Errorf("%q: %q, %q, want %q", c.arg, got, h.Remarks, c.want)
		} else if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.arg, err, c.want)
		}
		if err == nil && h.Fetches != (h.program() == "npx" || h.program() == "uvx") {
			t.Errorf("%q: fetches is %t", c.arg, h.Fetches)
		}
	}
}

func TestFind(t *testing.T) {
	if got, left := machine("npx", "uvx", "deno", "ruff").Find(); got != nil || left != nil {
		t.Errorf("found %v, %v", got, left)
	}
	if got, left := machine("rust-analyzer", "shim:rust-analyzer").Find(); got != nil || len(left) != 1 || !strings.Contains(left[0].Why, "rustup component add rust-analyzer") {
		t.Errorf("found %v, %v", got, left)
	}
	local := filepath.Join("/proj", "node_modules", ".bin", "mcp-server-filesystem")
	found, _ := machine("nvim", "gopls", "/proj", local).Find()
	names := make([]string, len(found))
	for i, h := range found {
		names[i] = h.Name
		if len(h.Remarks) > 0 {
			t.Errorf("%s: %q", h.Name, h.Remarks)
		}
	}
	if !slices.Equal(names, []string{"gopls", "filesystem", "nvim"}) {
		t.Errorf("found %v", names)
	}
	specs := parsed(t, found)
	if got := specs["filesystem"].Command; !slices.Equal(got, []string{local, "/proj"}) {
		t.Errorf("%q", got)
	}
	if text := string(Render(found, "/proj")); !strings.Contains(text, `"./node_modules/.bin/mcp-server-filesystem"`) {
		t.Error(text)
	}
	if text := string(Render(found, "/elsewhere")); !strings.Contains(text, `"/proj/node_modules/.bin/mcp-server-filesystem"`) {
		t.Error(text)
	}
}

func TestJoin(t *testing.T) {
	host := func(name string) Host { return Host{Name: name, Command: lists.Literals([]string{"x"})} }
	if _, err := Join([]Host{host("a"), host("a")}, nil); err == nil {
		t.Error("two hosts of one name")
	}
	long := strings.Repeat("x", maxName)
	all, err := Join([]Host{host("a"), host(long)}, []Host{host("a"), host("a-2"), host("a"), host(long)})
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(all))
	for i, h := range all {
		names[i] = h.Name
	}
	if want := []string{"a", long, "a-2", "a-2-2", "a-3", long[2:] + "-2"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	parsed(t, all)
}

// Any text in a value must read back unchanged.
func TestHostileText(t *testing.T) {
	for _, s := range []string{`"`, `\`, `${x}`, `%{ if x }`, `$${x}`, `%%{x}`, "\n", "\r\n}\nhost \"b\" {", "# x", "*/", "\u2028", "\u202e", "<<EOF\nx\nEOF", "$", "%", "${", "日本", "\t", "\x1b[31m"} {
		both := Text{{Words: s}, {Env: "X"}, {Words: s}, {Env: "Y"}}
		h := Host{Name: "a", Kind: MCPServer, Command: append(lists.Literals([]string{"p" + s, s, "x" + s + "x"}), both), About: s, Remarks: []string{s}}
		h.Env = map[string]Text{"B": both, "D": {{Env: "X", HasDefault: true, Default: s}}}
		for _, k := range []string{"K", "for", "a.b", "${x}", "null", "-"} {
			h.Env[k] = lists.Literal(s)
		}
		got := parsed(t, []Host{h})["a"]
		for i, word := range h.Command[1:] {
			if got.Command[1+i] != evaluated(word) {
				t.Errorf("%q became %q", word, got.Command[1+i])
			}
		}
		for k, v := range h.Env {
			if got.Env[k] != evaluated(v) {
				t.Errorf("%q: %q became %q", k, v, got.Env[k])
			}
		}
	}
}

func TestSplit(t *testing.T) {
	for _, c := range []struct {
		in   string
		want []string
	}{
		{"", nil},
		{"  a  b ", []string{"a", "b"}},
		{`a 'b "c' "d 'e" f\ g ''`, []string{"a", `b "c`, "d 'e", "f g", ""}},
		{`"a\"b\\c\d" '\'`, []string{`a"b\c\d`, `\`}},
		{"a\tb\nc", []string{"a", "b", "c"}},
		{"x=$HOME~*", []string{"x=$HOME~*"}},
	} {
		if got, err := split(c.in); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, %v", c.in, got, err)
		}
	}
	for _, bad := range []string{`"`, `'`, `a\`, `"a'`} {
		if got, err := split(bad); err == nil {
			t.Errorf("%q: %q", bad, got)
		}
	}
}

func TestSecrets(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        bool
	}{
		{"GITHUB_TOKEN", "ghp_0123456789abcdefghij", true},
		{"ANYTHING", "ghp_0123456789abcdefghij", true},
		{"X", "sk-ant-0123456789abcdef", true},
		{"DATABASE_URL", "postgres://me:hunter2@db/x", true},
		{"DATABASE_URL", "postgres://db/x", false},
		{"API_KEY", "0123456789", true},
		{"OPENAI_APIKEY", "0123456789", true},
		{"accessToken", "0123456789", true},
		{"KEYBOARD", "german-layout", false},
		{"PATH_TO_MONKEY", "0123456789", false},
		{"TOKEN_FILE", "/run/secrets/token", false},
		{"TOKEN", "", false},
		{"PASSWORD", "ab1", false},
		{"PASSWORD", "ab12", true},
		{"PASSWORD", "$ecret!", true},
		{"AWS_SECRET_ACCESS_KEY", "/AlrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY+1", true},
		{"SSL_KEY", "/etc/ssl/private/key.pem", false},
		{"USE_AUTH", "true", false},
		{"AUTH", "Bearer ", false},
		{"HEADER", "Authorization: Bearer abcdefgh12", true},
		{"HEADER", "authorization: Basic abcd", true},
		{"HEADER", "Accept: text/html", false},
		{"SLACK", "xoxb-1234567890-abc", true},
		{"GITLAB", "glpat-0123456789abcdefg", true},
		{"STRIPE", "sk_live_0123456789ab", true},
		{"TASK", "task-0123456789abcdefgh", false},
		{"LANG", "de_DE.UTF-8", false},
	} {
		if got := looksSecret(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %t", c.name, c.value, got)
		}
	}
	for _, c := range []struct{ command, want string }{
		{"x --api-key 0123456789", "API_KEY"},
		{"x --api-key=0123456789", "API_KEY"},
		{"x --api-key --verbose", ""},
		{"x --token /etc/token", ""},
		{"x ghp_0123456789abcdefghij", "ARGUMENT_1"},
		{"x --stdio y", ""},
	} {
		hosts, secrets, left := machine("sh").Guard([]Host{{Name: "h", Kind: MCPServer, Command: lists.Literals(strings.Fields(c.command))}}, nil)
		if len(hosts) != 1 || left != nil || (len(secrets) == 1) != (c.want != "") {
			t.Errorf("%s: %v, %v, %v", c.command, hosts, secrets, left)
			continue
		}
		text := string(Render(hosts, "/proj"))
		if c.want != "" && (secrets[0].Name != "h."+c.want || !strings.Contains(text, c.want+` = secret("h.`+c.want+`")`) || strings.Contains(text, secrets[0].Value)) {
			t.Errorf("%s: %+v\n%s", c.command, secrets, text)
		}
	}
}

// A secret must have one name for one value, and no value may stay in a host.
func TestGuard(t *testing.T) {
	env := func(value string) map[string]Text { return map[string]Text{"API_KEY": lists.Literal(value)} }
	hosts := []Host{
		{Name: "a", Kind: MCPServer, Command: lists.Literals([]string{"x"}), Env: env("first-value")},
		{Name: "b", Kind: MCPServer, Command: lists.Literals([]string{"x", "--api-key", "first-value", "--api-key", "second-value"}), Env: env("other-value")},
		{Name: "c", Kind: MCPServer, Command: []Text{{{Words: "x"}}, {{Secret: "asked", About: "the key"}}}},
		{Name: "d", Kind: MCPServer, Command: lists.Literals([]string{"x"}), Env: map[string]Text{"TOKEN": {{Words: "sk-0123456789abcdefghij"}, {Env: "X"}}, "KEY": {{Env: "K_TOKEN", HasDefault: true, Default: "third-value"}}}},
	}
	before := string(Render(hosts, "/proj"))
	guarded, secrets, left := machine("sh").Guard(hosts, func(name, value string) bool { return name == "a.API_KEY" })
	if left != nil || len(guarded) != 4 {
		t.Fatal(guarded, left)
	}
	var names []string
	for _, s := range secrets {
		names = append(names, s.Name)
	}
	if want := []string{"a.API_KEY-2", "b.API_KEY", "b.API_KEY-2", "b.API_KEY-3", "asked", "d.KEY", "d.TOKEN"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
	text := string(Render(guarded, "/proj"))
	for _, value := range []string{"-value", "sk-0123"} {
		if strings.Contains(text, value) {
			t.Errorf("a value is in the file:\n%s", text)
		}
	}
	if after := string(Render(hosts, "/proj")); after != before {
		t.Errorf("the hosts themselves were changed:\n%s", after)
	}
	specs := parsed(t, guarded)
	if got := specs["b"].Command; !slices.Equal(got, []string{"sh", "-c", `exec "${0}" "${1}" "$API_KEY_2" "${2}" "$API_KEY_3"`, "x", "--api-key", "--api-key"}) {
		t.Errorf("%q", got)
	}
	if got := specs["d"].Secrets.Env["TOKEN"]; len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if _, _, left := machine().Guard(hosts, nil); len(left) != 2 || !strings.Contains(left[0].Why, "no sh") {
		t.Errorf("%v", left)
	}
	long := []Host{{Name: "l", Command: lists.Literals([]string{"x"}), Env: env(strings.Repeat("x", 1<<15))}}
	if _, secrets, left := machine().Guard(long, nil); len(left) != 1 || len(secrets) != 0 {
		t.Errorf("%v, %v", secrets, left)
	}
}

func TestFetches(t *testing.T) {
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"npx -y x", true},
		{"/usr/bin/npx x", true},
		{"cmd /c npx x", true},
		{"env A=b uvx x", true},
		{"pnpm dlx x", true},
		{"npm exec x", true},
		{"uv tool run x", true},
		{"docker run -i x", true},
		{"node npx", false},
		{"npm start", false},
		{"x", false},
	} {
		if got := fetches(strings.Fields(c.command)); got != c.want {
			t.Errorf("%s: %t", c.command, got)
		}
	}
}
