package manifest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// tree writes files and returns their folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func pkg(id, version string) string {
	publisher, name, _ := strings.Cut(id, ".")
	return fmt.Sprintf(`{"publisher":%q,"name":%q,"version":%q,"engines":{"vscode":"^1.50.0"},"main":"m"}`, publisher, name, version)
}

func ofAll(r Result) string {
	var out []string
	for _, m := range r.Manifests {
		out = append(out, fmt.Sprintf("%s@%s/%s", m.Value, m.Version, m.Origin))
	}
	return strings.Join(out, " ")
}

func TestScanFolders(t *testing.T) {
	dir := tree(t, map[string]string{
		"b/package.json":          pkg("P.b", "1.0.0"),
		"a/package.json":          `{"publisher":"p","name":"a","version":"1.0.0","engines":{"vscode":"*"},"displayName":"%t%"}`,
		"a/package.nls.json":      `{"t":"A"}`,
		"a/package.nls.pt.json":   `{"t":"A em português"}`,
		"bad/package.json":        `{"name":`,
		"badnls/package.json":     `{"publisher":"p","name":"badnls","version":"1.0.0","engines":{"vscode":"*"},"displayName":"%t%"}`,
		"badnls/package.nls.json": `{`,
		"gone/package.json":       pkg("p.gone", "1.0.0"),
		".hidden/package.json":    pkg("p.hidden", "1.0.0"),
		".obsolete":               `{"p.gone-1.0.0":true,"P.b-0.9.0":true,"p.a-1.0.0":false}`,
		"empty/readme":            "",
		"file":                    "",
		"huge/package.json":       strings.Repeat(" ", 2000) + pkg("p.huge", "1.0.0"),
		"folder/package.json/x":   "",
	})
	links := runtime.GOOS != "windows"
	if links {
		for name, to := range map[string]string{"link": "b", "broken": "nowhere", "self": "self", "tofile": "file"} {
			if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := Scan(t.Context(), []Root{{dir, extensions.User}, {filepath.Join(dir, "nothing"), extensions.User}}, Options{MaxSize: 1500, Language: "pt-BR"})
	if got, want := ofAll(r), "p.a@1.0.0/user P.b@1.0.0/user p.badnls@1.0.0/user"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if text := string(r.Manifests[0].Description); !strings.Contains(text, `"displayName":"A em português"`) {
		t.Errorf("%s", text)
	}
	var text strings.Builder
	count := map[error]int{}
	for _, p := range r.Problems {
		fmt.Fprintln(&text, p)
		for _, cause := range []error{ErrJSON, ErrTooLarge, ErrUnreadable, ErrDuplicate} {
			if errors.Is(p, cause) {
				count[cause]++
			}
		}
	}
	want := map[error]int{ErrJSON: 2, ErrTooLarge: 1, ErrUnreadable: 2, ErrDuplicate: 0} // a folder instead of a file, a missing root
	if links {
		want[ErrUnreadable]++ // self
		want[ErrDuplicate]++  // link
	}
	for cause, n := range want {
		if count[cause] != n {
			t.Errorf("%v: %d, want %d\n%s", cause, count[cause], n, text.String())
		}
	}
}

func TestDuplicates(t *testing.T) {
	builtin := tree(t, map[string]string{"a/package.json": pkg("p.a", "1.0.0"), "b/package.json": pkg("p.b", "2.0.0"), "c/package.json": pkg("p.c", "1.0.0"), "d/package.json": pkg("p.d", "1.0.0")})
	user := tree(t, map[string]string{
		"a/package.json": pkg("P.A", "1.1.0"), "b/package.json": pkg("p.b", "1.0.0"), "c/package.json": pkg("p.c", "1.0.0"),
		"e-9/package.json": pkg("p.e", "9.0.0"), "e-10/package.json": pkg("p.e", "10.0.0"), "e-1/package.json": pkg("p.e", "1.0.0"),
	})
	dev := tree(t, map[string]string{"package.json": pkg("p.d", "0.1.0")})
	r := Scan(t.Context(), []Root{{dev, extensions.Development}, {user, extensions.User}, {builtin, extensions.Builtin}}, Options{})
	if got, want := ofAll(r), "p.b@2.0.0/builtin p.c@1.0.0/builtin P.A@1.1.0/user p.e@10.0.0/user p.d@0.1.0/development"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if len(r.Problems) != 6 {
		t.Errorf("%v", r.Problems)
	}
	for _, p := range r.Problems {
		var d *DuplicateError
		if !errors.As(p, &d) || d.Kept == d.Refused || d.Why == "" {
			t.Errorf("%v", p)
		}
	}
	for _, m := range r.Manifests {
		if replaced := m.ID != "p.e"; strings.Contains(string(m.Description), `"isBuiltin":true`) != replaced {
			t.Errorf("%s", m.Description)
		}
	}
	if _, problems := extensions.NewRegistry(r.Extensions()); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestScanEndsWithItsContext(t *testing.T) {
	dir := many(t, 50, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := Scan(ctx, []Root{{dir, extensions.User}}, Options{})
	if len(r.Problems) != 1 || !errors.Is(r.Problems[0], context.Canceled) {
		t.Error(r.Problems)
	}
}

// many writes n extensions of usual size, each with factor times eight commands.
func many(t testing.TB, n, factor int) string {
	files := map[string]string{}
	for i := range n {
		var commands, deps []string
		for j := range 8 * factor {
			commands = append(commands, fmt.Sprintf(`{"command":"ext%d.cmd%d","title":"%%title%d%%","category":"Test","icon":{"light":"./images/light.svg","dark":"./images/dark.svg"},"enablement":"editorFocus && resourceLangId == go"}`, i, j, j%4))
		}
		for j := range i % 3 {
			deps = append(deps, fmt.Sprintf("%q", fmt.Sprintf("bench.ext%d", i/(j+2))))
		}
		files[fmt.Sprintf("ext%d/package.json", i)] = fmt.Sprintf(`{"publisher":"bench","name":"ext%d","displayName":"%%title0%%","version":"1.%d.0","engines":{"vscode":"^1.70.0"},"main":"./out/extension.js",`+
			`"activationEvents":["onLanguage:lang%d"],"extensionDependencies":[%s],"contributes":{"commands":[%s],"languages":[{"id":"lang%d","configuration":"./lang.json","extensions":[".l%d"]}],"configuration":{"properties":{"a":{"type":"string","default":"x"}}}}}`,
			i, i, i, strings.Join(deps, ","), strings.Join(commands, ","), i, i)
		files[fmt.Sprintf("ext%d/package.nls.json", i)] = `{"title0":"Zero","title1":"One","title2":"Two","title3":"Three"}`
	}
	return tree(t, files)
}

// BenchmarkScan500 scans and resolves 500 manifests with their messages, which may
// take 50 ms.
func BenchmarkScan500(b *testing.B) {
	dir := many(b, 500, 3)
	b.ResetTimer()
	for b.Loop() {
		r := Scan(b.Context(), []Root{{dir, extensions.User}}, Options{Product: "1.100.3"})
		reg, problems := extensions.NewRegistry(r.Extensions())
		if reg.Len() != 500 {
			b.Fatal(reg.Len(), problems, r.Problems)
		}
	}
}

// Keeping keeps known extensions whose files cannot be read any more, and no others.
func TestUnreadableExtensionsAreKept(t *testing.T) {
	files := map[string]string{}
	for _, name := range []string{"a", "half", "gone", "folder", "wrong", "old", "z"} {
		files[name+"/package.json"] = pkg("p."+name, "1.0.0")
	}
	dir := tree(t, files)
	single := tree(t, map[string]string{"package.json": pkg("p.single", "1.0.0")})
	scan := func() Result {
		return Scan(t.Context(), []Root{{dir, extensions.User}, {single, extensions.User}}, Options{Product: "1.60.0"})
	}
	before := scan().Extensions()
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "half", "package.json"), files["half/package.json"][:20])
	write(filepath.Join(single, "package.json"), "")
	write(filepath.Join(dir, "wrong", "package.json"), `{"publisher":"p","name":"wrong","version":7,"engines":{"vscode":"*"}}`)
	write(filepath.Join(dir, "old", "package.json"), strings.ReplaceAll(files["old/package.json"], "^1.50.0", "^1.90.0"))
	for _, err := range []error{
		os.RemoveAll(filepath.Join(dir, "gone")),
		os.Remove(filepath.Join(dir, "folder", "package.json")), os.Mkdir(filepath.Join(dir, "folder", "package.json"), 0o700),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	names := func(list []extensions.Extension) string {
		var out []string
		for _, x := range list {
			out = append(out, x.Value)
		}
		return strings.Join(out, " ")
	}
	r := scan()
	// The registry is ordered by the names of the folders; the last name is a number.
	if got, want := names(r.Keeping(before)), "p.single p.a p.folder p.half p.z"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := names(r.Keeping(nil)); got != "p.a p.z" {
		t.Errorf("%s", got)
	}
	if len(r.Problems) != 5 {
		t.Errorf("%v", r.Problems)
	}
	// Another extension with the same id replaces it.
	double := filepath.Join(dir, "zz")
	if err := os.Mkdir(double, 0o700); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(double, "package.json"), pkg("p.half", "2.0.0"))
	for _, x := range scan().Keeping(before) {
		if x.Value == "p.half" && x.Version != "2.0.0" {
			t.Errorf("%+v", x)
		}
	}
}
