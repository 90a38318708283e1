package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// object is a sandbox object with entries like "/w write", "root read",
// "*.env deny"; roots is the project root.
func object(entries string) string {
	var list []string
	for _, e := range strings.Split(entries, ",") {
		if e = strings.TrimSpace(e); e == "" {
			continue
		}
		name, access, _ := strings.Cut(e, " ")
		var path string
		switch {
		case strings.HasPrefix(name, "/"):
			path = fmt.Sprintf(`{"type":"path","path":"file:///ROOT%s"}`, name)
		case strings.Contains(name, "*"):
			path = fmt.Sprintf(`{"type":"glob_pattern","pattern":%q}`, name)
		default:
			kind, sub, has := strings.Cut(name, "/")
			path = fmt.Sprintf(`{"type":"special","value":{"kind":%q}}`, kind)
			if has {
				path = fmt.Sprintf(`{"type":"special","value":{"kind":%q,"subpath":%q}}`, kind, sub)
			}
		}
		list = append(list, fmt.Sprintf(`{"path":%s,"access":%q}`, path, access))
	}
	return `{"permissions":{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[` + strings.Join(list, ",") +
		`]}},"windowsSandboxLevel":"disabled","cwd":"file:///ROOT","workspaceRoots":["file:///ROOT/w"]}`
}

const ws = "root read, project_roots write"

