//go:build linux

package integration

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const apiTestsPage = "../docs/vscode-api-tests.md"

// The page of VS Code's own API tests is as its list says, and each test that it names exists.
// -update writes it.
func TestAPITestsPage(t *testing.T) {
	raw, err := os.ReadFile("testdata/vscode-api-tests.txt")
	if err != nil {
		t.Fatal(err)
	}
	exists := testsOfTree(t)
	var body strings.Builder
	suites, all, held := 0, 0, 0
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != '\t' {
			suites += 1 + strings.Count(line, ", ")
			fmt.Fprintf(&body, "\n### %s\n\n| behaviour | test |\n|---|---|\n", line)
			continue
		}
		behaviour, test, ok := strings.Cut(line[1:], "\t")
		if !ok || test == "" || strings.Contains(test, "\t") {
			t.Fatalf("a behaviour, a tab and a test expected: %q", line)
		}
		all++
		why, missing := strings.CutPrefix(test, "- ")
		if missing {
			fmt.Fprintf(&body, "| %s | not covered: %s |\n", behaviour, why)
			continue
		}
		held++
		if !exists[test] {
			t.Errorf("%s: there is no test %q", behaviour, test)
		}
		fmt.Fprintf(&body, "| %s | `%s` |\n", behaviour, test)
	}
	page, err := os.ReadFile(apiTestsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(page), "\n## Behaviours\n")
	if !ok {
		t.Fatalf("%s has no heading Behaviours", apiTestsPage)
	}
	want := fmt.Sprintf("%s\n## Behaviours\n\n%d of %d behaviours of %d suites are covered by a test.\n%s", head, held, all, suites, body.String())
	if want == string(page) {
		return
	}
	if !*update {
		t.Fatalf("%s is not current: go test -run TestAPITestsPage ./integration -update", apiTestsPage)
	}
	if err := os.WriteFile(apiTestsPage, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// testsOfTree returns the names of the tests of this tree, and of the cases of TestExtensionAPI.
func testsOfTree(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	add := func(path string, pattern *regexp.Regexp, before string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range pattern.FindAllSubmatch(text, -1) {
			names[before+string(m[1])] = true
		}
	}
	test, named := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`), regexp.MustCompile(`(?m)^  '(.+?)': (?:async )?\(`)
	for _, dir := range []string{".", "../workbench", "../extensions"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && strings.HasSuffix(path, "_test.go") {
				add(path, test, "")
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	cases, err := filepath.Glob("testdata/vscode/api/*.js")
	if err != nil || len(cases) == 0 {
		t.Fatal(cases, err)
	}
	for _, path := range cases {
		add(path, named, "TestExtensionAPI/")
	}
	return names
}
