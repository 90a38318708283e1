package integration

import (
	"os"
	"strings"
	"testing"
)

// holdsTable fails the test unless a page has this table between the line begin
// and the next line "<!-- end -->". With update it writes the table there; name
// is the flag that asks for that.
func holdsTable(t *testing.T, page, begin, table string, update bool, name string) {
	t.Helper()
	const end = "<!-- end -->\n"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + begin + table + end + after
	if want == string(text) {
		return
	}
	if !update {
		t.Fatalf("the table in %s is not that of the list: run this test with %s", page, name)
	}
	if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
