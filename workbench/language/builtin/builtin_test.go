package builtin

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench/text"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func of(lines ...string) *text.Text { return text.New(strings.Join(lines, "\n"), text.LF) }

func shown(ranges []text.Range) string {
	var out []string
	for _, r := range ranges {
		out = append(out, fmt.Sprintf("%d:%d-%d:%d", r.StartLine, r.StartColumn, r.EndLine, r.EndColumn))
	}
	return strings.Join(out, " ")
}

// The examples are those of the tests of VS Code.
func TestFolds(t *testing.T) {
	java := of("class A {", "  void foo() {", "    console.log();", "    console.log();", "  }", "", "  void bar() {", "    console.log();", "  }", "}", "interface B {", "  void bar();", "}")
	for _, c := range []struct {
		name string
		text *text.Text
		l    Language
		want string
	}{
		{"one level", of("A", "  A", "  A", "  A"), Language{}, "[{1 4}]"},
		{"three levels", of("A", "  A", "    A", "      A", "A"), Language{}, "[{1 4} {2 4} {3 4}]"},
		{"less and less", of("    A", "  A", "A"), Language{}, "[]"},
		{"Java", java, Language{}, "[{1 9} {2 4} {7 8} {11 12}]"},
		{"white space", of("class A {", "", "  void foo() {", "     ", "    return 1;", "  }", "      ", "}"), Language{}, "[{1 7} {3 5}]"},
		{"tabs", of("class A {", "\t\tvoid foo() {", "\t \t\t//", "\t \t\treturn;", "\t\t}", "}"), Language{}, "[{1 5} {2 4}]"},
		{"tabs of eight columns", of("a", "    b", "\tc"), Language{TabSize: 8}, "[{1 3} {2 3}]"},
		{"off-side", of("def a:", "  b", "", "def c:", "  d", "", ""), Language{OffSide: true}, "[{1 2} {4 5}]"},
		{"with an end", of("def a:", "  b", "", "def c:", "  d", "", ""), Language{}, "[{1 3} {4 7}]"},
		{"no text", of(""), Language{}, "[]"},
	} {
		if got := fmt.Sprint(Folds(c.text, c.l)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestFoldsOfRegions(t *testing.T) {
	l := Language{FoldStart: regexp.MustCompile(`^\s*#region\b`), FoldEnd: regexp.MustCompile(`^\s*#endregion\b`)}
	for _, c := range []struct {
		text *text.Text
		want string
	}{
		{of("class A {", "  #region", "  void foo() {", "    ", "    return 1;", "  }", "  #endregion", "}"), "[{1 7} {2 7} {3 5}]"},
		{of("var x;", "#region", "void foo()", "  return 1;", "#endregion"), "[{2 5} {3 4}]"},
		{of("#region", "a", "#region", "b", "#endregion", "#endregion"), "[{1 6} {3 5}]"},
		{of("#region", "  a"), "[{1 2}]"},    // without an end it is a line
		{of("a", "#endregion", "  b"), "[]"}, // an end alone hides what is below it, as in VS Code
	} {
		if got := fmt.Sprint(Folds(c.text, l)); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestFoldsAreBounded(t *testing.T) {
	var lines []string
	for range maxFolds {
		lines = append(lines, "a", "  b", "    c")
	}
	got := Folds(of(lines...), Language{})
	for _, f := range got {
		if f.Start%3 != 1 {
			t.Fatalf("%v", f)
		}
	}
	if len(got) != maxFolds || !slices.IsSortedFunc(got, func(a, b Fold) int { return a.Start - b.Start }) {
		t.Errorf("%d", len(got))
	}
}

func TestOccurrences(t *testing.T) {
	css := Language{Words: regexp.MustCompile(`[\w-]+`)}
	for _, c := range []struct {
		text         *text.Text
		line, column int
		l            Language
		want         string
	}{
		{of("one two", "two_one one.one", "One ones 𝄞 one"), 1, 2, Language{}, "1:1-1:4 2:9-2:12 2:13-2:16 3:13-3:16"},
		{of("one two"), 1, 4, Language{}, "1:1-1:4"},
		{of("one  two"), 1, 5, Language{}, ""},
		{of("a-b b"), 1, 2, Language{}, "1:1-1:2"},
		{of("a-b b a-b"), 1, 2, css, "1:1-1:4 1:7-1:10"},
		{of("a"), 9, 1, Language{}, ""},
	} {
		if got := shown(Occurrences(c.text, c.line, c.column, c.l)); got != c.want {
			t.Errorf("%q at %d:%d: %s, want %s", c.text, c.line, c.column, got, c.want)
		}
	}
	if n := len(Occurrences(of(strings.Repeat("a ", 5000)), 1, 1, Language{})); n != maxOccurrences {
		t.Error(n)
	}
}

func TestSelections(t *testing.T) {
	l := Language{Brackets: [][2]string{{"(", ")"}, {"{", "}"}, {"begin", "end"}}}
	for _, c := range []struct {
		text         *text.Text
		line, column int
		brackets     bool
		want         string
	}{
		{of("fooBar"), 1, 2, false, "1:1-1:4 1:1-1:7 1:1-1:7"},
		{of("fooBar"), 1, 5, false, "1:4-1:7 1:1-1:7 1:1-1:7"},
		{of("foo_bar"), 1, 6, false, "1:5-1:8 1:1-1:8 1:1-1:8"},
		{of("a", "  ", "b"), 2, 1, false, "2:1-2:3 1:1-3:2"},
		{of(", ,"), 1, 2, false, "1:1-1:4"},
		{of("f(a, (b))"), 1, 7, true, "1:7-1:8 1:7-1:8 1:7-1:8 1:6-1:9 1:3-1:9 1:2-1:10 1:1-1:10"},
		{of("if x {", "  y", "}"), 2, 4, true, "2:3-2:4 2:3-2:4 1:7-3:1 1:6-3:2 1:1-3:2 1:1-3:2 1:1-3:2"},
		{of("f", "{", "  y", "}"), 3, 3, true, "3:3-3:4 3:3-3:4 2:2-4:1 2:1-4:2 1:1-4:2 1:1-4:2 1:1-4:2"},
		{of("begin beginning end"), 1, 10, true, "1:7-1:16 1:7-1:16 1:6-1:17 1:1-1:20 1:1-1:20"},
		{of(") a ("), 1, 3, true, "1:3-1:4 1:3-1:4 1:1-1:6"},
		{of("𝄞 ab"), 1, 99, true, "1:4-1:6 1:4-1:6 1:1-1:6"},
	} {
		if got := shown(Selections(c.text, c.line, c.column, l, c.brackets)); got != c.want {
			t.Errorf("%q at %d:%d: %s, want %s", c.text, c.line, c.column, got, c.want)
		}
	}
}

func TestLinesBetweenSelections(t *testing.T) {
	text := of("a {", "  b c ", "  d", "}")
	for _, c := range []struct {
		inner, outer string
		want         string
	}{
		{"2:3-2:4", "1:4-4:1", "2:3-2:6 2:1-2:7"}, {"2:3-2:4", "2:1-2:7", ""}, {"2:3-3:4", "1:1-4:2", "2:1-3:4"}, {"2:1-3:4", "1:1-4:2", ""},
	} {
		if got := shown(Lines(text, ranged(t, c.inner), ranged(t, c.outer))); got != c.want {
			t.Errorf("%s in %s: %s, want %s", c.inner, c.outer, got, c.want)
		}
	}
}

func ranged(t *testing.T, s string) (r text.Range) {
	t.Helper()
	if _, err := fmt.Sscanf(s, "%d:%d-%d:%d", &r.StartLine, &r.StartColumn, &r.EndLine, &r.EndColumn); err != nil {
		t.Fatal(err)
	}
	return r
}
