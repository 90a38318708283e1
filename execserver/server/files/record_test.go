//go:build unix

package files

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// exchange is a request and its answer.
type exchange struct {
	Source string          `json:"source"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *wire.Error     `json:"error"`
}

func recorded(t *testing.T, file, root string) []exchange {
	t.Helper()
	all, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []exchange
	lines := bufio.NewScanner(bytes.NewReader(bytes.ReplaceAll(all, []byte("/ROOT"), []byte(root))))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e exchange
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatalf("%s: %v", lines.Text(), err)
		}
		if e.Source == "" {
			out = append(out, e)
		}
	}
	return out
}

// call does what a server does with a request.
func call(t testing.TB, f *Files, method string, params []byte) (any, *wire.Error) {
	t.Helper()
	q, bad := Decode(method, params, false)
	if bad != nil {
		return nil, bad
	}
	return f.Do(t.Context(), q)
}

// comparable is an answer without what differs from run to run.
func comparable(t *testing.T, method string, raw []byte) string {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	delete(m, "modifiedAtMs")
	delete(m, "createdAtMs")
	if m["isDirectory"] == true {
		delete(m, "size")
	}
	if list, ok := m["entries"].([]any); ok && method == wire.MethodFSReadDirectory {
		sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	}
	for k, v := range m { // long strings were clipped when they were recorded
		s, ok := v.(string)
		if !ok {
			continue
		}
		if head, count, clipped := strings.Cut(s, "…["); clipped {
			n, _ := strconv.Atoi(strings.TrimSuffix(count, " chars]"))
			m[k] = fmt.Sprint(head[:min(len(head), 64)], n)
		} else if len(s) > 4000 {
			m[k] = fmt.Sprint(s[:64], len(s))
		}
	}
	out, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestRecorded plays what a client asked a real server against a folder as it
// was there.
func TestRecorded(t *testing.T) {
	root := filepath.Join(t.TempDir(), "fsroot")
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("a.txt", "hello")
	write("sub/b.txt", "b")
	write("sub/deep/c.txt", "c")
	write("sp ace é.txt", "u")
	write(".hid", "h")
	write("big.bin", strings.Repeat("x", 3<<20))
	for link, to := range map[string]string{"link": "a.txt", "dirlink": "sub", "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	f := New(Limits{})
	defer f.Close()
	for i, e := range recorded(t, "testdata/fs.jsonl", root) {
		name := fmt.Sprintf("%d %s %s", i, e.Method, e.Params)
		got, bad := call(t, f, e.Method, e.Params)
		switch {
		case e.Error != nil && (bad == nil || bad.Code != e.Error.Code || bad.Message != e.Error.Message):
			t.Errorf("%s\n got %+v %+v\nwant %+v", name, got, bad, e.Error)
		case e.Error == nil && bad != nil:
			t.Errorf("%s\n got %+v\nwant %s", name, bad, e.Result)
		case e.Error == nil:
			raw, err := wire.AppendResult(nil, wire.IntID(1), got)
			if err != nil {
				t.Fatal(err)
			}
			var answer struct{ Result json.RawMessage }
			if err := json.Unmarshal(raw, &answer); err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			if got, want := comparable(t, e.Method, answer.Result), comparable(t, e.Method, e.Result); got != want {
				t.Errorf("%s\n got %s\nwant %s", name, got, want)
			}
		}
	}
}
