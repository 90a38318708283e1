package glob

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern string
		yes, no []string
	}{
		{"**/*.go", []string{"a.go", "b/c/a.go", ".go", "/a/b.go"}, []string{"a.goo", "go", "a.go/b"}},
		{"**/*.d.ts", []string{"a.d.ts", "x/.d.ts"}, []string{"a.ts", "d.ts"}},
		{"**/.eslintrc.*", []string{".eslintrc.js", "x/.eslintrc.json"}, []string{"xeslintrc.js", ".eslintrc"}},
		{"*.{js,ts}", []string{"a.js", "a.ts"}, []string{"b/a.js", "a.jsx"}},
		{"**.js", []string{"a.js"}, []string{"b/a.js"}},
		{"src/**", []string{"src/a", "src/b/c", "src"}, []string{"lib/src/a", "srcx"}},
		{"src/*", []string{"src/a"}, []string{"src/b/c", "src"}},
		{"**", []string{"", "a", "a/b"}, nil},
		{"**/*", []string{"a", "a/b", ".x"}, nil},
		{"**/**", []string{"a", "a/b", ".x"}, nil},
		{"?[a-c][!x].t", []string{"1ay.t"}, []string{"1dy.t", "1ax.t", "/ay.t"}},
		{"a[!b]c", []string{"axc", "aüc"}, []string{"abc", "a/c", "ac"}},
		{"[]x]", []string{"]", "x"}, []string{"[]x]"}},
		{"[{},]", []string{"{", ",", "}"}, []string{"x"}},
		{"a[x/]b", []string{"axb"}, []string{"a/b"}},
		{"a+b(c).x", []string{"a+b(c).x"}, []string{"aab(c).x"}},
		{"größe*", []string{"größer", "größe"}, []string{"grosse"}},
		{"g?öße", []string{"größe", "g€öße"}, []string{"göße"}},
		{"**/node_modules", []string{"node_modules", "a/node_modules"}, []string{"node_modules/a", "xnode_modules"}},
		{"**/node_modules/", []string{"node_modules", "a/node_modules"}, []string{"node_modules/a"}},
		{"**/node_modules/**", []string{"node_modules", "a/node_modules/b/c"}, []string{"a/xnode_modules/b"}},
		{"**/a/b", []string{"a/b", "x/a/b"}, []string{"xa/b", "a/b/c", "b"}},
		{"a/**/b", []string{"a/b", "a/x/b", "a/x/y/b"}, []string{"ab", "a/xb", "x/a/b"}},
		{"a/**/b/**/c", []string{"a/b/c", "a/b/x/b/y/c"}, []string{"a/c", "a/b"}},
		{"{**/*.a,**/*.b,c/d}", []string{"x/y.a", "y.b", "c/d"}, []string{"y.c", "x/c/d"}},
		{"{**/a,b}/c", []string{"a/c", "x/a/c", "b/c"}, []string{"x/b/c", "c"}},
		{"*.{a,b{1,2}}", []string{"x.a", "x.b1", "x.b2"}, []string{"x.b", "x.1"}},
		{"a{b,}", []string{"ab"}, []string{"a"}},
		{"a{,b}", []string{"ab", "a"}, nil},
		{"a{}", []string{"a"}, nil},
		{" *.x ", []string{"y.x"}, nil},
		{"/a/*", []string{"/a/b"}, []string{"a/b"}},
		{"a/b", []string{"a/b"}, []string{"a/b/c", "x/a/b"}},
		{"*a*b*c", []string{"abc", "xaxbxc", "abcbc"}, []string{"acb", "abcx"}},
		{"", nil, []string{"", "a"}},
	} {
		g, err := Compile(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.yes {
			if !g.Match(s) {
				t.Errorf("%q does not match %q", c.pattern, s)
			}
		}
		for _, s := range c.no {
			if g.Match(s) {
				t.Errorf("%q matches %q", c.pattern, s)
			}
		}
	}
	if (&Glob{}).Match("") {
		t.Error("the zero value matches")
	}
}

func TestWrongPatterns(t *testing.T) {
	for _, bad := range []string{
		"{a", "[a", "[]", "[!]", "[z-a]", "{a,[b}", strings.Repeat("{a,", 200) + strings.Repeat("}", 200),
		strings.Repeat("{a,b}", 30), strings.Repeat("x", maxBytes+1),
	} {
		if _, err := Compile(bad); !errors.Is(err, ErrPattern) {
			t.Errorf("%.40s: %v, expected ErrPattern", bad, err)
		}
	}
}

