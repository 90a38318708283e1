package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestVerbsInProse checks commands in the middle of sentences of the documentation:
// every verb and every flag of a `hostsup …` must exist. The
// commands in blocks are run by integration/docs_linux_test.go.
func TestVerbsInProse(t *testing.T) {
	pages := pagesOfProse(t)
	command := regexp.MustCompile("`(?:\\./)?hostsup ([^`]+)`")
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range command.FindAllStringSubmatch(strings.ReplaceAll(string(text), "\n", " "), -1) {
			checked++
			for _, wrong := range unknownIn(strings.Fields(m[1])) {
				t.Errorf("%s: `hostsup %s`: %s", filepath.Base(page), m[1], wrong)
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d commands were found", checked)
	}
	if got := unknownIn(strings.Fields("stauts --pid --nonsense")); !slices.Equal(got, []string{`no verb "stauts"`}) {
		t.Errorf("of a wrong verb: %q", got)
	}
	if got := unknownIn(strings.Fields("status math --nonsense --json")); !slices.Equal(got, []string{"no flag --nonsense"}) {
		t.Errorf("of a wrong flag: %q", got)
	}
}

func pagesOfProse(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"../../README.md", "../../CHANGELOG.md", "../../docs/*.md", "../../docs/*/*.md", "../../config.hcl"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	return pages
}

// TestNamedTestsExist holds that each test, benchmark and fuzz target that the
// documentation names exists.
func TestNamedTestsExist(t *testing.T) {
	declared := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w*)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && len(d.Name()) > 2 && d.Name()[0] == '.':
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			declared[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	name := regexp.MustCompile("`((?:Test|Fuzz|Benchmark)[A-Z]\\w*)`")
	for _, page := range pagesOfProse(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range name.FindAllSubmatch(text, -1) {
			if named++; !declared[string(m[1])] {
				t.Errorf("%s names %s, which is no test", filepath.Base(page), m[1])
			}
		}
	}
	if named < 50 {
		t.Errorf("only %d names were found", named)
	}
}

// unknownIn returns the unknown parts of a command.
func unknownIn(words []string) []string {
	root := newApp(nil, nil, nil).root()
	at := root
	var wrong []string
	for _, w := range words {
		switch {
		case w == "--":
			return wrong
		case strings.HasPrefix(w, "-"):
			name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
			f := at.Flags().Lookup(name)
			if f == nil {
				f = root.PersistentFlags().Lookup(name)
			}
			if f == nil && len(name) == 1 {
				if f = at.Flags().ShorthandLookup(name); f == nil {
					f = root.PersistentFlags().ShorthandLookup(name)
				}
			}
			if f == nil {
				wrong = append(wrong, "no flag "+w)
			}
		case at.HasSubCommands() && w[0] >= 'a' && w[0] <= 'z':
			next := at
			for _, name := range strings.Split(w, "|") {
				sub, _, err := at.Find([]string{name})
				if err != nil || sub == at {
					if at == root {
						return append(wrong, `no verb "`+name+`"`)
					}
					continue // an argument of a verb that has verbs below it
				}
				next = sub
			}
			at = next
		}
	}
	return wrong
}
