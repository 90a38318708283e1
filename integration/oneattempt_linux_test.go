//go:build linux

package integration

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/require"
)

// work is a command that people confine, with what it works on.
type work struct {
	name   string
	files  map[string]string // in the folder of the job
	env    []string          // beside PATH and HOME
	script string            // for /bin/sh, in an empty folder
	makes  string            // in that folder; "" for nothing
	says   string
}

// One run watched gives a policy that the same command then runs under: what it
// fetches from the network, compiles, checks and serves.
func TestOneAttemptToAPolicy(t *testing.T) {
	t.Parallel()
	observable(t)
	git, npm, node := peer(t, "/usr/bin/git", "git"), peer(t, "/usr/bin/npm", "npm"), peer(t, "/usr/bin/node", "node")
	gotool := peer(t, "/usr/local/go/bin/go", "/usr/bin/go", "go")
	python, cargo := peer(t, "/usr/bin/python3"), peer(t, "/usr/bin/cargo")
	if out, err := exec.Command(python, "-m", "pip", "--version").CombinedOutput(); err != nil {
		require.Missing(t, "pip: %s; ./test peers installs it", out)
	}
	packages, err := filepath.Abs(peerDir)
	if err != nil {
		t.Fatal(err)
	}
	pyright, mcp := peer(t, filepath.Join(packages, ".bin/pyright")), peer(t, filepath.Join(packages, ".bin/mcp-server-filesystem"))
	users(t, func(t *testing.T, uid int) {
		if out, err := as(uid, exec.Command("/bin/ls", packages)).CombinedOutput(); err != nil {
			require.Missing(t, "what ./test peers has installed, for user %d: %s", uid, out)
		}
		server := registry(t, git)
		for _, w := range []work{
			{name: "git clone", script: git + " clone -q " + server + "/repo.git repo", makes: "repo/f"},
			{name: "npm install", script: npm + " install --prefix . --no-audit --no-fund --no-update-notifier --registry " + server + "/npm/ dep", makes: "node_modules/dep/index.js"},
			{name: "pip install", script: python + " -m pip install -q --disable-pip-version-check --index-url " + server + "/simple/ --target lib dep", makes: "lib/dep.py"},
			// No folder above is taken for the program's repository.
			{name: "go build", env: []string{"CGO_ENABLED=0"}, script: gotool + " build -C IN -buildvcs=false -trimpath -o OUT/x . && ./x", makes: "x", says: "built",
				files: map[string]string{"in/go.mod": "module x\n\ngo 1.21\n", "in/main.go": "package main\n\nfunc main() { println(\"built\") }\n"}},
			{name: "cargo build", script: cargo + " build -q --offline --manifest-path IN/Cargo.toml --target-dir . && debug/x", makes: "debug/x", says: "built",
				files: map[string]string{"in/Cargo.toml": "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n", "in/src/main.rs": "fn main() { println!(\"built\"); }\n"}},
			{name: "pyright", script: node + " " + pyright + " IN/a.py || [ $? = 1 ]", says: `"str" is not assignable to "int"`,
				files: map[string]string{"in/a.py": "import json\n\nx: int = json.dumps(1)\n"}},
			{name: "an MCP server", says: `"text":"the notes`, files: map[string]string{"in/notes": "the notes\n", "ask": strings.Join([]string{
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
				`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"IN/notes"}}}`}, "\n") + "\n"},
				script: node + " " + mcp + " IN < ASK"},
		} {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				w.attempted(t, newJob(t, uid))
			})
		}
	})
}

// attempted has the work watched, and done again under the policy that comes of it.
func (w *work) attempted(t *testing.T, j *job) {
	t.Helper()
	in := strings.NewReplacer("IN", j.path("in"), "OUT", j.path("work"), "ASK", j.path("ask"))
	for name, text := range w.files {
		if dir := filepath.Dir(name); dir == "in/src" {
			j.folder(t, dir)
		}
		j.file(t, name, in.Replace(text))
	}
	run := func(args ...string) []byte {
		t.Helper()
		for _, v := range w.env {
			args = append(args, "--env", v)
		}
		args = append(append([]string{hostsupBinary(t), "sandbox"}, args...), "--", "/bin/sh", "-c", in.Replace(w.script))
		out, err := j.plain(ctx(t), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
		if !bytes.Contains(out, []byte(w.says)) {
			t.Errorf("%q does not say %s: %s", args, w.says, out)
		}
		if _, err := os.Stat(j.path("work", w.makes)); err != nil {
			t.Errorf("%q: %v: %s", args, err, out)
		}
		return out
	}
	policy := j.path("policy.hcl")
	run("explain", "-o", policy)
	if err := os.RemoveAll(j.path("work")); err != nil {
		t.Fatal(err)
	}
	j.folder(t, "work")
	out := run("run", "--denials", "--level", "no-cgroup", "--policy", policy)
	if t.Failed() {
		t.Logf("under the policy %s it says %s", j.read(t, "policy.hcl"), out)
	}
}

// registry is a server of this machine with a repository of git at /repo.git, and
// a package with the name dep for npm at /npm/ and for pip at /simple/.
func registry(t *testing.T, git string) string {
	t.Helper()
	dir := t.TempDir()
	made := exec.CommandContext(ctx(t), "/bin/sh", "-ec", `
		"$0" init -q src
		cd src
		echo f > f
		"$0" add f
		"$0" -c user.name=a -c user.email=a@b commit -qm f
		cd ..
		"$0" clone -q --bare src repo.git
		"$0" -C repo.git update-server-info`, git)
	made.Dir, made.Env = dir, []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir}
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.Handle("/repo.git/", http.FileServer(http.Dir(dir)))

	ball := tarball(t, map[string]string{"package/package.json": `{"name": "dep", "version": "1.0.0"}`, "package/index.js": "module.exports = 1;\n"})
	sum := sha512.Sum512(ball)
	mux.HandleFunc("/npm/dep.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(ball) })
	mux.HandleFunc("/npm/dep", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"name": "dep", "dist-tags": object{"latest": "1.0.0"}, "versions": object{"1.0.0": object{
			"name": "dep", "version": "1.0.0",
			"dist": object{"tarball": server.URL + "/npm/dep.tgz", "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])},
		}}})
	})

	const name = "dep-1.0.0-py3-none-any.whl"
	wheel := zipped(t, map[string]string{
		"dep.py":                       "x = 1\n",
		"dep-1.0.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: dep\nVersion: 1.0.0\n",
		"dep-1.0.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"dep-1.0.0.dist-info/RECORD":   "dep.py,,\ndep-1.0.0.dist-info/METADATA,,\ndep-1.0.0.dist-info/WHEEL,,\ndep-1.0.0.dist-info/RECORD,,\n",
	})
	mux.HandleFunc("/simple/dep/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="/%s">%[1]s</a></body></html>`, name)
	})
	mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel) })
	return server.URL
}

func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(1, 0)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipped(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
