package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// unpack writes the files of an archive into a folder, with a mode that others cannot use.
func unpack(t *testing.T, file, dir string) {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A configuration of several files must give the diagnostics, or the spec, in the text beside
// its archive.
func TestFiles(t *testing.T) {
	archives, err := filepath.Glob("testdata/files/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			want, err := filepath.Abs(strings.TrimSuffix(file, ".txtar") + ".txt")
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			unpack(t, file, dir)
			t.Chdir(dir)
			opts := testOptions()
			opts.Dir = ""
			var files []string
			opts.OnFile = func(pattern string) { files = append(files, pattern) }
			f, diags := Load("config.hcl", opts)
			got := print(t, diags)
			if f != nil {
				got += dump(f)
			}
			got += "files: " + strings.Join(files, " ") + "\n"
			golden(t, want, strings.ReplaceAll(got, dir, "/DIR"))
		})
	}
}

// Others must not be able to read the variables of a host.
func TestEnvFileThatOthersRead(t *testing.T) {
	dir := t.TempDir()
	env, conf := filepath.Join(dir, "a.env"), filepath.Join(dir, "config.hcl")
	for path, text := range map[string]string{env: "TOKEN=abcdef\n", conf: "host \"a\" {\n  command = [\"/bin/a\"]\n  env_file = \"a.env\"\n}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o604); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(env, 0o604); err != nil { // whatever the umask
		t.Fatal(err)
	}
	_, diags := Load(conf, testOptions2(dir))
	if got := print(t, diags); !strings.Contains(got, "config.hcl:3:14: error: invalid value for env_file") || !strings.Contains(got, "(mode 0604): chmod o= "+env) {
		t.Errorf("got:\n%s", got)
	}
	if err := os.Chmod(env, 0o640); err != nil {
		t.Fatal(err)
	}
	f, diags := Load(conf, testOptions2(dir))
	if diags.HasErrors() || f.Spec.Groups[0].Hosts[0].Env["TOKEN"] != "abcdef" {
		t.Errorf("not read: %s", print(t, diags))
	}
	opts := testOptions2(dir)
	opts.Elsewhere = true
	if err := os.Remove(env); err != nil {
		t.Fatal(err)
	}
	if _, diags := Load(conf, opts); diags.HasErrors() {
		t.Errorf("a file of another machine was read: %s", print(t, diags))
	}
}

func testOptions2(dir string) Options {
	opts := testOptions()
	opts.Dir = dir
	return opts
}

func TestParseEnv(t *testing.T) {
	for text, want := range map[string]string{
		"A=b":                          "b",
		"export A = b c ":              "b c",
		"A=":                           "",
		"A=$x#y\\n'":                   `$x#y\n'`,
		"A='# $x \\n '":                `# $x \n `,
		"# a comment\n\nA=\"x\\n\\$\"": "x\n$",
		"\ufeffA=é\r\n":                "é",
		"A=\"unclosed":                 "line 1: The quote is not closed on this line.",
		"A=\"unclosed\\":               "line 1: The quote is not closed on this line.",
		"A='x' y":                      "line 1: There is text after the closing quote.",
		"A=x # y":                      "line 1: A # after a space could begin a comment. Put the value in single quotes, or the comment on a line of its own.",
		"\nA":                          "line 2: There is no =. Write NAME=VALUE.",
		"A=1\nA=2":                     "line 2: A has a value already.",
		"=1":                           "line 1: The name is empty.",
		"A B=1":                        "line 1: The name of an environment variable has no =, no spaces and no control characters.",
		"HOSTSUP_A=1":                  "line 1: Names that begin with HOSTSUP_ are set by hostsup itself and cannot be given to a host.",
		"A=\"\\x\"":                    `line 1: There is no \x. Write \\ for a backslash, or use single quotes.`,
		"A=\xff":                       "line 1: The value is not text.",
		"A=\x00":                       "line 1: The value is not text.",
	} {
		env, line, why := parseEnv(text)
		got := env["A"]
		if why != "" {
			got = "line " + string(rune('0'+line)) + ": " + why
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// No text may make the reader panic, or give a variable that no process can have.
func FuzzParseEnv(f *testing.F) {
	for _, s := range []string{"A=b\nexport C='d'\n", "A=\"\\n\\", "\ufeff#\n=", "A='"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, line, why := parseEnv(text)
		if (why == "") != (line == 0) {
			t.Fatalf("line %d: %q", line, why)
		}
		for name, value := range env {
			if checkEnvName(name) != "" || strings.ContainsRune(value, 0) {
				t.Fatalf("%q=%q", name, value)
			}
		}
	})
}

// The socket must be found in a file whose parts are broken, and through variables of parts.
func TestSocketWithIncludes(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config.hcl": "include = \"conf.d/*.hcl\"\nsupervisor {\n  socket = \"${var.dir}/s\"\n}\n",
		"conf.d/a":   "", "conf.d/a.hcl": "variable \"dir\" { default = \"/srv\" }\n", "conf.d/b.hcl": "host {",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket, diags := Socket(filepath.Join(dir, "config.hcl"), testOptions2(dir))
	if socket != "/srv/s" || diags.HasErrors() {
		t.Errorf("got %q\n%s", socket, print(t, diags))
	}
}

// A pipe that is named like a part must not keep the reader.
func TestIncludeOfADevice(t *testing.T) {
	_, diags := Parse([]byte("include = [\"/dev/zero\", \"/dev/tty\"]\n"), "x.hcl", testOptions())
	if got := print(t, diags); strings.Count(got, "It is not a regular file.") != 2 {
		t.Errorf("got:\n%s", got)
	}
}
