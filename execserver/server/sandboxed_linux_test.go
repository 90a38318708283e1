package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
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

const (
	eloop  = "-32603 Symbolic link loop (os error 40)"
	enodir = "-32603 Not a directory (os error 20)"
	enoent = "-32004 No such file or directory (os error 2)"
	eacces = "-32600 Permission denied (os error 13)"
	erofs  = "-32603 Read-only file system (os error 30)"
	eisdir = "-32603 Is a directory (os error 21)"
	ebusy  = "-32603 Resource busy (os error 16)"
)

// tree makes files, folders (a name that ends in /) and links (a name with ->)
// below a folder of the test's own, whose path has no links.
func tree(t testing.TB, names ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err == nil {
		err = os.Chmod(filepath.Dir(root), 0o755) // a confined process of root's is another user
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		link, to, isLink := strings.Cut(name, "->")
		path := filepath.Join(root, link)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		switch {
		case err != nil:
		case isLink:
			err = os.Symlink(to, path)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(path, 0o755)
		default:
			err = os.WriteFile(path, []byte(filepath.Base(name)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// mustConfine skips a test where the machine cannot confine as a sandbox object
// demands it; in CI it must.
func mustConfine(t testing.TB) {
	t.Helper()
	if level := sandbox.Probe().Level; !level.AtLeast(policy.DefaultLevel(os.Geteuid() == 0)) {
		require.Missing(t, "confinement at level %s: this machine has %s", policy.DefaultLevel(os.Geteuid() == 0), level)
	}
}

// confining is a client of a server on a machine that can confine.
func confining(t testing.TB, opt Options) *client {
	t.Helper()
	mustConfine(t)
	c := dial(t, startServer(t, opt).URL())
	c.initialize(wire.InitializeParams{})
	return c
}

// text makes a request from JSON in which /ROOT is root, and returns the answer
// as text: JSON, or "CODE message".
func (c *client) text(root, method, params string) string {
	c.t.Helper()
	g := c.answer(c.ask(method, json.RawMessage(strings.ReplaceAll(params, "/ROOT", root))))
	if g.Kind == wire.KindError {
		return strings.ReplaceAll(fmt.Sprintf("%d %s", g.Err.Code, g.Err.Message), root, "/ROOT")
	}
	return strings.ReplaceAll(string(g.Result), root, "/ROOT")
}

// TestSandboxedFiles is, but for what is remarked on, what the real server
// answers.
func TestSandboxedFiles(t *testing.T) {
	root := tree(t, "w/secret.env", "w/.git/config", "o.txt", "w/out->../o.txt", "w/d/e/", "w/gone->../nothing", "w/dir->../odir", "odir/x", "alias->w")
	if err := os.Symlink(filepath.Join(root, "w/secret.env"), filepath.Join(root, "w/s2")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", "")
	c := confining(t, Options{})
	secret := `{"dataBase64":"c2VjcmV0LmVudg=="}`
	const unknown = "-32600 the sandbox cannot be enforced here: the pattern "
	for _, tt := range []struct{ method, path, more, rules, want string }{
		{"fs/readFile", "/w/secret.env", "", "root read", secret},
		{"fs/readFile", "/w/secret.env", "", "", enoent},
		{"fs/readFile", "/w/secret.env", "", "root read, /w deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, /w none", eacces},
		{"fs/readFile", "/w/secret.env", "", "/w read", secret},
		{"fs/readFile", "/alias/secret.env", "", "/w read", enoent}, // the link is not shown
		{"fs/readFile", "/w/secret.env", "", "/alias read", secret},
		{"fs/readFile", "/o.txt", "", "/w read", enoent},
		{"fs/readFile", "/w/out", "", "/w read", enoent},
		{"fs/readFile", "/w/dir/x", "", "/w read", enoent},
		{"fs/readFile", "/w/dir/nothing", "", "/w read", enoent},
		{"fs/readFile", "/w/%2E%2E%2Fo.txt", "", "/w read", enoent},
		{"fs/readFile", "/w/..%2Fo.txt", `,"followSymlinks":false`, "/w read", enoent},
		{"fs/readFile", "/w/s2", "", "/w read", secret},
		{"fs/readFile", "/w/s2", `,"followSymlinks":false`, "/w read", eloop},
		{"fs/readFile", "/w/nope", "", "/w read", enoent},
		{"fs/readFile", "/w", "", "/w read", "-32600 path `/ROOT/w` is not a file"},
		{"fs/readFile", "/w/secret.env", "", "root read, /w/secret.env deny", eacces},
		{"fs/readFile", "/w/s2", "", "root read, /w/secret.env deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, /alias deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, /w deny, /w/secret.env read", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, /w/secret.env read, /w deny", eacces},
		{"fs/readFile", "/w/secret.env", "", ws + ", /w/s2 deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, /gone deny", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, /gone write", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, **/*.env deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, *.env deny", secret},
		{"fs/readFile", "/w/secret.env", "", "root read, w/*.env deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, alias/*.env deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "root read, **/*.{env} deny", unknown + "**/*.{env} has braces or a backslash, which are not known"}, // the real one knows them
		{"fs/readFile", "/w/secret.env", "", "root read, **/[!a]*.env deny", eacces},
		{"fs/readFile", "/w/secret.env", "", "**/*.env read", unknown + "/ROOT/**/*.env would grant something; patterns can deny"},

		{"fs/writeFile", "/w/n", "", "root read", erofs},
		{"fs/writeFile", "/w/n", "", ws, "{}"},
		{"fs/writeFile", "/w/n", "", "/w write", "{}"},
		{"fs/writeFile", "/o.txt", "", ws, erofs},
		{"fs/writeFile", "/o.txt", "", "/w write", erofs}, // the real one writes a file that nobody sees
		{"fs/writeFile", "/w/out", "", ws, erofs},
		{"fs/writeFile", "/w/gone", "", ws, erofs},
		{"fs/writeFile", "/w/dir/x", "", ws, erofs},
		{"fs/writeFile", "/w/dir/new", "", ws, erofs},
		{"fs/writeFile", "/w/..%2Fo.txt", `,"followSymlinks":false`, ws, erofs},
		{"fs/writeFile", "/alias/n2", "", ws, "{}"},
		{"fs/writeFile", "/w/.git/config", "", ws, erofs},
		{"fs/writeFile", "/w/.git/new", "", ws, erofs},
		{"fs/writeFile", "/w/.codex/x", "", ws, erofs},
		{"fs/createDirectory", "/w/.codex/x", "", ws, erofs},
		{"fs/writeFile", "/w/.codex", "", ws, eisdir},
		{"fs/writeFile", "/w/.git/new", "", ws + ", project_roots/.git write", "{}"},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env deny", eacces},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env read", erofs},
		{"fs/writeFile", "/w/secret.env", "", ws + ", /w/secret.env read, /w/secret.env write", "{}"},
		{"fs/writeFile", "/w/s2", "", ws, "{}"},
		{"fs/writeFile", "/w/s2", `,"followSymlinks":false`, ws, eloop},
		{"fs/writeFile", "/w/x1", `,"followSymlinks":false`, ws, "{}"},
		{"fs/writeFile", "/w/n", "", "root read, tmpdir write", erofs},
		{"fs/writeFile", "/w/n", "", "root read, minimal write", erofs},
		{"fs/writeFile", "/w/n", "", "root read, current_working_directory write", "{}"},
		{"fs/writeFile", "/w/n", "", "root read, project_roots/../ write", "-32600 the sandbox names ../, which leads out of its folder"},

		{"fs/getMetadata", "/w/out", "", "/w read", enoent},
		{"fs/getMetadata", "/o.txt", "", "/w read", enoent},
		{"fs/getMetadata", "/w/secret.env", "", "root read, /w deny", eacces},
		{"fs/getMetadata", "/w/secret.env", `,"followSymlinks":false`, "root read, /w deny", eacces},
		{"fs/canonicalize", "/w/s2", "", "/w read", `{"path":"file:///ROOT/w/secret.env"}`},
		{"fs/canonicalize", "/w/out", "", "/w read", enoent},
		{"fs/canonicalize", "/w/out", "", "root read", `{"path":"file:///ROOT/o.txt"}`},
		{"fs/canonicalize", "/w/secret.env", "", "root read, /w deny", eacces},
		{"fs/readDirectory", "/w/.git", "", ws, `{"entries":[{"fileName":"new","isDirectory":false,"isFile":true},{"fileName":"config","isDirectory":false,"isFile":true}]}`},
		{"fs/readDirectory", "/w", "", "root read, /w deny", eacces},
		{"fs/readDirectory", "/w/out", "", "/w read", enoent},
		{"fs/readDirectory", "/w/secret.env", "", "root read", enodir},

		{"fs/createDirectory", "/w/d/e/f", "", ws, "{}"},
		{"fs/createDirectory", "/d/e", "", ws, erofs},
		{"fs/createDirectory", "/w", "", ws, "{}"},
		{"fs/createDirectory", "/", "", ws, "{}"},
		{"fs/createDirectory", "/w/.git/x", "", ws, erofs},
		{"fs/createDirectory", "/w/dir/y", "", ws, erofs},
		{"fs/createDirectory", "/w", `,"recursive":false`, ws, "-32603 File exists (os error 17)"},

		{"fs/open", "/w/secret.env", `,"handleId":"1"`, "root read, /w deny", eacces},
		{"fs/open", "/w/n4", `,"handleId":"1","mode":"replace"`, "root read", erofs},
		{"fs/open", "/w/out", `,"handleId":"1","mode":"replace"`, ws, erofs},
		{"fs/open", "/w/n4", `,"handleId":"1","mode":"replace"`, ws, `{"handleId":"1"}`},

		{"fs/remove", "/o.txt", "", ws, erofs},
		{"fs/remove", "/w", "", ws, erofs},
		{"fs/remove", "/w/.git", "", ws, ebusy},
		{"fs/remove", "/w/nope", "", ws, "{}"},
		{"fs/remove", "/nope", "", ws, "{}"},
		{"fs/remove", "/w/dir/x", "", ws, erofs},
		{"fs/remove", "/w/d", "", ws + ", /w/d/e deny", ebusy},
		{"fs/remove", "/w/d", "", ws + ", **/*.env deny", "{}"},
		{"fs/createDirectory", "/w/d/e", "", ws, "{}"},
		{"fs/remove", "/w/n4", "", ws + ", **/*.env deny", "{}"},
		{"fs/remove", "/w/d", "", ws, "{}"},
		{"fs/remove", "/w/x1", `,"recursive":false,"followSymlinks":false`, "root read", erofs},
		{"fs/remove", "/w/x1", `,"recursive":false,"followSymlinks":false`, ws, "{}"},
		{"fs/remove", "/w/dir", "", ws, "{}"}, // the link, not what it leads to
	} {
		more := tt.more
		if tt.method == "fs/writeFile" {
			more += `,"dataBase64":"eA=="`
		}
		got := c.text(root, tt.method, `{"path":"file:///ROOT`+tt.path+`","sandbox":`+object(tt.rules)+more+`}`)
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

func TestSandboxedCopiesAndWalks(t *testing.T) {
	root := tree(t, "w/a", "w/.git/config", "w/link->../o", "o", "odir/x", "w/dir->../odir", "hidden/h")
	c := confining(t, Options{})
	cp := func(from, to, rules string) string {
		return c.text(root, "fs/copy", `{"sourcePath":"file:///ROOT`+from+`","destinationPath":"file:///ROOT`+to+`","recursive":true,"sandbox":`+object(rules)+`}`)
	}
	for _, tt := range []struct{ from, to, rules, want string }{
		{"/w/a", "/w/b", "root read", erofs}, {"/w/a", "/w/b", ws, "{}"}, {"/w/a", "/w/c", ws + ", /w/a deny", eacces}, {"/o", "/w/o", ws, "{}"},
		{"/o", "/w/o2", "/w write", enoent}, {"/w/a", "/w/link", ws, erofs}, {"/w/a", "/w/.git/config", ws, erofs}, {"/w/link", "/w/l2", ws, "{}"},
		{"/w/link", "/l2", ws, erofs}, {"/odir", "/w/copied", ws, "{}"},
	} {
		if got := cp(tt.from, tt.to, tt.rules); got != tt.want {
			t.Errorf("%+v: %s", tt, got)
		}
	}
	walk := func(rules string, follow bool) string {
		return c.text(root, "fs/walk", fmt.Sprintf(`{"path":"file:///ROOT","options":{"maxDepth":9,"maxDirectories":99,"maxEntries":99,"followDirectorySymlinks":%v},"sandbox":%s}`, follow, object(rules)))
	}
	if got := walk("root read, /hidden deny", false); !strings.Contains(got, `"errors":[{"path":"file:///ROOT/hidden","message":"Permission denied (os error 13)"}`) || strings.Contains(got, "hidden/h") || !strings.Contains(got, ".git/config") {
		t.Error(got)
	}
	if got := walk("root read, /odir deny", true); strings.Contains(got, "odir/x") || strings.Contains(got, "dir/x") {
		t.Error(got)
	}
	if got := walk("root read", true); !strings.Contains(got, "/x") {
		t.Error(got)
	}
	// Of what is not granted, the folders on the way to it are there, and empty.
	if got := walk("/w read", true); !strings.Contains(got, "/ROOT/w/copied/x") || strings.Contains(got, "odir") || strings.Contains(got, "hidden") || strings.Contains(got, "/ROOT/o\"") {
		t.Error(got)
	}
}

// TestObjectsThatConfineNoFiles: what no object confines needs no process.
func TestObjectsThatConfineNoFiles(t *testing.T) {
	root := tree(t, "a")
	s := startServer(t, Options{})
	c := dial(t, s.URL())
	c.initialize(wire.InitializeParams{})
	for _, p := range []string{`{"type":"disabled"}`, `{"type":"external","network":"restricted"}`, `{"type":"managed","network":"restricted","file_system":{"type":"unrestricted"}}`} {
		if got := c.text(root, "fs/readFile", `{"path":"file:///ROOT/a","sandbox":{"permissions":`+p+`,"windowsSandboxLevel":"disabled"}}`); got != `{"dataBase64":"YQ=="}` {
			t.Errorf("%s: %s", p, got)
		}
	}
}

// TestLinksThatAreSwapped: while somebody swaps a folder for a link to what is
// eacces, nothing behind it is ever read or written.
func TestLinksThatAreSwapped(t *testing.T) {
	root := tree(t, "w/spare/f", "secret/f", "w/d/f")
	for _, dir := range []string{"w/d", "w/spare"} {
		if err := os.WriteFile(filepath.Join(root, dir, "f"), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := confining(t, Options{})
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
			// d: a folder, then a link to what is eacces, then a folder again
			err := errors.Join(os.Rename(d, filepath.Join(root, "w/old")), os.Symlink("../secret", link), os.Rename(link, d), os.Remove(d), os.Rename(filepath.Join(root, "w/old"), d))
			if err != nil {
				t.Error(err, spare)
				return
			}
		}
	})
	halt := sync.OnceFunc(func() { close(stop); swapper.Wait() })
	defer halt() // before the folder is removed
	rules := object(ws + ", /secret deny")
	reads := 0
	for i := range 1000 {
		follow := fmt.Sprintf(`,"followSymlinks":%v`, i%2 == 0)
		got := c.text(root, "fs/readFile", `{"path":"file:///ROOT/w/d/f","sandbox":`+rules+follow+`}`)
		switch got {
		case `{"dataBase64":"bWluZQ=="}`:
			reads++
		case enoent, eacces, enodir, eloop:
		default:
			t.Fatal(got)
		}
		if got := c.text(root, "fs/writeFile", `{"path":"file:///ROOT/w/d/f","dataBase64":"bWluZQ==","sandbox":`+rules+follow+`}`); strings.HasPrefix(got, "{\"") {
			t.Fatal(got)
		}
		if i%50 == 0 {
			_ = c.text(root, "fs/remove", `{"path":"file:///ROOT/w/d/g","sandbox":`+rules+`}`)
			if got := c.text(root, "fs/walk", `{"path":"file:///ROOT/w","options":{"maxDepth":3,"maxDirectories":9,"maxEntries":99,"followDirectorySymlinks":true},"sandbox":`+rules+`}`); strings.Contains(got, "secret") {
				t.Fatal(got)
			}
		}
	}
	halt()
	if text, err := os.ReadFile(filepath.Join(root, "secret/f")); err != nil || string(text) != "f" {
		t.Errorf("%q %v", text, err)
	}
	if reads == 0 {
		t.Error("the file was never there")
	}
}
