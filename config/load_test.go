package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const valid = "host \"web\" {\n  command = [\"web\"]\n}\n"

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	path := write(t, "a.hcl", "host \"web\" {\n  command = [self, \"x\"]\n  dir = \"sub\"\n}\n")
	f, diags := Load(path, Options{})
	if diags.HasErrors() {
		t.Fatal(print(t, diags))
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := f.Spec.Groups[0].Hosts[0]
	if h.Command[0] != self {
		t.Errorf("self is %q, want %q", h.Command[0], self)
	}
	if want := filepath.Join(filepath.Dir(path), "sub"); h.Dir != want {
		t.Errorf("dir is %q, want %q", h.Dir, want)
	}
	if f.Spec.Config != path {
		t.Errorf("config is %q, want %q", f.Spec.Config, path)
	}
	if got := print(t, diags); !strings.Contains(got, "folder does not exist") {
		t.Errorf("no warning of the missing folder:\n%s", got)
	}
}

// A relative path must be shown as written, and stored resolved.
func TestLoadRelative(t *testing.T) {
	path := write(t, "a.hcl", "host \"web\" {\n  command = [\"./web\"]\n}\nhost \"web\" {\n  command = [\"x\"]\n}\n")
	t.Chdir(filepath.Dir(path))
	_, diags := Load("a.hcl", Options{})
	if got := print(t, diags); !strings.Contains(got, "a.hcl:4:6: error") || strings.Contains(got, filepath.Dir(path)+"/a.hcl:") {
		t.Errorf("got:\n%s", got)
	}
	if err := os.WriteFile("a.hcl", []byte(valid), 0o644); err != nil {
		t.Fatal(err)
	}
	f, diags := Load("a.hcl", Options{})
	if diags.HasErrors() || !filepath.IsAbs(f.Spec.Config) {
		t.Errorf("config: %+v\n%s", f, print(t, diags))
	}
}

func TestLoadUnreadable(t *testing.T) {
	dir := t.TempDir()
	secret := write(t, "secret.hcl", valid)
	if err := os.Chmod(secret, 0); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, path, want string }{
		{"missing", filepath.Join(dir, "none.hcl"), "There is no such file. Name one with -c FILE or in HOSTSUP_CONFIG."},
		{"folder", dir, "It is a folder. Name the file in it, such as " + filepath.Join(dir, "config.hcl")},
		{"below a file", filepath.Join(secret, "x.hcl"), "Not a directory."},
		{"huge", write(t, "huge.hcl", strings.Repeat("#", maxFile+1)), "The file is larger than 1MiB"},
		{"endless", "/dev/zero", "The file is larger than 1MiB"},
		{"secret", secret, fmt.Sprintf("This user (uid %d) may not read it.", os.Geteuid())},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "secret" && os.Geteuid() == 0 {
				t.Skip("root may read everything")
			}
			f, diags := Load(c.path, Options{})
			if f != nil || !diags.HasErrors() {
				t.Fatalf("got %+v", f)
			}
			got := print(t, diags)
			if !strings.HasPrefix(got, "error: cannot read "+c.path+"\n") || !strings.Contains(got, c.want) {
				t.Errorf("got:\n%s\nwant: %s", got, c.want)
			}
		})
	}
}

// A reader that must not be kept waiting does not open what is not a regular file.
func TestLoadRegular(t *testing.T) {
	for path, want := range map[string]string{os.DevNull: "It is not a regular file.", t.TempDir(): "It is a folder."} {
		f, diags := Load(path, Options{Regular: true})
		if got := print(t, diags); f != nil || !strings.Contains(got, "cannot read "+path) || !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", path, got)
		}
	}
	if f, diags := Load(write(t, "x.hcl", valid), Options{Regular: true}); f == nil {
		t.Error(print(t, diags))
	}
}