func TestIn(t *testing.T) {
	for _, base := range []string{"/w/f", "/w/f/"} {
		g, err := In(base, "*.x")
		if err != nil {
			t.Fatal(err)
		}
		for path, want := range map[string]bool{"/w/f/a.x": true, "/w/f/b/a.x": false, "/w/g/a.x": false, "/w/f": false, "/w/fa.x": false} {
			if g.Match(path) != want {
				t.Errorf("%s: %s: %v", g, path, !want)
			}
		}
	}
	g, err := In("/w", "**")
	if err != nil || !g.Match("/w") || !g.Match("/w/a") || g.Match("/x") {
		t.Errorf("%v, %v", g, err)
	}
	if g, err = In("/", "*"); err != nil || !g.Match("/a") {
		t.Errorf("%v, %v", g, err)
	}
}

func TestAny(t *testing.T) {
	g, err := Any("**/.git", "*.x", "")
	if err != nil || !g.Match("a/.git") || !g.Match("b.x") || g.Match("a/b.x") {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := Any("a", "["); !errors.Is(err, ErrPattern) {
		t.Error(err)
	}
}

func TestNoExponentialTime(t *testing.T) {
	names := strings.Repeat("a/", 5_000) + "b"
	for _, c := range [][2]string{
		{strings.Repeat("a*", 5_000) + "c", strings.Repeat("a", 10_000)},
		{strings.Repeat("**/a/", 2_000) + "c", names},
		{strings.Repeat("**/*a*/", 1_000) + "c", names},
		{strings.Repeat("{*,?}", 10) + "c", strings.Repeat("a", 100)},
	} {
		start := time.Now()
		g, err := Compile(c[0])
		if err != nil {
			t.Fatal(err)
		}
		if g.Match(c[1]) {
			t.Errorf("%.20s matches", c[0])
		}
		if d := time.Since(start); d > 20*time.Second {
			t.Errorf("%.20s took %v", c[0], d)
		}
	}
}

// asRegexp is a second, slow implementation for patterns without sets.
func asRegexp(pattern string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString("(?s)^")
	names := strings.Split(strings.TrimSuffix(pattern, "/"), "/")
	for i, name := range names {
		if name == "**" {
			switch {
			case len(names) == 1:
				b.WriteString(".*")
			case i == len(names)-1:
				b.WriteString("(?:/.*)?")
			default:
				b.WriteString("(?:[^/]*/)*")
			}
			continue
		}
		b.WriteString(strings.NewReplacer(`\*`, "[^/]*", `\?`, "[^/]").Replace(regexp.QuoteMeta(name)))
		if i < len(names)-1 && (names[i+1] != "**" || i+2 < len(names)) {
			b.WriteString("/")
		}
	}
	return regexp.MustCompile(b.String() + "$")
}

func FuzzGlob(f *testing.F) {
	for _, p := range []string{"**/*.go", "a/**/b/*", "?a*b", "{a,b}/**", "**/a/b", "[!a-c]*", "**", "**/**.g*"} {
		f.Add(p, "a/b/c.go")
	}
	f.Fuzz(func(t *testing.T, pattern, path string) {
		g, err := Compile(pattern)
		if err != nil {
			if !errors.Is(err, ErrPattern) {
				t.Fatal(err)
			}
			return
		}
		got := g.Match(path)
		names := slices.CompactFunc(strings.Split(strings.TrimSpace(pattern), "/"), func(a, b string) bool { return a == "**" && b == "**" })
		pattern = strings.Join(names, "/")
		// The regexp has runes where paths may have other bytes.
		if pattern == "" || pattern == "/" || strings.ContainsAny(pattern, "{[") || !utf8.ValidString(path) || !utf8.ValidString(pattern) || len(pattern) > 200 {
			return
		}
		if want := asRegexp(pattern).MatchString(path); got != want {
			t.Errorf("%q, %q: %v, expected %v", pattern, path, got, want)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	path := "src/vs/workbench/contrib/search/browser/searchView.ts"
	for _, p := range []string{"**/*.ts", "**/node_modules", "{**/*.js,**/*.ts,**/x}", "src/**/test/**/*.ts"} {
		g := MustCompile(p)
		b.Run(p, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				g.Match(path)
			}
		})
	}
}
