//go:build linux

package integration

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
	confine "github.com/hostsup/hostsup/sandbox/policy"
)

// peerDir is where ./test peers installs packages from npm.
const peerDir = "../.cache/peers/node_modules"

// job is a real program with something to do: in a folder of its own, beside a
// secret that it also tries to read.
type job struct {
	uid    int
	dir    string // work/ is to be written, in/ to be read, secret not; tmp/ is for what runs without a sandbox
	secret string // what is in it
}

func newJob(t testing.TB, uid int) *job {
	t.Helper()
	if sandbox.Probe().Level == confine.None {
		require.Missing(t, "confinement of any kind")
	}
	j := &job{uid: uid, dir: place(t, uid), secret: fmt.Sprintf("secret%d", time.Now().UnixNano())}
	for _, sub := range []string{"work", "in", "tmp"} {
		j.folder(t, sub)
	}
	j.file(t, "secret", j.secret)
	return j
}

func (j *job) folder(t testing.TB, name string) {
	t.Helper()
	if err := os.Mkdir(j.path(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(j.path(name), j.uid, j.uid); err != nil {
		t.Fatal(err)
	}
}

func (j *job) path(elem ...string) string {
	return filepath.Join(append([]string{j.dir}, elem...)...)
}

func (j *job) file(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(j.path(name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(j.path(name), j.uid, j.uid); err != nil {
		t.Fatal(err)
	}
}

func (j *job) read(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(j.path(name))
	if err != nil {
		t.Error(err)
	}
	return string(b)
}

// plain is a command without a sandbox, as the job's user.
func (j *job) plain(ctx context.Context, argv ...string) *exec.Cmd {
	cmd := as(j.uid, exec.CommandContext(ctx, argv[0], argv[1:]...))
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + j.path("work"), "TMPDIR=" + j.path("tmp")}
	cmd.Dir = j.path("work")
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// confined is a command in a sandbox: argv after the policy's flags.
func (j *job) confined(ctx context.Context, t testing.TB, flags []string, argv ...string) *exec.Cmd {
	t.Helper()
	args := append([]string{hostsupBinary(t), "sandbox", "run"}, flags...)
	cmd := j.plain(ctx, append(append(args, "--"), argv...)...)
	return cmd
}

// granted are the flags of a profile with the job's folders.
func (j *job) granted(profile string) []string {
	return []string{"--profile", profile, "--read", j.path("in"), "--write", j.path("work"), "--dir", j.path("work")}
}

// finds runs a command without a sandbox and fails the test unless the secret
// comes out: what it does in a sandbox would prove nothing otherwise.
func (j *job) finds(t testing.TB, argv ...string) {
	t.Helper()
	if out, err := j.plain(ctx(t), argv...).CombinedOutput(); err != nil || !bytes.Contains(out, []byte(j.secret)) {
		t.Fatalf("without a sandbox the secret does not come out: %v: %s", err, out)
	}
}

// does runs a command confined and fails the test unless it ends well and
// without the secret.
func (j *job) does(t testing.TB, flags []string, argv ...string) string {
	t.Helper()
	out, err := j.confined(ctx(t), t, flags, argv...).CombinedOutput()
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
	j.keeps(t, out)
	return string(out)
}

// keeps fails the test when the secret is in what came out or in what was
// written.
func (j *job) keeps(t testing.TB, out []byte) {
	t.Helper()
	if bytes.Contains(out, []byte(j.secret)) {
		t.Errorf("the secret came out: %s", out)
	}
	_ = filepath.WalkDir(j.path("work"), func(path string, _ os.DirEntry, err error) error {
		if b, e := os.ReadFile(path); err == nil && e == nil && bytes.Contains(b, []byte(j.secret)) {
			t.Errorf("the secret is in %s", path)
		}
		return nil
	})
}

// TestNodeScript confines a script that reads, computes, starts itself again and
// writes.
func TestNodeScript(t *testing.T) {
	t.Parallel()
	node := peer(t, "/usr/bin/node", "node")
	const script = `
const fs = require('fs'), zlib = require('zlib'), { execFileSync } = require('child_process');
const numbers = JSON.parse(fs.readFileSync(process.argv[2]));
const sum = execFileSync(process.execPath, ['-e', 'console.log(' + numbers.join('+') + ')']).toString().trim();
fs.writeFileSync('out.json', JSON.stringify({ sum: Number(sum), packed: zlib.gzipSync('x'.repeat(1e6)).length }));
try { console.log(fs.readFileSync(process.argv[3], 'utf8')); } catch (e) { console.log('secret: ' + e.code); }
`
	users(t, func(t *testing.T, uid int) {
		j := newJob(t, uid)
		j.file(t, "in/script.cjs", script)
		j.file(t, "in/numbers.json", "[1, 2, 39]")
		argv := []string{node, j.path("in/script.cjs"), j.path("in/numbers.json"), j.path("secret")}
		j.finds(t, argv...)
		os.Remove(j.path("work/out.json"))
		out := j.does(t, j.granted("node"), argv...)
		if !strings.Contains(out, "secret: E") || !strings.Contains(j.read(t, "work/out.json"), `"sum":42,`) {
			t.Errorf("it says %q and writes %s", out, j.read(t, "work/out.json"))
		}
	})
}

// TestPythonScript confines a script that uses a database and a process pool.
func TestPythonScript(t *testing.T) {
	t.Parallel()
	python := peer(t, "/usr/bin/python3", "python3")
	const script = `
import json, sqlite3, subprocess, sys, tempfile, threading
numbers = json.load(open(sys.argv[1]))
db = sqlite3.connect("numbers.db")
db.execute("create table t (n integer)")
db.executemany("insert into t values (?)", [(n,) for n in numbers])
db.commit()
total = db.execute("select sum(n) from t").fetchone()[0]
threads = [threading.Thread(target=lambda: None) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
with tempfile.NamedTemporaryFile("w+") as f:
    f.write(subprocess.run(["sort"], input="b\na\n", text=True, capture_output=True, check=True).stdout)
    f.seek(0)
    json.dump({"sum": total, "first": f.readline().strip()}, open("out.json", "w"))
try:
    print(open(sys.argv[2]).read())
except OSError as e:
    print("secret:", type(e).__name__)
`
	users(t, func(t *testing.T, uid int) {
		j := newJob(t, uid)
		j.file(t, "in/script.py", script)
		j.file(t, "in/numbers.json", "[1, 2, 39]")
		argv := []string{python, j.path("in/script.py"), j.path("in/numbers.json"), j.path("secret")}
		j.finds(t, argv...)
		os.Remove(j.path("work/numbers.db"))
		out := j.does(t, j.granted("python"), argv...)
		if !strings.Contains(out, "secret: ") || j.read(t, "work/out.json") != `{"sum": 42, "first": "a"}` {
			t.Errorf("it says %q and writes %s", out, j.read(t, "work/out.json"))
		}
	})
}

// TestNeovim confines an editor that edits a file.
func TestNeovim(t *testing.T) {
	t.Parallel()
	nvim := peer(t, "nvim")
	users(t, func(t *testing.T, uid int) {
		j := newJob(t, uid)
		j.file(t, "work/text", "hello world\n")
		argv := []string{
			nvim, "--headless", "--clean", "-n",
			"-c", `lua vim.api.nvim_buf_set_lines(0, 1, 1, false, {vim.trim(vim.fn.system({"echo", "from a child"}))})`,
			"-c", "%s/world/hostsup/",
			"-c", "write",
			"-c", "echo join(readfile('" + j.path("secret") + "'))",
			"-c", "qall!", j.path("work/text"),
		}
		j.finds(t, argv...)
		j.file(t, "work/text", "hello world\n")
		out := j.does(t, j.granted("language-server"), argv...)
		if text := j.read(t, "work/text"); !strings.HasPrefix(text, "hello hostsup\nfrom a child") {
			t.Errorf("it writes %q and says %q", text, out)
		}
		if !strings.Contains(out, "E484") { // can't open file
			t.Errorf("it says of the secret: %q", out)
		}
	})
}

// TestGit confines version control: in a folder outside, whose files keep their
// owner, and in a bounded one.
func TestGit(t *testing.T) {
	t.Parallel()
	git := peer(t, "git")
	const script = `
set -e
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@localhost GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@localhost
git init -q -b main repo
cd repo
seq 1000 > numbers
git add numbers
git commit -q -m "a thousand numbers"
sed -i 's/^42$/forty-two/' numbers
git diff --stat
git commit -q -a -m "one in words"
git gc -q
git log --format=%s
git fsck
git hash-object -w "$1" > object && git cat-file -p "$(cat object)" || echo "secret: no"
`
	users(t, func(t *testing.T, uid int) {
		argv := func(j *job) []string { return []string{"/bin/sh", "-c", script, "sh", j.path("secret")} }
		check := func(t *testing.T, out string) {
			for _, want := range []string{"1 insertion(+), 1 deletion(-)", "one in words\na thousand numbers\n", "secret: no"} {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in %s", want, out)
				}
			}
		}
		t.Run("outside", func(t *testing.T) {
			j := newJob(t, uid)
			j.finds(t, argv(j)...)
			os.RemoveAll(j.path("work/repo"))
			check(t, j.does(t, j.granted("git"), argv(j)...))
			// It is there for the user outside, who may go on with it.
			out, err := j.plain(ctx(t), git, "-C", j.path("work/repo"), "log", "--format=%s").CombinedOutput()
			if err != nil || string(out) != "one in words\na thousand numbers\n" {
				t.Errorf("outside: %v: %s", err, out)
			}
		})
		t.Run("bounded", func(t *testing.T) {
			j := newJob(t, uid)
			j.file(t, "policy.hcl", fmt.Sprintf(`
sandbox {
  profile = "build-tool"
  work {
    path   = %q
    size   = "16MiB"
    inodes = 2000
  }
}
`, j.path("work")))
			check(t, j.does(t, []string{"--policy", j.path("policy.hcl"), "--dir", j.path("work")}, argv(j)...))
			if left, _ := os.ReadDir(j.path("work")); len(left) > 0 {
				t.Errorf("left in the real folder: %v", left)
			}
		})
	})
}

// TestLanguageServer confines one that is asked about a document, by a schema
// that it may read and by one that it may not.
func TestLanguageServer(t *testing.T) {
	t.Parallel()
	node := peer(t, "/usr/bin/node", "node")
	dir, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	server := peer(t, filepath.Join(dir, ".bin/vscode-json-language-server"))
	users(t, func(t *testing.T, uid int) {
		if out, err := as(uid, exec.Command("/bin/sh", "-c", "cat "+server)).CombinedOutput(); err != nil {
			require.Missing(t, "what ./test peers has installed, for user %d: %s", uid, out)
		}
		j := newJob(t, uid)
		schema := func(title string) string {
			return fmt.Sprintf(`{"type": "object", "properties": {"port": {"type": "number", "description": %q}}}`, title)
		}
		j.file(t, "in/schema.json", schema("where it listens"))
		j.file(t, "secret", schema(j.secret))
		argv := []string{node, server, "--stdio"}

		_, hidden := j.asks(t, j.plain(ctx(t), argv...))
		if !strings.Contains(hidden, j.secret) {
			t.Fatalf("without a sandbox the secret does not come out: %s", hidden)
		}
		cmd := j.confined(ctx(t), t, append(j.granted("language-server"), "--read", dir), argv...)
		shown, hidden := j.asks(t, cmd)
		if !strings.Contains(shown, "where it listens") {
			t.Errorf("hover: %s", shown)
		}
		j.keeps(t, []byte(hidden))
	})
}

// asks has a conversation with a JSON language server and returns what it says
// of a document by each of the two schemas.
func (j *job) asks(t testing.TB, cmd *exec.Cmd) (shown, hidden string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &client{t: t, in: in, out: bufio.NewReader(out)}
	c.call("initialize", map[string]any{
		"processId": nil, "rootUri": nil, "capabilities": map[string]any{},
		"initializationOptions": map[string]any{"handledSchemaProtocols": []string{"file"}},
	})
	c.send(map[string]any{"method": "initialized", "params": map[string]any{}})
	ask := func(name, schema string) string {
		uri := (&url.URL{Scheme: "file", Path: j.path("work", name)}).String()
		text := fmt.Sprintf("{\"$schema\": %q,\n\"port\": 1}", "file://"+schema)
		c.send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{
			"textDocument": map[string]any{"uri": uri, "languageId": "json", "version": 1, "text": text},
		}})
		return c.call("textDocument/hover", map[string]any{
			"textDocument": map[string]any{"uri": uri}, "position": map[string]any{"line": 1, "character": 2},
		})
	}
	shown, hidden = ask("a.json", j.path("in/schema.json")), ask("b.json", j.path("secret"))
	c.call("shutdown", nil)
	c.send(map[string]any{"method": "exit"})
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ends with %v: %s", err, errs.Bytes())
	}
	return shown, hidden
}