// The number of hosts is bounded, whatever makes them, and the rest is not even read.
func TestTooManyHosts(t *testing.T) {
	var src strings.Builder
	for i := range MaxHosts/1000 + 1 {
		fmt.Fprintf(&src, "host \"h%d\" {\n  instances = 1000\n  command = [\"x\"]\n}\n", i)
	}
	f, diags := Parse([]byte(src.String()), "x.hcl", testOptions())
	if got := print(t, diags); f != nil || len(diags) != 1 || !strings.Contains(got, "x.hcl:41:1: error: too many hosts") {
		t.Errorf("%s", got)
	}
}

// Input that would end a trusting parser must be refused before it reaches the parser.
func TestDeep(t *testing.T) {
	long := func(text string) string { return strings.Repeat(text, 1<<14/len(text)) }
	for name, src := range map[string]string{
		"brackets":   "a = " + long("["),
		"strings":    "a = " + long("\"${"),
		"braces":     "a = " + long("{a={"),
		"blocks":     long("a {\n"),
		"bangs":      "a = " + long("!") + "true",
		"minuses":    "a = " + long("-") + "1",
		"sum":        "a = 1" + long("+1"),
		"sum, lines": "a = {for x in y : x => 1" + long("\n+1") + "}",
		"commented":  "a = [1" + long(" # one\n+1") + "]",
		"indexes":    "a = b" + long("[0]"),
		"splats":     "a = b" + long("[*]"),
		"attributes": "a = b" + long(".c"),
		"calls":      "a = " + long("f("),
		"choices":    "a = 1" + long("?1:1"),
		"ifs":        "a = \"" + long("%{if true}"),
		"heredocs":   "a = " + long("<<A\n${"),
	} {
		t.Run(name, func(t *testing.T) {
			f, diags := Parse([]byte(src), "x.hcl", testOptions())
			if f != nil || len(diags) != 1 || diags[0].Summary != "nested too deep" {
				t.Fatalf("got:\n%s", print(t, diags))
			}
		})
	}
}

// Long input that is not deep must be accepted.
func TestFlat(t *testing.T) {
	long := func(text string) string { return strings.Repeat(text, 1000) }
	for name, text := range map[string]string{
		"list":           "init = [" + long("[1], -2, !true,\n") + "]",
		"interpolations": "init = \"" + long("${1 + 1}-") + "\"",
		"comments":       long("# a + b + c [[[\n"),
		"lines":          "init = <<EOT\n" + long("${[1][0]} {{{ ((( + - text\n") + "EOT\n",
	} {
		t.Run(name, func(t *testing.T) {
			src := "host \"a\" {\n" + text + "\ncommand = [\"x\"]\n}\n"
			if _, diags := Parse([]byte(src), "x.hcl", testOptions()); diags.HasErrors() {
				t.Errorf("refused:\n%s", print(t, diags))
			}
		})
	}
}

// A file of the largest size must be read, but no larger one.
func TestLargest(t *testing.T) {
	var b strings.Builder
	const n = 1000
	for i := range n {
		b.WriteString(strings.Replace(valid, "web", "web-"+strconv.Itoa(i), 1))
	}
	b.WriteString(strings.Repeat("# nothing\n", (maxFile-b.Len())/10))
	b.WriteString(strings.Repeat("\n", maxFile-b.Len()))
	src := []byte(b.String())
	f, diags := Parse(src, "x.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if len(f.Spec.Groups) != n {
		t.Errorf("%d groups", len(f.Spec.Groups))
	}
	f, diags = Parse(append(src, '\n'), "x.hcl", testOptions())
	if got := print(t, diags); f != nil || !strings.HasPrefix(got, "error: x.hcl is too large\n") {
		t.Errorf("got:\n%s", got)
	}
}

