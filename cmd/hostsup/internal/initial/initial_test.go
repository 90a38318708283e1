package initial

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclwrite"

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
		IsDir: func(path string) bool { return slices.Contains(have, path) },
	}
}

// parsed reads back rendered text, which must be valid and formatted.
func parsed(t testing.TB, hosts []Host) map[string]supervisor.HostSpec {
	t.Helper()
	text := Render(hosts, "/proj")
	if string(hclwrite.Format(text)) != string(text) {
		t.Errorf("not formatted:\n%s", text)
	}
	file, diags := config.Parse(text, "/proj/config.hcl", config.Options{})
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
		if got := strings.Join(h.Command, " "); err == nil && got != c.want {
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
		if got := strings.Join(h.Command, " "); err == nil && (got != c.want || len(h.Remarks) != c.remarks) {
			t.Errorf("%q: %q, %q, want %q", c.arg, got, h.Remarks, c.want)
		} else if err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.arg, err, c.want)
		}
		if err == nil && h.Fetches != (h.Command[0] == "npx" || h.Command[0] == "uvx") {
			t.Errorf("%q: fetches is %t", c.arg, h.Fetches)
		}
	}
}

func TestFind(t *testing.T) {
	if got := machine("npx", "uvx", "deno", "ruff").Find(); got != nil {
		t.Errorf("found %v", got)
	}
	local := filepath.Join("/proj", "node_modules", ".bin", "mcp-server-filesystem")
	found := machine("nvim", "gopls", "/proj", local).Find()
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
	host := func(name string) Host { return Host{Name: name, Command: []string{"x"}} }
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
		h := Host{Name: "a", Kind: MCPServer, Command: []string{"p" + s, s, "x" + s + "x"}, Env: map[string]string{"K": s, "for": s, "a.b": s, "${x}": s, "null": s, "-": s}, About: s, Remarks: []string{s}}
		got := parsed(t, []Host{h})["a"]
		if !slices.Equal(got.Command[1:], h.Command[1:]) {
			t.Errorf("%q became %q", h.Command, got.Command)
		}
		for k, v := range h.Env {
			if got.Env[k] != v {
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
		{"TOKEN", "${TOKEN}", false},
		{"TOKEN", "", false},
		{"LANG", "de_DE.UTF-8", false},
	} {
		if got := looksSecret(c.name, c.value); got != c.want {
			t.Errorf("%s=%s: %t", c.name, c.value, got)
		}
	}
	for _, c := range []struct {
		command string
		want    bool
	}{
		{"x --api-key 0123456789", true},
		{"x --api-key=0123456789", true},
		{"x --api-key --verbose", false},
		{"x --token /etc/token", false},
		{"x ghp_0123456789abcdefghij", true},
		{"x --stdio y", false},
	} {
		if got := (Host{Command: strings.Fields(c.command)}).Secret(); got != c.want {
			t.Errorf("%s: %t", c.command, got)
		}
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
