//go:build unix

package files

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// tree makes files, folders (a name that ends in /) and links (a name with ->).
func tree(t testing.TB, root string, names ...string) string {
	t.Helper()
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
		case strings.HasSuffix(name, "|"):
			err = syscall.Mkfifo(strings.TrimSuffix(path, "|"), 0o644)
		default:
			err = os.WriteFile(path, []byte(filepath.Base(name)), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// real is a folder of the test's own without links in its path.
func real(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// ask makes a request from JSON in which /ROOT is root, and returns the answer
// as text: JSON, or "CODE message".
func ask(t testing.TB, f *Files, root, method, params string) string {
	t.Helper()
	got, bad := call(t, f, method, []byte(strings.ReplaceAll(params, "/ROOT", root)))
	if bad != nil {
		return strings.ReplaceAll(fmt.Sprintf("%d %s", bad.Code, bad.Message), root, "/ROOT")
	}
	out, err := wire.AppendResult(nil, wire.IntID(1), got)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal(out, &answer); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(answer.Result), root, "/ROOT")
}

const (
	loop    = "-32603 Symbolic link loop (os error 40)"
	notDir  = "-32603 Not a directory (os error 20)"
	missing = "-32004 No such file or directory (os error 2)"
	denied  = "-32600 Permission denied (os error 13)"
	rofs    = "-32603 Read-only file system (os error 30)"
)

// TestAnswersOfTheRealServer: what it said when it was asked the same.
func TestAnswersOfTheRealServer(t *testing.T) {
	root := tree(t, real(t), "a.txt", "link->a.txt", "dirlink->sub", "dangling->none", "loop->loop", "sub/b.txt", "sub/deep/", "fifo|", "fifolink->fifo", "t/x/f", "tl->t")
	f := New(Limits{})
	defer f.Close()
	mounted := "-32603 Resource busy (os error 16)"
	if os.Getuid() != 0 { // rights are looked at first
		mounted = "-32600 Permission denied (os error 13)"
	}
	for _, tt := range []struct{ method, params, want string }{
		{"fs/readFile", `{"path":"file:///ROOT/link","followSymlinks":false}`, loop},
		{"fs/readFile", `{"path":"file:///ROOT/dirlink/b.txt","followSymlinks":false}`, notDir},
		{"fs/readFile", `{"path":"file:///ROOT/sub/b.txt","followSymlinks":false}`, `{"dataBase64":"Yi50eHQ="}`},
		{"fs/readFile", `{"path":"file:///ROOT/loop"}`, loop},
		{"fs/readFile", `{"path":"file:///ROOT/dangling","followSymlinks":false}`, loop},
		{"fs/readFile", `{"path":"file:///ROOT/fifo"}`, "-32600 path `/ROOT/fifo` is not a file"},
		{"fs/readFile", `{"path":"file:///ROOT/fifo","followSymlinks":false}`, "-32600 path is not a regular file"},
		{"fs/readFile", `{"path":"file:///ROOT/fifolink"}`, "-32600 path `/ROOT/fifolink` is not a file"},
		{"fs/readFile", `{"path":"file:///ROOT/sub","followSymlinks":false}`, "-32600 path is not a regular file"},
		{"fs/readFile", `{"path":"file:///dev/zero"}`, "-32600 path `/dev/zero` is not a file"},
		{"fs/readFile", `{"path":"file:///"}`, "-32600 path `/` is not a file"},
		{"fs/readFile", `{"path":"file:///` + strings.Repeat("a", 300) + `"}`, "-32603 Filename too long (os error 36)"},
		{"fs/readFile", `{"path":"file:///` + strings.Repeat("a/", 3000) + `"}`, "-32603 Filename too long (os error 36)"},
		{"fs/getMetadata", `{"path":"file:///ROOT/link","followSymlinks":false}`, "-32600 path contains a symbolic link"},
		{"fs/getMetadata", `{"path":"file:///ROOT/dangling","followSymlinks":false}`, "-32600 path contains a symbolic link"},
		{"fs/getMetadata", `{"path":"file:///ROOT/dirlink/b.txt","followSymlinks":false}`, notDir},
		{"fs/getMetadata", `{"path":"file:///ROOT/loop"}`, loop},
		{"fs/canonicalize", `{"path":"file:///ROOT/loop"}`, loop},
		{"fs/canonicalize", `{"path":"file:///ROOT/a.txt/x"}`, notDir},
		{"fs/canonicalize", `{"path":"file:///"}`, `{"path":"file:///"}`},
		{"fs/writeFile", `{"path":"file:///ROOT/link","dataBase64":"eA==","followSymlinks":false}`, loop},
		{"fs/writeFile", `{"path":"file:///ROOT/dirlink/z","dataBase64":"eA==","followSymlinks":false}`, notDir},
		{"fs/writeFile", `{"path":"file:///ROOT/sub","dataBase64":"eA==","followSymlinks":false}`, "-32603 Is a directory (os error 21)"},
		{"fs/writeFile", `{"path":"file:///ROOT/fifo","dataBase64":"eA=="}`, "-32603 No such device or address (os error 6)"},
		{"fs/writeFile", `{"path":"file:///ROOT/fifo","dataBase64":"eA==","followSymlinks":false}`, "-32603 No such device or address (os error 6)"},
		{"fs/writeFile", `{"path":"file:///ROOT/new2","dataBase64":"eA==","followSymlinks":false}`, "{}"},
		{"fs/writeFile", `{"path":"file:///ROOT/a.txt/x","dataBase64":"eA=="}`, notDir},
		{"fs/writeFile", `{"path":"file:///dev/null","dataBase64":"eA=="}`, "{}"},
		{"fs/writeFile", `{"path":"file:///dev/full","dataBase64":"eA=="}`, "-32603 No space left on device (os error 28)"},
		{"fs/createDirectory", `{"path":"file:///ROOT/link"}`, "-32603 File exists (os error 17)"},
		{"fs/createDirectory", `{"path":"file:///ROOT/dirlink"}`, "{}"},
		{"fs/createDirectory", `{"path":"file:///ROOT/dangling"}`, "-32603 File exists (os error 17)"},
		{"fs/createDirectory", `{"path":"file:///ROOT/dangling/x"}`, "-32603 File exists (os error 17)"},
		{"fs/createDirectory", `{"path":"file:///ROOT/loop/x"}`, loop},
		{"fs/createDirectory", `{"path":"file:///ROOT/dirlink/n1/n2"}`, "{}"},
		{"fs/createDirectory", `{"path":"file:///ROOT/sub/b.txt/c/d"}`, notDir},
		{"fs/createDirectory", `{"path":"file:///"}`, "{}"},
		{"fs/createDirectory", `{"path":"file:///","recursive":false}`, "-32603 File exists (os error 17)"},
		{"fs/remove", `{"path":"file:///ROOT/sub","recursive":false}`, "-32603 Directory not empty (os error 39)"},
		{"fs/remove", `{"path":"file:///ROOT/dirlink/b.txt","followSymlinks":false}`, "-32603 recursive no-follow removal is unsupported"},
		{"fs/remove", `{"path":"file:///ROOT/dirlink","recursive":false,"followSymlinks":false}`, "-32600 path contains a symbolic link"},
		{"fs/remove", `{"path":"file:///ROOT/new2","recursive":false,"followSymlinks":false}`, "{}"},
		{"fs/remove", `{"path":"file:///ROOT/a.txt/x"}`, notDir},
		{"fs/remove", `{"path":"file:///ROOT/nope/x"}`, "{}"},
		{"fs/remove", `{"path":"file:///ROOT/loop","force":false}`, "{}"},
		{"fs/remove", `{"path":"file:///proc","recursive":false}`, mounted},
		{"fs/remove", `{"path":"file:///","recursive":false}`, "-32603 Resource busy (os error 16)"},
		{"fs/remove", `{"path":"file:///"}`, "-32603 Resource busy (os error 16)"},
		{"fs/walk", `{"path":"file:///ROOT","options":{"maxDepth":65,"maxDirectories":1,"maxEntries":1,"followDirectorySymlinks":false}}`,
			"-32600 filesystem walk limits exceed maximums: depth=64, directories=10000, entries=50000"},
		{"fs/walk", `{"path":"file:///ROOT","options":{"maxDepth":65,"maxDirectories":0,"maxEntries":1,"followDirectorySymlinks":false}}`,
			"-32600 filesystem walk limits must be greater than zero"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/a.txt","destinationPath":"file:///ROOT/sub","recursive":false}`, "-32603 Is a directory (os error 21)"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/a.txt","destinationPath":"file:///ROOT/no/x","recursive":false}`, missing},
		{"fs/copy", `{"sourcePath":"file:///ROOT/a.txt","destinationPath":"file:///ROOT/fifo","recursive":false}`, "-32603 No such device or address (os error 6)"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/link","destinationPath":"file:///ROOT/a.txt","recursive":false}`, "-32603 File exists (os error 17)"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/t","destinationPath":"file:///ROOT/a.txt","recursive":true}`, "-32603 File exists (os error 17)"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/t","destinationPath":"file:///ROOT/t/n/m","recursive":true}`,
			"-32600 fs/copy cannot copy a directory to itself or one of its descendants"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/t","destinationPath":"file:///ROOT/tl/in","recursive":true}`,
			"-32600 fs/copy cannot copy a directory to itself or one of its descendants"},
		{"fs/copy", `{"sourcePath":"file:///ROOT/t","destinationPath":"file:///ROOT/no/x/y","recursive":true}`, "{}"},
		{"fs/copy", `{"sourcePath":"file:///dev/null","destinationPath":"file:///ROOT/dn","recursive":false}`,
			"-32600 fs/copy only supports regular files, directories, and symlinks"},
		{"fs/open", `{"handleId":"h","path":"file:///ROOT/fifo","mode":"replace"}`, "-32603 No such device or address (os error 6)"},
		{"fs/open", `{"handleId":"h","path":"file:///ROOT/sub","mode":"replace"}`, "-32603 Is a directory (os error 21)"},
		{"fs/open", `{"handleId":"h","path":"file:///dev/null","mode":"replace"}`, "-32600 path `/dev/null` is not a file"},
		{"fs/open", `{"handleId":"` + strings.Repeat("h", 33) + `","path":"file:///ROOT/a.txt"}`, "-32600 file handle ID must not exceed 32 bytes"},
		{"fs/open", `{"handleId":"w","path":"file:///ROOT/wb","mode":"replace"}`, `{"handleId":"w"}`},
		{"fs/writeBlock", `{"handleId":"w","offset":10,"chunk":"YWJj"}`, "{}"},
		{"fs/writeBlock", `{"handleId":"w","offset":0,"chunk":""}`, "-32600 file write block length must be between 1 and 1048576"},
		{"fs/writeBlock", `{"handleId":"w","offset":9223372036854775808,"chunk":"YWJj"}`, "-32600 file write range exceeds the signed 64-bit file offset limit"},
		{"fs/readBlock", `{"handleId":"w","offset":0,"len":10}`, "-32603 Bad file descriptor (os error 9)"},
		{"fs/writeBlock", `{"handleId":"w","offset":10,"chunk":"YWJj"}`, "-32004 unknown file handle `w`"},
		{"fs/open", `{"handleId":"r","path":"file:///ROOT/wb"}`, `{"handleId":"r"}`},
		{"fs/readBlock", `{"handleId":"r","offset":8,"len":4}`, `{"chunk":"AABhYg==","eof":false}`},
		{"fs/readBlock", `{"handleId":"r","offset":8,"len":5}`, `{"chunk":"AABhYmM=","eof":false}`},
		{"fs/readBlock", `{"handleId":"r","offset":8,"len":6}`, `{"chunk":"AABhYmM=","eof":true}`},
		{"fs/readBlock", `{"handleId":"r","offset":9223372036854775808,"len":1}`, "-32600 Invalid argument (os error 22)"},
		{"fs/readBlock", `{"handleId":"r","offset":0,"len":1}`, "-32004 unknown file handle `r`"},
		{"fs/open", `{"handleId":"v","path":"file:///proc/version"}`, `{"handleId":"v"}`},
		{"fs/close", `{"handleId":"v"}`, "{}"},
	} {
		if got := ask(t, f, root, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %.200s\n got %.300s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
	if got := ask(t, f, root, "fs/readFile", `{"path":"file:///proc/version"}`); len(got) < 50 {
		t.Errorf("a file without a size is empty: %s", got)
	}
	if text, err := os.ReadFile(filepath.Join(root, "a.txt")); string(text) != "a.txt" {
		t.Errorf("%q %v", text, err)
	}
}

func TestNamesThatAreNoText(t *testing.T) {
	root := tree(t, real(t), "nu\xff.txt", "dir\xfe/in.txt")
	f := New(Limits{})
	defer f.Close()
	options := `"options":{"maxDepth":9,"maxDirectories":9,"maxEntries":99,"followDirectorySymlinks":false}}`
	for _, tt := range []struct{ method, params, want string }{
		{"fs/readFile", `{"path":"file:///ROOT/nu%FF.txt"}`, `{"dataBase64":"` + base64.StdEncoding.EncodeToString([]byte("nu\xff.txt")) + `"}`},
		{"fs/canonicalize", `{"path":"file:///ROOT/nu%FF.txt"}`, `{"path":"file:///ROOT/nu%FF.txt"}`},
		{"fs/readDirectory", `{"path":"file:///ROOT/dir%FE"}`, `{"entries":[{"fileName":"in.txt","isDirectory":false,"isFile":true}]}`},
		{"fs/walk", `{"path":"file:///ROOT",` + options,
			`{"entries":[{"path":"file:///ROOT/dir%FE","kind":"directory"},{"path":"file:///ROOT/nu%FF.txt","kind":"file"},{"path":"file:///ROOT/dir%FE/in.txt","kind":"file"}],"errors":[],"truncated":false}`},
		{"fs/copy", `{"sourcePath":"file:///ROOT/dir%FE","destinationPath":"file:///ROOT/c%F0","recursive":true}`, "{}"},
		{"fs/remove", `{"path":"file:///ROOT/c%F0","force":false}`, "{}"},
		{"fs/remove", `{"path":"file:///ROOT/nu%FF.txt","force":false}`, "{}"},
		{"fs/readDirectory", `{"path":"file:///ROOT"}`, "{\"entries\":[{\"fileName\":\"dir\uFFFD\",\"isDirectory\":true,\"isFile\":false}]}"},
	} {
		if got := ask(t, f, root, tt.method, tt.params); got != tt.want {
			t.Errorf("%s %s\n got %s\nwant %s", tt.method, tt.params, got, tt.want)
		}
	}
}

// TestWalk is what the real server listed of the same tree.
func TestWalk(t *testing.T) {
	root := tree(t, real(t), "a.txt", "link->a.txt", "dirlink->sub", "dangling->none", "sub/b.txt", "sub/deep/", "sub/up->..", ".hid/x/", "hl->.hid", ".dl->sub/deep")
	f := New(Limits{})
	defer f.Close()
	walk := func(path, options string) string {
		o := map[string]any{"maxDepth": 10, "maxDirectories": 100, "maxEntries": 100, "followDirectorySymlinks": false}
		if err := json.Unmarshal([]byte(options), &o); err != nil {
			t.Fatal(err)
		}
		raw, _ := json.Marshal(map[string]any{"path": wire.FileURI(root + path), "options": o})
		got, bad := call(t, f, "fs/walk", raw)
		if bad != nil {
			return bad.Error()
		}
		r := got.(*wire.FSWalkResult)
		var out []string
		for _, e := range r.Entries {
			out = append(out, strings.TrimPrefix(string(e.Path), "file://"+root+"/")+":"+string(e.Kind[0]))
		}
		if r.Truncated {
			out = append(out, "…")
		}
		for _, e := range r.Errors {
			out = append(out, string(e.Path)+"!")
		}
		return strings.Join(out, " ")
	}
	all := ".hid:d a.txt:f sub:d .hid/x:d sub/b.txt:f sub/deep:d"
	top := ".dl:d .hid:d a.txt:f dirlink:d hl:d sub:d"
	linked := top + " .hid/x:d dirlink/b.txt:f dirlink/deep:d dirlink/up:d"
	for _, tt := range []struct{ path, options, want string }{
		{"", `{}`, all},
		{"", `{"followDirectorySymlinks":true}`, linked},
		{"", `{"followDirectorySymlinks":true,"pruneHiddenDirectories":true}`, top + " dirlink/b.txt:f dirlink/deep:d dirlink/up:d hl/x:d"},
		{"", `{"pruneHiddenDirectories":true}`, ".hid:d a.txt:f sub:d sub/b.txt:f sub/deep:d"},
		{"", `{"followDirectorySymlinks":true,"maxDirectories":1}`, top + " …"},
		{"", `{"followDirectorySymlinks":true,"maxDirectories":2}`, top + " …"},
		{"", `{"followDirectorySymlinks":true,"maxDirectories":3}`, top + " .hid/x:d …"},
		{"", `{"followDirectorySymlinks":true,"maxDirectories":4}`, linked + " …"},
		{"", `{"followDirectorySymlinks":true,"maxDirectories":5}`, linked},
		{"", `{"maxDirectories":4}`, all + " …"},
		{"", `{"maxDirectories":5}`, all},
		{"", `{"maxEntries":1}`, "…"},
		{"", `{"maxEntries":3}`, ".hid:d a.txt:f …"},
		{"", `{"maxEntries":6}`, ".hid:d a.txt:f …"},
		{"", `{"maxEntries":10}`, all + " …"},
		{"", `{"maxEntries":11}`, all},
		{"", `{"maxDepth":0}`, ".hid:d a.txt:f sub:d"},
		{"", `{"maxDepth":1}`, all},
		{"/.hid", `{"pruneHiddenDirectories":true}`, ".hid/x:d"},
		{"/dirlink", `{}`, ""},
		{"/link", `{"followDirectorySymlinks":true}`, ""},
		{"/dirlink", `{"followDirectorySymlinks":true}`,
			"dirlink/b.txt:f dirlink/deep:d dirlink/up:d dirlink/up/.dl:d dirlink/up/.hid:d dirlink/up/a.txt:f dirlink/up/dirlink:d dirlink/up/hl:d dirlink/up/sub:d dirlink/up/.hid/x:d"},
	} {
		if got := walk(tt.path, tt.options); got != tt.want {
			t.Errorf("%q %s\n got %s\nwant %s", tt.path, tt.options, got, tt.want)
		}
	}
	// A folder with more entries than are asked for is read with the memory of those.
	many := filepath.Join(root, "many")
	var want []string
	for i := range 3000 {
		name := fmt.Sprintf("%04d", (i*7919)%3000)
		tree(t, many, name)
		if name < "0003" {
			want = append(want, "many/"+name+":f")
		}
	}
	slices.Sort(want)
	if got := walk("/many", `{"maxEntries":3}`); got != strings.Join(want, " ")+" …" {
		t.Error(got)
	}
}

func TestCopies(t *testing.T) {
	root := tree(t, real(t), "a.txt", "exl->ex", "ex", "t/x/f", "t/x/l->f", "t/x/ff|", "t/z/")
	f := New(Limits{})
	defer f.Close()
	if err := os.Chmod(filepath.Join(root, "a.txt"), 0o751); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(root, "t/x/f"), 0o600); err != nil {
		t.Fatal(err)
	}
	cp := func(from, to string) string {
		return ask(t, f, root, "fs/copy", fmt.Sprintf(`{"sourcePath":"file:///ROOT/%s","destinationPath":"file:///ROOT/%s","recursive":true}`, from, to))
	}
	for _, to := range []string{"new", "a.txt", "exl"} {
		if got := cp("a.txt", to); got != "{}" {
			t.Errorf("to %s: %s", to, got)
		}
	}
	for name, mode := range map[string]os.FileMode{"new": 0o751, "a.txt": 0o751, "ex": 0o751, "exl": os.ModeSymlink | 0o777} {
		info, err := os.Lstat(filepath.Join(root, name))
		if err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
		if text, err := os.ReadFile(filepath.Join(root, name)); string(text) != "a.txt" {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	if got := cp("t", "t2"); got != "{}" {
		t.Error(got)
	}
	var got []string
	err := filepath.Walk(filepath.Join(root, "t2"), func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		got = append(got, strings.TrimPrefix(path, root)+" "+info.Mode().String())
		return nil
	})
	if want := "[/t2 drwxr-xr-x /t2/x drwxr-xr-x /t2/x/f -rw------- /t2/x/l Lrwxrwxrwx /t2/z drwxr-xr-x]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v\n got %v\nwant %s", err, got, want)
	}
	if got := cp("t", "t2"); got != "-32603 File exists (os error 17)" { // its link is there already
		t.Error(got)
	}
}

func TestLargeFilesTakeNoMemory(t *testing.T) {
	root := real(t)
	big := filepath.Join(root, "big")
	file, err := os.Create(big)
	if err == nil {
		err = errors.Join(file.Truncate(600<<20), file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	f := New(Limits{})
	defer f.Close()
	for _, follow := range []string{"true", "false"} {
		if got := ask(t, f, root, "fs/readFile", `{"path":"file:///ROOT/big","followSymlinks":`+follow+`}`); got != "-32600 file is too large to read: limit is 536870912 bytes" {
			t.Errorf("%.200s", got)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if got := ask(t, f, root, "fs/copy", `{"sourcePath":"file:///ROOT/big","destinationPath":"file:///ROOT/copy","recursive":false}`); got != "{}" {
		t.Error(got)
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("a copy of 600 MiB takes %d bytes", n)
	}
	if info, err := os.Stat(filepath.Join(root, "copy")); err != nil || info.Size() != 600<<20 {
		t.Errorf("%v %v", info, err)
	}
	// A file that grows past the limit while it is read.
	small := New(Limits{ReadFile: 100})
	defer small.Close()
	if got := ask(t, small, root, "fs/readFile", `{"path":"file:///proc/kallsyms"}`); got != "-32600 file is too large to read: limit is 100 bytes" {
		t.Error(got)
	}
}

func TestDirectoryWithTooManyEntries(t *testing.T) {
	root := tree(t, real(t), "a", "b", "c")
	f := New(Limits{DirEntries: 2})
	defer f.Close()
	if got := ask(t, f, root, "fs/readDirectory", `{"path":"file:///ROOT"}`); got != "-32600 path `/ROOT` has more than 2 entries" {
		t.Error(got)
	}
}

// TestDeepTrees: deeper than any path can say.
func TestDeepTrees(t *testing.T) {
	root := real(t)
	t.Chdir(root)
	long := strings.Repeat("d", 100)
	for range 50 { // longer than 4096
		if err := os.Mkdir(long, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Chdir(long); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Chdir(root); err != nil {
		t.Fatal(err)
	}
	f := New(Limits{})
	defer f.Close()
	if got := ask(t, f, root, "fs/copy", `{"sourcePath":"file:///ROOT/`+long+`","destinationPath":"file:///ROOT/copy","recursive":true}`); got != "-32603 Filename too long (os error 36)" {
		t.Error(got)
	}
	for _, name := range []string{long, "copy"} {
		if got := ask(t, f, root, "fs/remove", `{"path":"file:///ROOT/`+name+`","force":false}`); got != "{}" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestHandles(t *testing.T) {
	root := tree(t, real(t), "a.txt")
	f := New(Limits{})
	for i := range wire.MaxFileHandles {
		if got := ask(t, f, root, "fs/open", fmt.Sprintf(`{"handleId":"%d","path":"file:///ROOT/a.txt"}`, i)); got != fmt.Sprintf(`{"handleId":"%d"}`, i) {
			t.Fatal(got)
		}
	}
	if got := ask(t, f, root, "fs/open", `{"handleId":"x","path":"file:///ROOT/a.txt"}`); got != "-32600 at most 128 file handles may be open per connection" {
		t.Error(got)
	}
	if got := ask(t, f, root, "fs/close", `{"handleId":"0"}`); got != "{}" {
		t.Error(got)
	}
	if got := ask(t, f, root, "fs/open", `{"handleId":"x","path":"file:///ROOT/a.txt"}`); got != `{"handleId":"x"}` {
		t.Error(got)
	}
	f.Close()
	if got := ask(t, f, root, "fs/readBlock", `{"handleId":"x","offset":0,"len":1}`); got != "-32004 unknown file handle `x`" {
		t.Error(got)
	}
	if got := ask(t, f, root, "fs/open", `{"handleId":"y","path":"file:///ROOT/a.txt"}`); !strings.HasPrefix(got, "-32603") {
		t.Error(got)
	}
}

// TestHandlesAtOnce: whatever comes side by side, an id has one file or none.
func TestHandlesAtOnce(t *testing.T) {
	root := tree(t, real(t), "a.txt")
	f := New(Limits{})
	defer f.Close()
	uri := wire.FileURI(filepath.Join(root, "a.txt"))
	done := make(chan struct{}, 8)
	for range cap(done) {
		go func() {
			defer func() { done <- struct{}{} }()
			for range 200 {
				_, _ = f.open(t.Context(), &wire.FSOpenParams{HandleID: "h", Path: uri})
				r, err := f.readBlock(t.Context(), &wire.FSReadBlockParams{HandleID: "h", Len: 9})
				if err == nil && string(r.(*wire.FSReadBlockResult).Chunk) != "a.txt" || err != nil && failure(err).Code != wire.CodeNotFound {
					t.Errorf("%q %v", r, err)
				}
				_, _ = f.closeHandle(t.Context(), &wire.FSCloseParams{HandleID: "h"})
			}
		}()
	}
	for range cap(done) {
		<-done
	}
	if len(f.handles) != 0 {
		t.Errorf("%d handles are left", len(f.handles))
	}
}

func TestCancelled(t *testing.T) {
	root := tree(t, real(t), "a.txt", "d/x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := New(Limits{})
	defer f.Close()
	uri := func(name string) wire.URI { return wire.FileURI(filepath.Join(root, name)) }
	if _, bad := f.readDirectory(ctx, &wire.FSReadDirectoryParams{Path: uri("d")}); bad == nil {
		t.Error("readDirectory")
	}
	if _, bad := f.writeFile(ctx, &wire.FSWriteFileParams{Path: uri("a.txt"), DataBase64: "eA=="}); bad == nil {
		t.Error("writeFile")
	}
	if _, bad := f.remove(ctx, &wire.FSRemoveParams{Path: uri("d")}); bad == nil {
		t.Error("remove")
	}
}