// TestSandbox is, but for what is remarked on, what the real server answers
// with a confined helper.
func TestSandbox(t *testing.T) {
	root := tree(t, real(t), "w/secret.env", "w/.git/config", "o.txt", "w/out->../o.txt", "w/d/e/", "w/gone->../nothing", "w/dir->../odir", "odir/x", "alias->w")
	if err := os.Symlink(filepath.Join(root, "w/secret.env"), filepath.Join(root, "w/s2")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", "")
	f := New(Limits{})
	defer f.Close()
	secret := `{"dataBase64":"c2VjcmV0LmVudg=="}`
	refused := "-32600 sandboxed file access is not available on this server"
	for _, tt := range []struct{ method, path, more, rules, want string }{
		{"fs/readFile", "/w/secret.env", "", "root read", secret},
		{"fs/readFile", "/w/secret.env", "", "", missing},
		{"fs/readFile", "/w/secret.env", "", "root read, /w deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, /w none", denied},
		{"fs/readFile", "/w/secret.env", "", "/w read", secret},
		{"fs/readFile", "/alias/secret.env", "", "/w read", secret}, // the real one does not show the link
		{"fs/readFile", "/w/secret.env", "", "/alias read", secret},
		{"fs/readFile", "/o.txt", "", "/w read", missing},
		{"fs/readFile", "/w/out", "", "/w read", missing},
		{"fs/readFile", "/w/dir/x", "", "/w read", missing},
		{"fs/readFile", "/w/dir/nothing", "", "/w read", missing},
		{"fs/readFile", "/w/%2E%2E%2Fo.txt", "", "/w read", missing},
		{"fs/readFile", "/w/..%2Fo.txt", `,"followSymlinks":false`, "/w read", missing},
		{"fs/readFile", "/w/s2", "", "/w read", secret},
		{"fs/readFile", "/w/s2", `,"followSymlinks":false`, "/w read", loop},
		{"fs/readFile", "/w/nope", "", "/w read", missing},
		{"fs/readFile", "/w", "", "/w read", "-32600 path `/ROOT/w` is not a file"},
		{"fs/readFile", "/w/secret.env", "", "root read, /w/secret.env deny", denied},
		{"fs/readFile", "/w/s2", "", "root read, /w/secret.env deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, /alias deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, /w deny, /w/secret.env read", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, /w/secret.env read, /w deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, /gone deny", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, /gone write", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, **/*.env deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, *.env deny", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, w/*.env deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, alias/*.env deny", denied},
		{"fs/readFile", "/w/secret.env", "", "root read, **/*.{env} deny", refused},
		{"fs/readFile", "/w/secret.env", "", "**/*.env read", refused},

		{"fs/writeFile", "/w/n", "", "root read", rofs},
		{"fs/writeFile", "/w/n", "", ws, "{}"},
		{"fs/writeFile", "/w/n", "", "/w write", "{}"},
		{"fs/writeFile", "/o.txt", "", ws, rofs},
		{"fs/writeFile", "/o.txt", "", "/w write", missing},
		{"fs/writeFile", "/w/out", "", ws, rofs},
		{"fs/writeFile", "/w/gone", "", ws, rofs},
		{"fs/writeFile", "/w/dir/x", "", ws, rofs},
		{"fs/writeFile", "/w/dir/new", "", ws, rofs},
		{"fs/writeFile", "/w/..%2Fo.txt", `,"followSymlinks":false`, ws, rofs},
		{"fs/writeFile", "/alias/n2", "", ws, "{}"},
		{"fs/writeFile", "/w/.git/config", "", ws, rofs},
		{"fs/writeFile", "/w/.git/new", "", ws, rofs},
		{"fs/writeFile", "/w/.codex/x", "", ws, missing}, // the real one makes the folder
		{"fs/createDirectory", "/w/.codex/x", "", ws, rofs},
		{"fs/writeFile", "/w/.codex", "", ws, rofs},
		{"fs/writeFile", "/w/.git/new", "", ws + ", project_roots/.git write", "{}"},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env deny", rofs},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env read", rofs},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env read, /w/secret.env write", rofs},
		{"fs/writeFile", "/w/s2", "", ws, "{}"},
		{"fs/writeFile", "/w/s2", `,"followSymlinks":false`, ws, loop},
		{"fs/writeFile", "/w/x1", `,"followSymlinks":false`, ws, "{}"},
		{"fs/writeFile", "/w/n", "", "root read, tmpdir write", rofs},
		{"fs/writeFile", "/w/n", "", "root read, minimal write", rofs},
		{"fs/writeFile", "/w/n", "", "root read, current_working_directory write", "{}"},
		{"fs/writeFile", "/w/n", "", "root read, project_roots/../ write", "-32600 subpath `../` leads out of its folder"},

		{"fs/getMetadata", "/w/out", "", "/w read", missing},
		{"fs/getMetadata", "/o.txt", "", "/w read", missing},
		{"fs/getMetadata", "/w/secret.env", "", "root read, /w deny", denied},
		{"fs/getMetadata", "/w/secret.env", `,"followSymlinks":false`, "root read, /w deny", denied},
		{"fs/canonicalize", "/w/s2", "", "/w read", `{"path":"file:///ROOT/w/secret.env"}`},
		{"fs/canonicalize", "/w/out", "", "/w read", missing},
		{"fs/canonicalize", "/w/out", "", "root read", `{"path":"file:///ROOT/o.txt"}`},
		{"fs/canonicalize", "/w/secret.env", "", "root read, /w deny", denied},
		{"fs/readDirectory", "/w/.git", "", ws, `{"entries":[{"fileName":"new","isDirectory":false,"isFile":true},{"fileName":"config","isDirectory":false,"isFile":true}]}`},
		{"fs/readDirectory", "/w", "", "root read, /w deny", denied},
		{"fs/readDirectory", "/w/out", "", "/w read", missing},
		{"fs/readDirectory", "/w/secret.env", "", "root read", notDir},

		{"fs/createDirectory", "/w/d/e/f", "", ws, "{}"},
		{"fs/createDirectory", "/d/e", "", ws, rofs},
		{"fs/createDirectory", "/w", "", ws, "{}"},
		{"fs/createDirectory", "/", "", ws, "{}"},
		{"fs/createDirectory", "/w/.git/x", "", ws, rofs},
		{"fs/createDirectory", "/w/dir/y", "", ws, rofs},
		{"fs/createDirectory", "/w", `,"recursive":false`, ws, "-32603 File exists (os error 17)"},

		{"fs/open", "/w/secret.env", `,"handleId":"1"`, "root read, /w deny", denied},
		{"fs/open", "/w/n4", `,"handleId":"1","mode":"replace"`, "root read", rofs},
		{"fs/open", "/w/out", `,"handleId":"1","mode":"replace"`, ws, rofs},
		{"fs/open", "/w/n4", `,"handleId":"1","mode":"replace"`, ws, `{"handleId":"1"}`},

		{"fs/remove", "/o.txt", "", ws, rofs},
		{"fs/remove", "/w", "", ws, rofs},
		{"fs/remove", "/w/.git", "", ws, rofs},
		{"fs/remove", "/w/nope", "", ws, "{}"},
		{"fs/remove", "/nope", "", ws, "{}"},
		{"fs/remove", "/w/dir/x", "", ws, rofs},
		{"fs/remove", "/w/d", "", ws + ", /w/d/e deny", rofs},
		{"fs/remove", "/w/d", "", ws + ", **/*.env deny", refused}, // the real one looks at every file
		{"fs/remove", "/w/n4", "", ws + ", **/*.env deny", "{}"},
		{"fs/remove", "/w/d", "", ws, "{}"},
		{"fs/remove", "/w/x1", `,"recursive":false,"followSymlinks":false`, "root read", rofs},
		{"fs/remove", "/w/x1", `,"recursive":false,"followSymlinks":false`, ws, "{}"},
		{"fs/remove", "/w/dir", "", ws, "{}"}, // the link, not what it leads to
	} {
		more := tt.more
		if tt.method == "fs/writeFile" {
			more += `,"dataBase64":"eA=="`
		}
		got := ask(t, f, root, tt.method, `{"path":"file:///ROOT`+tt.path+`","sandbox":`+object(tt.rules)+more+`}`)
		if tt.method == "fs/readDirectory" && strings.HasPrefix(got, "{") {
			got = strings.Replace(got, `{"fileName":"config","isDirectory":false,"isFile":true},{"fileName":"new","isDirectory":false,"isFile":true}`,
				`{"fileName":"new","isDirectory":false,"isFile":true},{"fileName":"config","isDirectory":false,"isFile":true}`, 1)
		}
		if got != tt.want {
			t.Errorf("%s %s%s [%s]\n got %s\nwant %s", tt.method, tt.path, tt.more, tt.rules, got, tt.want)
		}
		if tt.method == "fs/writeFile" && tt.path == "/w/s2" && tt.more == "" { // it has replaced the secret
			if err := os.WriteFile(filepath.Join(root, "w/secret.env"), []byte("secret.env"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"o.txt", "odir/x"} {
		if text, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(text) != filepath.Base(name) {
			t.Errorf("%s outside: %q %v", name, text, err)
		}
	}
}

func TestSandboxCopiesAndWalks(t *testing.T) {
	root := tree(t, real(t), "w/a", "w/.git/config", "w/link->../o", "o", "odir/x", "w/dir->../odir", "hidden/h")
	f := New(Limits{})
	defer f.Close()
	cp := func(from, to, rules string) string {
		return ask(t, f, root, "fs/copy", `{"sourcePath":"file:///ROOT`+from+`","destinationPath":"file:///ROOT`+to+`","recursive":true,"sandbox":`+object(rules)+`}`)
	}
	for _, tt := range []struct{ from, to, rules, want string }{
		{"/w/a", "/w/b", "root read", rofs}, {"/w/a", "/w/b", ws, "{}"}, {"/w/a", "/w/c", ws + ", /w/a deny", denied}, {"/o", "/w/o", ws, "{}"},
		{"/o", "/w/o2", "/w write", missing}, {"/w/a", "/w/link", ws, rofs}, {"/w/a", "/w/.git/config", ws, rofs}, {"/w/link", "/w/l2", ws, "{}"},
		{"/w/link", "/l2", ws, rofs}, {"/odir", "/w/odir", ws, "-32600 fs/copy of a directory in a sandbox is not available on this server"},
	} {
		if got := cp(tt.from, tt.to, tt.rules); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	walk := func(rules string, follow bool) string {
		return ask(t, f, root, "fs/walk", fmt.Sprintf(`{"path":"file:///ROOT","options":{"maxDepth":9,"maxDirectories":99,"maxEntries":99,"followDirectorySymlinks":%v},"sandbox":%s}`, follow, object(rules)))
	}
	if got := walk("root read, /hidden deny", false); !strings.Contains(got, `"errors":[{"path":"file:///ROOT/hidden","message":"Permission denied (os error 13)"}]`) || strings.Contains(got, "hidden/h") || !strings.Contains(got, ".git/config") {
		t.Error(got)
	}
	if got := walk("root read, /odir deny", true); strings.Contains(got, "odir/x") || strings.Contains(got, "dir/x") {
		t.Error(got)
	}
	if got := walk("root read", true); !strings.Contains(got, "/x") {
		t.Error(got)
	}
	if got := walk("/w read", true); got != missing {
		t.Error(got)
	}
}

func TestObjectsThatConfineNothing(t *testing.T) {
	root := tree(t, real(t), "a")
	refuse := New(Limits{Enforce: Refuse})
	defer refuse.Close()
	read := func(permissions string) string {
		return ask(t, refuse, root, "fs/readFile", `{"path":"file:///ROOT/a","sandbox":{"permissions":`+permissions+`,"windowsSandboxLevel":"disabled"}}`)
	}
	for _, p := range []string{`{"type":"disabled"}`, `{"type":"external","network":"restricted"}`, `{"type":"managed","network":"restricted","file_system":{"type":"unrestricted"}}`} {
		if got := read(p); got != `{"dataBase64":"YQ=="}` {
			t.Errorf("%s: %s", p, got)
		}
	}
	if got := read(`{"type":"managed","network":"restricted","file_system":{"type":"restricted","entries":[]}}`); got != "-32600 sandboxed file access is not available on this server" {
		t.Error(got)
	}
}

// TestLinksThatAreSwapped: while somebody swaps a folder for a link to what is
// denied, nothing behind it is ever read or written.
func TestLinksThatAreSwapped(t *testing.T) {
	root := tree(t, real(t), "w/spare/f", "secret/f", "w/d/f")
	for _, dir := range []string{"w/d", "w/spare"} {
		if err := os.WriteFile(filepath.Join(root, dir, "f"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := New(Limits{})
	defer f.Close()
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() {
		d, spare, link := filepath.Join(root, "w/d"), filepath.Join(root, "w/spare"), filepath.Join(root, "w/link")
		for {
			select {
			case <-stop:
				return
			default:
			}
			// d: a folder, then a link to what is denied, then a folder again
			err := errors.Join(os.Rename(d, filepath.Join(root, "w/old")), os.Symlink("../secret", link), os.Rename(link, d), os.Remove(d), os.Rename(filepath.Join(root, "w/old"), d))
			if err != nil {
				t.Error(err, spare)
				return
			}
		}
	})
	rules := object(ws + ", /secret deny")
	reads := 0
	for i := range 1000 {
		follow := fmt.Sprintf(`,"followSymlinks":%v`, i%2 == 0)
		got := ask(t, f, root, "fs/readFile", `{"path":"file:///ROOT/w/d/f","sandbox":`+rules+follow+`}`)
		switch got {
		case `{"dataBase64":"bWluZQ=="}`:
			reads++
		case missing, denied, notDir, loop:
		default:
			t.Fatal(got)
		}
		if got := ask(t, f, root, "fs/writeFile", `{"path":"file:///ROOT/w/d/f","dataBase64":"bWluZQ==","sandbox":`+rules+follow+`}`); strings.HasPrefix(got, "{\"") {
			t.Fatal(got)
		}
		if i%50 == 0 {
			_ = ask(t, f, root, "fs/remove", `{"path":"file:///ROOT/w/d/g","sandbox":`+rules+`}`)
			if got := ask(t, f, root, "fs/walk", `{"path":"file:///ROOT/w","options":{"maxDepth":3,"maxDirectories":9,"maxEntries":99,"followDirectorySymlinks":true},"sandbox":`+rules+`}`); strings.Contains(got, "secret") {
				t.Fatal(got)
			}
		}
	}
	close(stop)
	swapper.Wait()
	if text, err := os.ReadFile(filepath.Join(root, "secret/f")); err != nil || string(text) != "f" {
		t.Errorf("%q %v", text, err)
	}
	if reads == 0 {
		t.Error("the file was never there")
	}
}