// client speaks JSON-RPC with headers.
type client struct {
	t   testing.TB
	in  io.Writer
	out *bufio.Reader
	id  int
}

func (c *client) send(message map[string]any) {
	c.t.Helper()
	message["jsonrpc"] = "2.0"
	b, err := json.Marshal(message)
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c.in, "Content-Length: %d\r\n\r\n%s", len(b), b); err != nil {
		c.t.Fatal(err)
	}
}

// call returns the result as it came. What the server asks meanwhile it gets no
// answer for that would be worth anything.
func (c *client) call(method string, params any) string {
	c.t.Helper()
	c.id++
	c.send(map[string]any{"id": c.id, "method": method, "params": params})
	for {
		h, err := textproto.NewReader(c.out).ReadMIMEHeader()
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		n, _ := strconv.Atoi(h.Get("Content-Length"))
		b := make([]byte, n)
		if _, err := io.ReadFull(c.out, b); err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     *int            `json:"id"`
			Method string          `json:"method"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal(b, &m); err != nil {
			c.t.Fatalf("%s: %v in %s", method, err, b)
		}
		switch {
		case m.Method != "" && m.ID != nil:
			c.send(map[string]any{"id": *m.ID, "result": nil})
		case m.ID != nil && *m.ID == c.id:
			if m.Error != nil {
				c.t.Fatalf("%s: %s", method, m.Error)
			}
			return string(m.Result)
		}
	}
}
