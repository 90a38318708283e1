package search

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/workbench"
)

// newRipgrep is the engine with the ripgrep of this machine.
func newRipgrep(t testing.TB) *ripgrep {
	t.Helper()
	program := FindRipgrep("")
	if program == "" {
		require.Missing(t, "rg (ripgrep) is not in PATH")
	}
	l, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return &ripgrep{program, l}
}

func write(t testing.TB, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// scatter makes a tree by chance.
func scatter(t testing.TB, r *rand.Rand, dir string) {
	t.Helper()
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	words := []string{
		"needle", "Needle", "größe", "NEEDLE needle", "x😀needle", "\r\n", "\n", "\n\n", " ", "a1_b", "foo bar", "\t", "end\r\n", "über",
		"K\u212a", "ſs", "\u00a0", "\u2028", "[x]", "foo\nbar\n", "foo\r\nbar",
	}
	for range 120 {
		var names []string
		for range 1 + r.IntN(4) {
			names = append(names, pick("a", "b", "src", "node_modules", "build", ".hidden", "out", "deep", "A", "ü"))
		}
		var text strings.Builder
		for range r.IntN(40) {
			text.WriteString(words[r.IntN(len(words))])
		}
		if r.IntN(12) == 0 {
			text.WriteString("\x00 needle\n")
		}
		content := text.String()
		switch r.IntN(20) {
		case 0:
			content = "\xef\xbb\xbf" + content
		case 1:
			content = "\xff\xfe"
			for _, u := range utf16Of(strings.ToValidUTF8(text.String(), "?")) {
				content += string([]byte{byte(u), byte(u >> 8)})
			}
		}
		write(t, dir, strings.Join(names, "/")+"/"+pick("f", "g", "n", ".x", "f b")+pick(".txt", ".go", ".ts", ".min.js", "", ".TXT"), content)
	}
	for range 6 {
		var lines []string
		for range 1 + r.IntN(5) {
			if r.IntN(8) == 0 {
				lines = append(lines, "", "# note")
			}
			lines = append(lines, pick("", "", "!")+pick("*.go", "build", "/src", "src/", "a/b", "a/**", "**/out", "**/deep/**", "*.min.*", "f?.txt", "[fg].ts",
				`\#x`, "out/*", "b/**/a", ".hidden", "{f,g}.txt", "*.txt ", "/*", "ü", "n*"))
		}
		write(t, dir, pick("", "a/", "src/", "build/", "a/b/", "deep/")+pick(".gitignore", ".gitignore", ".ignore", ".rgignore"), strings.Join(lines, "\n"))
	}
	if r.IntN(2) == 0 {
		write(t, dir, ".git/info/exclude", "*.ts\n")
	}
	if r.IntN(2) == 0 {
		write(t, dir, "a/.git/HEAD", "ref\n")
	}
	write(t, dir, "b/real/needle.txt", "needle\n")
	for _, link := range [][2]string{{"b/real", "b/link"}, {"real/needle.txt", "b/linked.txt"}, {"..", "b/real/up"}, {"missing", "b/broken"}} {
		target := link[0]
		if !strings.HasPrefix(target, "real") && target != ".." && target != "missing" {
			target = filepath.Join(dir, filepath.FromSlash(target))
		}
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link[1]))); err != nil {
			t.Skip(err) // a system without links
		}
	}
}

func randomQuery(t testing.TB, r *rand.Rand, dir string) *query {
	t.Helper()
	q := &query{folder: dir, local: r.IntN(3) > 0, follow: r.IntN(2) == 0, fold: r.IntN(4) == 0}
	q.parent = q.local && r.IntN(2) == 0
	if n := r.IntN(8); n < 7 {
		g, err := q.newGlob([]string{"**/*.txt", "**/a/**", "*", "{**/*.go,**/*.ts}", "**", "a/**/f*", "src/**"}[n])
		if err != nil {
			t.Fatal(err)
		}
		q.include = g
	}
	q.addExclude(Defaults{}.FilesExclude(dir)...)
	for range r.IntN(3) {
		q.addExclude(Exclude{Pattern: []string{"**/node_modules", "**/*.min.js", "a/b", "/a", "out/", "**/{build,out}", "**/deep/**", "src", "?", "**/F.TXT"}[r.IntN(10)]})
	}
	if r.IntN(3) == 0 {
		q.addExclude(Exclude{Pattern: "**/*.go", When: "$(basename).txt"})
	}
	return q
}

