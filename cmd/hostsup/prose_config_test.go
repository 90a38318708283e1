package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/config"
)

// TestConfigurationsShown holds that each configuration and each policy that the
// documentation shows is valid, as `hostsup validate` reads it.
func TestConfigurationsShown(t *testing.T) {
	checked := 0
	for _, page := range pagesOfProse(t) {
		for _, b := range blocksOf(t, page, "hcl") {
			checked++
			if wrong := valid(t, b.text); wrong != "" {
				t.Errorf("%s:%d: %s", filepath.Base(page), b.line, wrong)
			}
		}
	}
	if checked < 15 {
		t.Errorf("only %d configurations were found", checked)
	}
	for _, text := range []string{"host \"x\" {\n  comand = [\"x\"]\n}\n", "  extensions {\n    usr = []\n  }\n", "sandbox {\n  profil = \"node\"\n}\n"} {
		if valid(t, text) == "" {
			t.Errorf("nothing is said to be wrong with\n%s", text)
		}
	}
}

// block is a fenced block of a page.
type block struct {
	line int // of its first line of text
	text string
}

func blocksOf(t *testing.T, page, lang string) []block {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	at := regexp.MustCompile("(?ms)^```"+lang+"\n(.*?)^```$").FindAllSubmatchIndex(text, -1)
	for _, m := range at {
		out = append(out, block{1 + strings.Count(string(text[:m[2]]), "\n"), string(text[m[2]:m[3]])})
	}
	return out
}

// valid says what is wrong with a configuration. A block that is indented is a part of a
// host of VS Code's; one that begins with a sandbox block is a policy. What a page shows
// alone gets the host that it needs beside it.
func valid(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range regexp.MustCompile(`(?m)^include += "([^"]*)"`).FindAllStringSubmatch(text, -1) {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name[1])), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	opts := config.Options{Elsewhere: true, LookupEnv: func(string) (string, bool) { return "value", true }, Self: "/usr/bin/hostsup"}
	file := filepath.Join(dir, "config.hcl")
	var diags interface{ Error() string }
	if strings.HasPrefix(text, "sandbox ") {
		_, d := config.ParsePolicy([]byte(text), file, opts)
		if !d.HasErrors() {
			return ""
		}
		diags = d
	} else {
		if strings.HasPrefix(text, "  ") {
			text = "host \"shown\" {\n  command  = [\"node\", \"/opt/out/bootstrap-fork.js\", \"--type=extensionHost\"]\n  protocol = \"vscode\"\n" + text + "}\n"
		}
		if strings.Contains(text, `to = "db"`) || !regexp.MustCompile(`(?m)^ *(host|exec_server) "`).MatchString(text) {
			text += "host \"db\" {\n  command = [\"db\"]\n}\n"
		}
		_, d := config.Parse([]byte(text), file, opts)
		if !d.HasErrors() {
			return ""
		}
		diags = d
	}
	return strings.ReplaceAll(strconv.Quote(diags.Error()), dir+"/", "")
}
