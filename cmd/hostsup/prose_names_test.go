package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/intercept/guard"
)

// foreign are the packages of others that the documentation names.
var foreign = []string{"actor", "bytes", "context", "errors", "exec", "fmt", "fs", "hcl", "http", "httptrace", "io", "journal", "json", "net", "os", "proto", "slog", "strings", "syscall", "tls", "url"}

// variables are those of the documentation's examples, with their types.
var variables = map[string]string{"client": "Client", "host": "Host"}

// TestNamesInProse checks what the documentation names in code: packages, types, functions,
// methods and fields of the project, settings of the configuration, files and folders.
func TestNamesInProse(t *testing.T) {
	tree := readTree(t)
	kinds := map[string]int{}
	for _, page := range pagesOfProse(t) {
		if strings.HasSuffix(page, "CHANGELOG.md") {
			continue // names of then
		}
		for _, s := range spansOf(t, page) {
			kind, err := tree.name(s)
			kinds[kind]++
			if err != nil {
				t.Errorf("%s: `%s`: %v", filepath.Base(page), s, err)
			}
		}
		for _, b := range blocksOf(t, page, "go") {
			kinds["go"]++
			if err := tree.snippet(b.text); err != nil {
				t.Errorf("%s:%d: %v", filepath.Base(page), b.line, err)
			}
		}
	}
	for kind, least := range map[string]int{"go": 40, "setting": 150, "path": 40} {
		if kinds[kind] < least {
			t.Errorf("only %d names of kind %s were found", kinds[kind], kind)
		}
	}
	for _, s := range []string{"x := ", "sup, err := supervisor.NoSuchName(ctx)"} {
		if tree.snippet(s) == nil {
			t.Errorf("of %q nothing is said to be wrong", s)
		}
	}
	for _, s := range []string{
		"supervisor.NoSuchName", "supervisor.Host.NoSuchMethod", "Host.NoSuchMethod", "link.Conn.Send.Deep", "host.no_such_setting", "stop.no_such_setting",
		"docs/no-such-file.md", "internal/no/such/folder", "actors.Interceptor.NoSuchField",
	} {
		if _, err := tree.name(s); err == nil {
			t.Errorf("of %q nothing is said to be wrong", s)
		}
	}
	for _, s := range []string{"supervisor.Host.Call", "Host.Call", "actors.Interceptor", "stop.grace", "host.stop.grace", "docs/protocol.md"} {
		if _, err := tree.name(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

var (
	qualified = regexp.MustCompile(`^([a-z][a-z0-9]*)\.([A-Z]\w*)(?:\.(\w+))?(\.\w+)*(?:\(.*\))?$`)
	ofType    = regexp.MustCompile(`^([A-Za-z]\w*)\.(\w+)(?:\(.*\))?$`)
	setting   = regexp.MustCompile(`^[a-z_]+(?:\.[a-z0-9_]+)+$`)
	filePath  = regexp.MustCompile(`^(?:[\w.-]+/)+[\w.-]*$`)
)

// name says which kind of name the text is, and what is wrong with it.
func (tr *tree) name(s string) (kind string, err error) {
	if m := qualified.FindStringSubmatch(s); m != nil {
		if m[4] != "" {
			return "go", fmt.Errorf("a name has three parts at most")
		}
		if m[1] == "var" || m[1] == "local" { // of the configuration
			return "", nil
		}
		return "go", tr.goName(m[1], m[2], m[3])
	}
	if filePath.MatchString(s) && s[0] != '.' && slices.Contains(tr.top, s[:strings.IndexByte(s, '/')]) {
		if _, err := os.Stat(filepath.Join(tr.root, strings.TrimSuffix(s, "..."))); err != nil {
			return "path", fmt.Errorf("there is no such file or folder")
		}
		return "path", nil
	}
	if setting.MatchString(s) {
		return knownSetting(s)
	}
	if _, ok := shown[s]; ok {
		return "", nil
	}
	if m := ofType.FindStringSubmatch(s); m != nil && tr.isType(m[1]) && !tr.has(m[1], m[2], 0) {
		return "go", fmt.Errorf("no type %s has a member %s", m[1], m[2])
	}
	return "", nil
}

// snippet says what is wrong with statements: they are no Go, or name something of a
// package of the project that is not there.
func (tr *tree) snippet(text string) error {
	whole := text
	if !strings.Contains(text, "\npackage ") { // it is statements
		whole = "package p\nfunc _() error {\n" + strings.ReplaceAll(text, "…", "return nil") + "\n}\n"
	}
	if _, err := parser.ParseFile(token.NewFileSet(), "", whole, parser.SkipObjectResolution); err != nil {
		return err
	}
	for _, m := range regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`).FindAllStringSubmatch(text, -1) {
		if len(tr.packages(m[1])) == 0 {
			continue // a variable, or a package of others
		}
		if err := tr.goName(m[1], m[2], ""); err != nil {
			return err
		}
	}
	return nil
}

func (tr *tree) goName(pkg, name, member string) error {
	found := tr.packages(pkg)
	switch {
	case len(found) == 0 && slices.Contains(foreign, pkg), tr.isType(pkg) && tr.has(pkg, name, 0):
		return nil
	case variables[pkg] != "" && tr.has(variables[pkg], name, 0):
		return nil
	case len(found) == 0:
		return fmt.Errorf("no package is called %s", pkg)
	case !slices.ContainsFunc(found, func(f *folder) bool { return f.names[name] }):
		return fmt.Errorf("package %s does not declare %s", pkg, name)
	case member != "" && !tr.has(name, member, 0):
		return fmt.Errorf("%s.%s has no %s", pkg, name, member)
	}
	return nil
}

// shown are names in the form of settings that are something else.
var shown = map[string]string{
	"supervisor.configuration.refused": "field of status --json",
	"secrets.age":                      "file",
	"console.token":                    "file",
	"host.name":                        "parameter of the wire",
	"editor.tabSize":                   "setting of VS Code",
}

// knownSetting checks a dotted name whose first part is a block of the configuration.
func knownSetting(s string) (string, error) {
	first, _, _ := strings.Cut(s, ".")
	blocks := false
	for _, r := range config.Reference() {
		if strings.HasSuffix("."+r.Path, "."+s) || strings.Contains("."+r.Path, "."+s+".") { // a setting, or a block
			return "setting", nil
		}
		blocks = blocks || strings.Contains("."+r.Path, "."+first+".")
	}
	_, noPermission := guard.ParsePermission(s)
	if _, ok := shown[s]; ok || !blocks || noPermission == nil { // not about the configuration
		return "", nil
	}
	return "setting", fmt.Errorf("the configuration has no such setting")
}