// A chain of values, each from the one before, may be long.
func TestLongChain(t *testing.T) {
	var b strings.Builder
	b.WriteString("locals {\n")
	n := 5_000
	for i := n; i > 0; i-- {
		fmt.Fprintf(&b, "  a%d = local.a%d\n", i, i-1)
	}
	fmt.Fprintf(&b, "  a0 = \"end\"\n}\nhost \"web\" {\n  command = [local.a%d]\n}\n", n)
	f, diags := Parse([]byte(b.String()), "x.hcl", testOptions())
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	if got := f.Spec.Groups[0].Hosts[0].Command[0]; got != "end" {
		t.Errorf("got %q", got)
	}
}

func TestFind(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOSTSUP_CONFIG", "")
	if p, err := Find(""); !errors.Is(err, ErrNoConfig) {
		t.Errorf("got %q, %v", p, err)
	}
	if err := os.WriteFile("config.hcl", []byte(valid), 0o644); err != nil {
		t.Fatal(err)
	}
	if p, err := Find(""); p != "config.hcl" || err != nil {
		t.Errorf("got %q, %v", p, err)
	}
	t.Setenv("HOSTSUP_CONFIG", "/etc/other.hcl")
	if p, err := Find(""); p != "/etc/other.hcl" || err != nil {
		t.Errorf("got %q, %v", p, err)
	}
	if p, err := Find("mine.hcl"); p != "mine.hcl" || err != nil {
		t.Errorf("got %q, %v", p, err)
	}
}

func env(uid int, pairs ...string) Env {
	m := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	return Env{Getenv: func(k string) string { return m[k] }, UID: uid, Home: m["HOME"], Temp: "/var/tmp"}
}

func TestSocketPaths(t *testing.T) {
	xdg := "XDG_RUNTIME_DIR"
	for _, c := range []struct {
		name             string
		env              Env
		flag, configured string
		want             string
	}{
		{"flag", env(0, "HOSTSUP_SOCKET", "/e"), "/f", "/c", "/f"},
		{"environment", env(0, "HOSTSUP_SOCKET", "/e", xdg, "/run/user/0"), "", "/c", "/e"},
		{"configured", env(1000, xdg, "/run/user/1000"), "", "/c", "/c"},
		{"session", env(1000, xdg, "/run/user/1000"), "", "", "/run/user/1000/hostsup.sock /tmp/hostsup-1000/hostsup.sock"},
		{"root in a session", env(0, xdg, "/run/user/0"), "", "", "/run/user/0/hostsup.sock /run/hostsup.sock /tmp/hostsup-0/hostsup.sock"},
		{"root", env(0), "", "", "/run/hostsup.sock /tmp/hostsup-0/hostsup.sock"},
		{"user", env(1000), "", "", "/tmp/hostsup-1000/hostsup.sock"},
		{"relative session", env(1000, xdg, "run"), "", "", "/tmp/hostsup-1000/hostsup.sock"},
		{"without users", env(-1), "", "", "/var/tmp/hostsup/hostsup.sock"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := SocketPaths(c.env, c.flag, c.configured)
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("got %s, want %s", s, c.want)
			}
			if first := SocketPath(c.env, c.flag, c.configured); first != got[0] {
				t.Errorf("first is %s", first)
			}
		})
	}
}

func TestStateDir(t *testing.T) {
	for _, c := range []struct {
		name       string
		env        Env
		configured string
		want       string
	}{
		{"configured", env(0), "/c", "/c"},
		{"root", env(0, "XDG_STATE_HOME", "/x", "HOME", "/root"), "", "/var/lib/hostsup"},
		{"user", env(1000, "HOME", "/home/ada"), "", "/home/ada/.local/state/hostsup"},
		{"set", env(1000, "HOME", "/home/ada", "XDG_STATE_HOME", "/x"), "", "/x/hostsup"},
		{"relative", env(1000, "HOME", "/home/ada", "XDG_STATE_HOME", "x"), "", "/home/ada/.local/state/hostsup"},
		{"nowhere", env(1000), "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := StateDir(c.env, c.configured)
			if got != c.want || (err == nil) != (c.want != "") {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
	if SystemEnv().Getenv == nil {
		t.Error("the real environment cannot be read")
	}
}