func listed(t testing.TB, q *query) []string {
	t.Helper()
	var out []string
	if err := q.walk(t.Context(), func(rel string) bool { out = append(out, rel); return true }); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// files returns what ripgrep lists.
func (r *ripgrep) files(t testing.TB, q *query) []string {
	t.Helper()
	var out []string
	keep := r.newFilter(q)
	if err := r.run(t.Context(), q.folder, append(r.arguments(q), "--files", "./"), func(line []byte) (bool, error) {
		if rel := lowerSlash(string(line)); keep.has(rel) {
			out = append(out, rel)
		}
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

// seen runs a search of text and returns what a host would get, by file.
func seen(t testing.TB, e engine, q *query, p *pattern, set charset, show *preview) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := e.text(t.Context(), q, p, set, func(rel string, blocks []block) bool {
		var all []lineResult
		for _, b := range blocks {
			all = append(all, b.results(show)...)
		}
		if len(all) == 0 {
			return true
		}
		b, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		if out[rel] != "" {
			t.Errorf("%s was found twice", rel)
		}
		out[rel] = string(b)
		return true
	})
	if err != nil {
		t.Fatalf("%+v: %v", p, err)
	}
	return out
}

var patterns = []info{
	{Pattern: "needle"}, {Pattern: "needle", IsCaseSensitive: true}, {Pattern: "needle", IsWordMatch: true}, {Pattern: "größe"}, {Pattern: "GRÖSSE"},
	{Pattern: "k", IsRegExp: true}, {Pattern: "s"}, {Pattern: "[x]"}, {Pattern: "foo\nbar"}, {Pattern: `foo\nbar`, IsRegExp: true},
	{Pattern: `\bneedle\b`, IsRegExp: true}, {Pattern: `\w+$`, IsRegExp: true, IsCaseSensitive: true}, {Pattern: `^foo.*bar`, IsRegExp: true},
	{Pattern: `needle\s+needle`, IsRegExp: true}, {Pattern: `\u{1F600}`, IsRegExp: true}, {Pattern: `\u00fc`, IsRegExp: true}, {Pattern: `[^a-z\s]+`, IsRegExp: true},
	{Pattern: `a\d_\w`, IsRegExp: true}, {Pattern: `(foo|bar)\W`, IsRegExp: true}, {Pattern: `end$`, IsRegExp: true}, {Pattern: `[[&x]+`, IsRegExp: true},
	{Pattern: `.+`, IsRegExp: true}, {Pattern: "end$", IsRegExp: true, IsMultiline: true}, {Pattern: `\S+`, IsRegExp: true}, {Pattern: `\/|\[`, IsRegExp: true},
}

func TestEnginesAgree(t *testing.T) {
	rg := newRipgrep(t)
	rounds := 4
	for seed := range uint64(rounds) {
		r := rand.New(rand.NewPCG(seed, 18))
		dir := filepath.Join(t.TempDir(), "w")
		scatter(t, r, dir)
		write(t, filepath.Dir(dir), ".gitignore", "*.TXT\nout\n")
		for n := range 12 {
			q := randomQuery(t, r, dir)
			ours, theirs := listed(t, q), rg.files(t, q)
			if !slices.Equal(ours, theirs) {
				t.Fatalf("seed %d, files %d, %+v:\nwalk    %s\nripgrep %s", seed, n, q, missing(ours, theirs), missing(theirs, ours)+ignoreFiles(dir))
			}
		}
		for _, in := range patterns {
			q := randomQuery(t, r, dir)
			p, err := newPattern(in)
			if err != nil {
				t.Fatal(err)
			}
			show := []*preview{nil, {1, 10}, {100, 10000}}[r.IntN(3)]
			ours, theirs := seen(t, walker{}, q, p, charset{}, show), seen(t, rg, q, p, charset{}, show)
			if !reflect.DeepEqual(ours, theirs) {
				for name := range ours {
					if ours[name] != theirs[name] {
						text, _ := os.ReadFile(filepath.Join(dir, name))
						t.Fatalf("seed %d, %+v, %s:\n%q\nwalk    %s\nripgrep %s", seed, in, name, text, ours[name], theirs[name])
					}
				}
				t.Fatalf("seed %d, %+v: %d files, %d with ripgrep", seed, in, len(ours), len(theirs))
			}
		}
	}
}

// missing returns what only the first list has.
func missing(a, b []string) string {
	return fmt.Sprint(slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) }))
}

