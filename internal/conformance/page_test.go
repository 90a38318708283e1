package conformance

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the rules into docs/protocol.md")

const begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->\n"

// pageParts returns docs/protocol.md up to the list of rules, the list, and the rest.
func pageParts(t *testing.T) (path, head, list, tail string) {
	t.Helper()
	path = filepath.Join("..", "..", "docs", "protocol.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(b), begin)
	list, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no place for the rules", path)
	}
	return path, head, list, tail
}

func TestPageListsTheRules(t *testing.T) {
	path, head, list, tail := pageParts(t)
	if list == Page() {
		return
	}
	if !*update {
		t.Fatalf("%s does not list the rules as they are; run go test ./internal/conformance -update", path)
	}
	if err := os.WriteFile(path, []byte(head+begin+Page()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Every rule stands on the page outside of the list, too.
func TestSentencesStandOnThePage(t *testing.T) {
	_, head, _, tail := pageParts(t)
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	page := words(head + tail)
	seen := make(map[string]bool)
	for _, s := range sections {
		for _, r := range s.rules {
			switch {
			case seen[r.ID]:
				t.Errorf("%s: two rules have this number", r.ID)
			case r.ID[0] != s.rules[0].ID[0]:
				t.Errorf("%s: not a number of the section %s", r.ID, s.title)
			case r.What == "" || strings.Contains(r.Sentence, "|"):
				t.Errorf("%s: %q, %q cannot be listed", r.ID, r.What, r.Sentence)
			case r.Sentence == "" || !strings.Contains(page, words(r.Sentence)):
				t.Errorf("%s: the page does not say %q", r.ID, r.Sentence)
			}
			seen[r.ID] = true
		}
	}
}
