//go:build unix

package guard

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree is a folder with a workspace, what lies beside it, and links.
func tree(t testing.TB) (top string, r *PathRules) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"ws/src/deep", "ws/inner", "beside/private", "ws2"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"ws/a.txt", "ws/src/b.txt", "ws/with space é.txt", "beside/secret", "ws2/c"} {
		if err := os.WriteFile(filepath.Join(top, file), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"ws/in":        "src",
		"ws/up":        "..",
		"ws/out":       filepath.Join(top, "beside"),
		"ws/secret":    "../beside/secret",
		"ws/new":       "../beside/not-yet",
		"ws/later":     "src/not-yet",
		"ws/loop":      "loop",
		"ws/ping":      "pong",
		"ws/pong":      "ping",
		"ws/src/back":  "../../beside/../ws/a.txt",
		"beside/home":  "../ws",
		"beside/chain": "../ws/out",
		"alias":        "ws",
	} {
		if err := os.Symlink(to, filepath.Join(top, link)); err != nil {
			t.Fatal(err)
		}
	}
	r, err = NewPathRules([]string{filepath.Join(top, "alias"), filepath.Join(top, "ws", "inner")})
	if err != nil {
		t.Fatal(err)
	}
	return top, r
}

func TestPathRules(t *testing.T) {
	top, r := tree(t)
	const outside = "!"
	for text, want := range map[string]string{
		"/ws":                        ".",
		"/ws/":                       ".",
		"/ws/a.txt":                  "a.txt",
		"/alias/a.txt":               "a.txt",
		"//ws///src/./b.txt":         "src/b.txt",
		"/ws/src/../a.txt":           "a.txt",
		"/ws/../ws/a.txt":            "a.txt",
		"/ws/in/b.txt":               "src/b.txt",
		"/ws/in/../a.txt":            "a.txt", // in is src, and .. of that is ws
		"/ws/src/back":               "a.txt",
		"/ws/new-file":               "new-file",
		"/ws/new/dir/file":           outside, // new is a link to what does not exist beside
		"/ws/not/yet/there":          "not/yet/there",
		"/ws/later":                  "src/not-yet",
		"/ws/later/deeper":           "src/not-yet/deeper",
		"/ws/..":                     outside,
		"/ws/../beside/secret":       outside,
		"/ws/../beside/../ws/a.txt":  outside, // goes back from outside
		"/beside/nothing/../../ws/a": outside,
		"/ws/out":                    outside,
		"/ws/out/secret":             outside,
		"/ws/out/nothing":            outside,
		"/ws/secret":                 outside,
		"/ws/new":                    outside,
		"/ws/up":                     outside,
		"/ws/up/ws/a.txt":            "a.txt",
		"/ws/up/beside":              outside,
		"/ws/in/../../beside":        outside,
		"/ws2/c":                     outside, // begins alike
		"/wsx":                       outside,
		"/beside/home/a.txt":         "a.txt",
		"/beside/chain/secret":       outside,
		"":                           outside,
	} {
		for _, given := range []string{top + text, "file://" + (&url.URL{Path: top + text}).EscapedPath(), "FILE://localhost" + (&url.URL{Path: top + text}).EscapedPath()} {
			at, err := r.Locate(given)
			switch {
			case want == outside:
				if !errors.Is(err, ErrOutside) || err.Error() != "path is outside of the workspace" {
					t.Errorf("%s: %+v, %v", given, at, err)
				}
			case err != nil || at.Root != top+"/ws" || at.Rel != want || at.Path() != filepath.Join(top, "ws", want):
				t.Errorf("%s: %+v, %v", given, at, err)
			}
			if err2 := r.Check(given); (err2 == nil) != (err == nil) {
				t.Errorf("%s: %v and %v", given, err, err2)
			}
		}
	}
	// The innermost root is named.
	if at, err := r.Locate(top + "/ws/inner/x"); err != nil || at.Root != top+"/ws/inner" || at.Rel != "x" {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := r.Locate("file://" + top + "/ws/with%20space%20%C3%A9.txt"); err != nil || at.Rel != "with space é.txt" {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := r.Locate("file://" + top + "/ws/%2e%2e/beside/secret"); !errors.Is(err, ErrOutside) {
		t.Errorf("%+v, %v", at, err)
	}
	if at, err := r.Locate("file://" + top + "/ws/src%2f..%2f..%2fbeside%2fsecret"); !errors.Is(err, ErrOutside) {
		t.Errorf("%+v, %v", at, err)
	}
}

func TestPathsThatCannotBeFollowed(t *testing.T) {
	top, r := tree(t)
	for text, want := range map[string]string{
		"/ws/loop":         `path cannot be followed: ".": too many links`,
		"/ws/ping/x":       `path cannot be followed: ".": too many links`,
		"/ws/a.txt/x":      `path cannot be followed: "a.txt": not a directory`,
		"/ws/not/../a.txt": `path cannot be followed: "not": it goes back from what does not exist`,
	} {
		if _, err := r.Locate(top + text); !errors.Is(err, ErrPath) || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatIsNoPath(t *testing.T) {
	top, r := tree(t)
	for _, text := range []string{
		"", "a.txt", "./a.txt", "../ws/a.txt", "~/a.txt", "http://localhost" + top + "/ws", "untitled:Untitled-1", "vscode-remote://x" + top + "/ws",
		"file:" + strings.TrimPrefix(top, "/") + "/ws", "file://elsewhere" + top + "/ws/a.txt", "file://" + top + "/ws/a.txt?x", "file://" + top + "/ws/a.txt#1",
		"file://user@localhost" + top + "/ws", "file://" + top + "/ws/%zz", "file://" + top + "/ws/a%00.txt", top + "/ws/a\x00b", "file://",
	} {
		at, err := r.Locate(text)
		if !errors.Is(err, ErrNotPath) {
			t.Errorf("%q: %+v, %v", text, at, err)
		}
		if err != nil && strings.Contains(err.Error(), top) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestRoots(t *testing.T) {
	top, r := tree(t)
	if got := r.Roots(); len(got) != 2 || got[0] != top+"/ws" {
		t.Errorf("%v", got)
	}
	for _, bad := range []string{top + "/nothing", top + "/ws/a.txt", top + "/ws/loop"} {
		if _, err := NewPathRules([]string{bad}); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
	none, err := NewPathRules(nil)
	if err != nil || !errors.Is(none.Check(top+"/ws"), ErrOutside) || !errors.Is(none.Check("/"), ErrOutside) {
		t.Errorf("%v", err)
	}
	whole, err := NewPathRules([]string{"/"})
	if err != nil {
		t.Fatal(err)
	}
	if at, err := whole.Locate(top + "/ws/out/../x"); err != nil || at.Root != "/" || at.Path() != top+"/x" {
		t.Errorf("%+v, %v", at, err)
	}
	// What Locate returns can be opened without a way out, whatever was put
	// there meanwhile.
	at, err := r.Locate(top + "/ws/src/b.txt")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(top+"/ws/src", top+"/ws/old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../beside", top+"/ws/src"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(top+"/beside/b.txt", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(at.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if f, err := root.Open(at.Rel); err == nil {
		f.Close()
		t.Error("led out")
	}
}

// No text leads to an answer that the kernel would not give: what is let
// through lies, links followed, within a root.
func FuzzPathRules(f *testing.F) {
	top, r := tree(f)
	for _, text := range []string{"/ws/a.txt", "/ws/in/../up/ws/src/back", "/ws/out/../ws", "/ws/new/x", "/beside/home/../secret", "/ws/not/../x", "/ws//./later"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		at, err := r.Locate(top + text)
		if err != nil {
			if strings.Contains(err.Error(), "beside") && !strings.Contains(text, "beside") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		real, err := filepath.EvalSymlinks(top + text)
		if err != nil {
			return // it does not exist yet, or not to us
		}
		if real != at.Path() || real != top+"/ws" && !strings.HasPrefix(real, top+"/ws/") {
			t.Errorf("%q: %s, said to be %s", text, real, at.Path())
		}
	})
}