func TestWrongBytes(t *testing.T) {
	rg := newRipgrep(t)
	dir := t.TempDir()
	write(t, dir, "a.txt", "\xff\x80\xe2\x82 needle \xf0\n")
	p, err := newPattern(info{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	q := &query{folder: dir}
	ours, theirs := seen(t, walker{}, q, p, charset{}, nil), seen(t, rg, q, p, charset{}, nil)
	if !reflect.DeepEqual(ours, theirs) || !strings.Contains(ours["a.txt"], `"startColumn":5`) {
		t.Errorf("%s, %s", ours, theirs)
	}
}

func TestEncodings(t *testing.T) {
	rg := newRipgrep(t)
	dir := t.TempDir()
	write(t, dir, "a.txt", "x \xfc needle\n")
	write(t, dir, "b.txt", "x \xef\xbb\xbf\xc3\xbc\n")
	for _, name := range []string{"windows1252", "iso88591", "shiftjis", "utf8", "utf16le", "eucjp", "gbk", "big5hkscs", "koi8r", "macroman"} {
		set, err := newCharset(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := newPattern(info{Pattern: "ü"})
		if err != nil {
			t.Fatal(err)
		}
		q := &query{folder: dir}
		ours, theirs := seen(t, walker{}, q, p, set, nil), seen(t, rg, q, p, set, nil)
		if !reflect.DeepEqual(ours, theirs) {
			t.Errorf("%s: %s, %s", name, ours, theirs)
		}
		if name == "windows1252" && !strings.Contains(ours["a.txt"], `"startColumn":2`) {
			t.Errorf("%s: %s", name, ours)
		}
	}
	if _, err := newCharset("klingon"); err == nil {
		t.Error("an encoding that does not exist was taken")
	}
}

func TestCancelled(t *testing.T) {
	rg := newRipgrep(t)
	dir := t.TempDir()
	for i := range 2000 {
		write(t, dir, fmt.Sprintf("%d/f.txt", i), "needle\n")
	}
	p, err := newPattern(info{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	text := func(e engine) func(context.Context, func() bool) error {
		return func(ctx context.Context, found func() bool) error {
			return e.text(ctx, &query{folder: dir}, p, charset{}, func(string, []block) bool { return found() })
		}
	}
	for name, search := range map[string]func(context.Context, func() bool) error{
		"files": func(ctx context.Context, found func() bool) error {
			return (&query{folder: dir}).walk(ctx, func(string) bool { return found() })
		},
		"text": text(walker{}), "text, ripgrep": text(rg),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		err := search(ctx, func() bool {
			n++
			cancel()
			return true
		})
		if ctx.Err() == nil || err == nil || n == 0 || n == 2000 {
			t.Errorf("%s: %v after %d files", name, err, n)
		}
		n = 0
		if err := search(t.Context(), func() bool { n++; return n < 10 }); err != nil || n != 10 {
			t.Errorf("%s: %d files, %v", name, n, err)
		}
	}
}

// ignoreFiles returns the ignore files of a tree, for messages.
func ignoreFiles(dir string) (out string) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && (slices.Contains(ignoreNames, d.Name()) || d.Name() == ".git" || d.Name() == "exclude") {
			text, _ := os.ReadFile(path)
			out += fmt.Sprintf("\n%s: %q", path[len(dir):], text)
		}
		return nil
	})
	return out
}

// fenced allows what is not below a folder src, by its real path.
type fenced struct{}

func (fenced) Confines() bool { return true }

func (fenced) Check(path string, _ workbench.Use) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || slices.Contains(strings.Split(filepath.ToSlash(real), "/"), "src") {
		return "", workbench.NoPermissions(path)
	}
	return real, nil
}

func TestConfined(t *testing.T) {
	for seed := range uint64(3) {
		dir := t.TempDir()
		scatter(t, rand.New(rand.NewPCG(seed, 19)), dir)
		q := &query{folder: dir, local: true}
		want := slices.DeleteFunc(listed(t, q), func(rel string) bool {
			return slices.Contains(strings.Split(rel, "/"), "src")
		})
		q.files.guard = fenced{}
		if got := listed(t, q); !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("missing %s, too many %s", missing(want, got), missing(got, want))
		}
		p, err := newPattern(info{Pattern: "needle"})
		if err != nil {
			t.Fatal(err)
		}
		for name := range seen(t, walker{}, q, p, charset{}, nil) {
			if !slices.Contains(want, name) {
				t.Errorf("text of %s was read", name)
			}
		}
	}
}
