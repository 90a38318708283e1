package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// packed writes a package of acme.words to a file and returns its digest.
func packed(t *testing.T, path, version string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"extension.vsixmanifest", fmt.Sprintf(`<PackageManifest><Metadata><Identity Id="words" Version=%q Publisher="acme"/></Metadata></PackageManifest>`, version)},
		{"extension/package.json", fmt.Sprintf(`{"name": "words", "publisher": "acme", "version": %q, "engines": {"vscode": "^1.90.0"}}`, version)},
	} {
		to, err := w.Create(f[0])
		if err == nil {
			_, err = to.Write([]byte(f[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(out.Bytes()))
}

// ranHere runs a command line and returns its exit code and what it printed.
func ranHere(t *testing.T, line string) (code int, out, errout string) {
	t.Helper()
	var o, e bytes.Buffer
	words := strings.Fields(line)
	if strings.HasSuffix(line, " ") {
		words = append(words, "")
	}
	code = newApp(strings.NewReader(""), &o, &e).main(t.Context(), words)
	return code, o.String(), e.String()
}

func TestExtensionsAreInstalledByVerbs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOSTSUP_SOCKET", filepath.Join(dir, "none"))
	first, second := packed(t, "1.vsix", "1.0.0"), packed(t, "2.vsix", "2.0.0")
	site := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer site.Close()
	if err := os.Mkdir("acme.words", 0o700); err != nil {
		t.Fatal(err)
	}
	packed(t, "acme.words-3.0.0.vsix", "3.0.0")
	file := `host "code" {
  command  = ["node", "/opt/code/out/bootstrap-fork.js", "--type=extensionHost"]
  protocol = "vscode"
  extensions {
    user     = ["ext"]
    registry = "` + site.URL + `/{publisher}.{name}-{version}.vsix"
  }
}
`
	if err := os.WriteFile("config.hcl", []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	two := strings.Replace(file+strings.Replace(file, `"code"`, `"other"`, 1), `["ext"]`, `["ext", "else"]`, 1)
	two = strings.Replace(two, `["ext"]`, `["else"]`, 1)
	if err := os.WriteFile("two.hcl", []byte(two), 0o600); err != nil {
		t.Fatal(err)
	}
	const away = "hostsup: no supervisor runs: its hosts have this at their next start\n"
	for _, c := range []struct {
		line   string
		code   int
		out    string // DIR is the folder
		errout string // part of it
	}{
		{"extension list", 0, "", "no extension is installed in DIR/ext"},
		{"extension uninstall acme.words", 1, "", `extension "acme.words" is not installed in DIR/ext (the list is empty)`},
		{"extension install 1.vsix --digest " + second, 1, "", "another digest"},
		{"extension install 1.vsix --digest " + first, 0, "acme.words 1.0.0 is installed in DIR/ext\n" + first + "\n", "engines.vscode is not compared with the editor of host code: no usable build"},
		{"extension install 1.vsix", 0, "acme.words 1.0.0 is installed in DIR/ext already\n" + first + "\n", ""},
		{"extension install ./2.vsix --host code", 0, "acme.words 2.0.0 is installed in DIR/ext, in place of 1.0.0\n" + second + "\n", away},
		{"extension rollback acme.words", 0, "acme.words 1.0.0 is installed in DIR/ext, in place of 2.0.0\n" + first + "\n", away},
		{"extension rollback acme.words", 1, "", "no version before is kept: acme.words 1.0.0"},
		{"extension rollback acme.word", 1, "", `did you mean "acme.words"?`},
		{"__complete extension rollback ", 0, "acme.words\t1.0.0\n:4\n", ""},
		{"__complete extension uninstall --host ", 0, "code\n:4\n", ""},
		{"extension uninstall acme.words --json", 0, `{
  "id": "acme.words",
  "version": "",
  "before": "1.0.0",
  "digest": "",
  "folder": "",
  "engine": "",
  "source": "",
  "changed": true,
  "rescanned": null
}
`, away},
		{"extension list --json", 0, "[]\n", ""},
		{"extension install acme.words@4.0.0", 1, "", "the registry does not have it"},
		{"extension install acme.words@1.0.0 --registry " + site.URL + "/{publisher}.{name}-3.0.0.vsix", 1, "", "acme.words 3.0.0, and acme.words@1.0.0 was asked for"},
		{"extension install acme.words@3.0.0 --registry http://192.0.2.1/{publisher}/{name}", 1, "", "https expected"},
		{"extension uninstall acme.words --to DIR/ext --host code", 2, "", "not both"},
		{"extension install acme.words --to DIR/far -c DIR/nothing.hcl", 3, "", "nothing.hcl"},
		{"extension install acme.words --to DIR/far -c DIR/two.hcl", 2, "", "write ./acme.words"},
		{"extension install ./acme.words", 1, "", "package.json expected, found none"},
		{"extension install ./5.vsix", 1, "", "no such file"},
		{"extension install 1.vsix --host none", 5, "", `no host "none" with protocol`},
		{"extension install 1.vsix -c DIR/two.hcl", 2, "", "choose with --host (code, other) or --to (DIR/ext, DIR/else)"},
		{"extension install", 2, "", "FILE.vsix, FOLDER or ID[@VERSION] is missing"},
	} {
		here := func(s string) string { return strings.ReplaceAll(s, "DIR", dir) }
		code, out, errout := ranHere(t, here(c.line))
		if strings.HasPrefix(c.line, "__complete") {
			errout = ""
		}
		if code != c.code || out != here(c.out) || !strings.Contains(errout, here(c.errout)) {
			t.Errorf("%s: exit %d, %q, %q; want %d, %q, %q", c.line, code, out, errout, c.code, here(c.out), here(c.errout))
		}
	}
	if code, out, errout := ranHere(t, "extension install acme.words@3.0.0 --json"); code != 0 || !strings.Contains(out, `"source": "`+site.URL+`/acme.words-3.0.0.vsix"`) {
		t.Errorf("from the registry: exit %d, %q, %q", code, out, errout)
	}
	if _, out, _ := ranHere(t, "extension list"); !strings.Contains(out, "acme.words  3.0.0    yes ") {
		t.Errorf("the list is %q", out)
	}
}

// A supervisor that runs is asked to read its folders again.
func TestInstallationReachesARunningSupervisor(t *testing.T) {
	fake(t)
	dir := t.TempDir()
	t.Chdir(dir)
	packed(t, "1.vsix", "1.0.0")
	const line = "extension install ./1.vsix --to ext"
	code, out, errout := ranHere(t, line+" --json")
	if want := "hostsup: this changes no host of the running supervisor: none uses this extension of " + dir + "/ext\n"; code != 0 || errout != want || !strings.Contains(out, `"rescanned": []`) {
		t.Errorf("exit %d, %q, %q", code, out, errout)
	}
}
