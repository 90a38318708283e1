//go:build unix

package execserver

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox"
)

// codexBinary is the program whose exec-server the client is held to: what
// HOSTSUP_CODEX names, or what is installed in the repository's cache.
func codexBinary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("HOSTSUP_CODEX"); path != "" {
		return path
	}
	found, _ := filepath.Glob("../.cache/*/node_modules/@openai/codex-linux-*/vendor/*/bin/codex") // the pattern is valid
	if len(found) == 0 {
		t.Skip("codex is not installed")
	}
	path, err := filepath.Abs(found[0]) // it is started elsewhere
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func codexCommand(t *testing.T, listen string) Command {
	return Command{
		Args: []string{codexBinary(t), "exec-server", "--listen", listen},
		Env:  []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "CODEX_HOME=" + t.TempDir()},
		Dir:  t.TempDir(),
	}
}

// listening starts a server that prints its URL, and ends it with the test.
func listening(t *testing.T, cmd Command) WebSocket {
	t.Helper()
	launcher, err := sandbox.NewLauncher(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { launcher.Close() })
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	child, err := launcher.Start(&sandbox.Command{Name: "peer", Path: cmd.Args[0], Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, Files: []*os.File{nil, w, nil}})
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		child.KillTree()
		<-child.Done()
		child.Release()
		r.Close()
	})
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return WebSocket{URL: strings.TrimSpace(line)}
}

func TestPeerWebSocket(t *testing.T) { peer(t, listening(t, codexCommand(t, "ws://127.0.0.1:0"))) }

func TestPeerStdio(t *testing.T) { peer(t, codexCommand(t, "stdio")) }

// peer holds the client to a real server.
func peer(t *testing.T, e Endpoint) {
	connect := func(t *testing.T) *Client {
		t.Helper()
		c, err := Connect(t.Context(), e, Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	t.Run("process", func(t *testing.T) { peerProcess(t, connect(t)) })
	t.Run("stdin", func(t *testing.T) { peerStdin(t, connect(t)) })
	t.Run("terminal", func(t *testing.T) { peerTerminal(t, connect(t)) })
	t.Run("signals", func(t *testing.T) { peerSignals(t, connect(t)) })
	t.Run("many", func(t *testing.T) { peerMany(t, connect(t)) })
	t.Run("files", func(t *testing.T) { peerFiles(t, connect(t)) })
	t.Run("http", func(t *testing.T) { peerHTTP(t, connect(t)) })
	if ws, ok := e.(WebSocket); ok {
		t.Run("resume", func(t *testing.T) { peerResume(t, ws) })
		t.Run("nothing lost", func(t *testing.T) { peerNothingLost(t, ws) })
		t.Run("slow reader", func(t *testing.T) { peerSlowReader(t, connect(t)) })
	}
}

func command(script string) wire.ProcessStartParams {
	return wire.ProcessStartParams{Argv: []string{"/bin/sh", "-c", script}, Cwd: "file:///", Env: map[string]string{"PATH": "/usr/bin:/bin"}}
}

// run runs a command to its end.
func run(t *testing.T, c *Client, p wire.ProcessStartParams) (out, errs string, exit Exit) {
	t.Helper()
	_, sub, err := c.StartSubscribed(t.Context(), p, Stall)
	if err != nil {
		t.Fatal(err)
	}
	var o, e bytes.Buffer
	exit, err = sub.Copy(t.Context(), &o, &e)
	if err != nil {
		t.Fatal(err)
	}
	return o.String(), e.String(), exit
}

func peerProcess(t *testing.T, c *Client) {
	if s, err := c.Status(t.Context()); err != nil || s.Status != "ready" {
		t.Errorf("%+v %v", s, err)
	}
	if i, err := c.Environment(t.Context()); err != nil || i.Shell.Path == "" || i.Shell != c.Info().Shell {
		t.Errorf("%+v %v", i, err)
	}
	out, errs, exit := run(t, c, command("echo out; echo err >&2; exit 3"))
	if out != "out\n" || errs != "err\n" || exit.Code != 3 {
		t.Errorf("%q %q %+v", out, errs, exit)
	}
	_, err := c.Start(t.Context(), wire.ProcessStartParams{Argv: []string{"/no/such"}, Cwd: "file:///"})
	if !errors.Is(err, &wire.Error{Code: wire.CodeInternal}) {
		t.Error(err)
	}
	p, err := c.Start(t.Context(), command("echo one; sleep 0.2; echo two"))
	if err != nil {
		t.Fatal(err)
	}
	var got []byte
	for after := uint64(0); ; {
		r, err := p.Read(t.Context(), after, 0, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		for _, chunk := range r.Chunks {
			got = append(got, chunk.Chunk...)
		}
		if after = r.NextSeq - 1; r.Closed {
			break
		}
	}
	is(t, string(got), "one\ntwo\n")
	if _, err := newProcess(c, "nobody", 0).Read(t.Context(), 0, 0, 0); !errors.Is(err, ErrUnknownProcess) {
		t.Error(err)
	}
}

func peerStdin(t *testing.T, c *Client) {
	params := command("head -c 1000000 | md5sum")
	params.PipeStdin = true
	p, sub, err := c.StartSubscribed(t.Context(), params, Stall)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := p.Stdin(t.Context()).Write(make([]byte, 1_000_000)); n != 1_000_000 || err != nil {
		t.Fatal(n, err)
	}
	var out bytes.Buffer
	if _, err := sub.Copy(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	is(t, out.String(), "879f4bba57ed37c9ec5e5aedf9864698  -\n")
}

func peerTerminal(t *testing.T, c *Client) {
	params := command(`stty -echo; read -r x; printf 'got %s\n' "$x"; exit 5`)
	params.TTY = true
	p, sub, err := c.StartSubscribed(t.Context(), params, Stall)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), []byte("word\n")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	exit, err := sub.Copy(t.Context(), &out, nil)
	if err != nil || exit.Code != 5 || !strings.Contains(out.String(), "got word\r\n") {
		t.Errorf("%q %+v %v", out.String(), exit, err)
	}
}

func peerSignals(t *testing.T, c *Client) {
	p, sub, err := c.StartSubscribed(t.Context(), command(`trap 'echo int; exit 5' INT; echo ready; while :; do sleep 0.05; done`), Stall)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := sub.Next(t.Context()); err != nil || string(e.Data) != "ready\n" {
		t.Fatal(e, err)
	}
	if err := p.Interrupt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 5 {
		t.Error(exit, err)
	}
	p, err = c.Start(t.Context(), command("sleep 1000"))
	if err != nil {
		t.Fatal(err)
	}
	if running, err := p.Terminate(t.Context(), 0); !running || err != nil {
		t.Error(running, err)
	}
	if exit, err := p.Wait(t.Context()); err != nil || exit.Code != 137 {
		t.Error(exit, err)
	}
}

// Many at once that write to both streams: every event comes, in order.
func peerMany(t *testing.T, c *Client) {
	var wg sync.WaitGroup
	for range 24 {
		wg.Go(func() {
			_, sub, err := c.StartSubscribed(t.Context(), command(`i=0; while [ $i -lt 60 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done`), Stall)
			if err != nil {
				t.Error(err)
				return
			}
			var out, errs strings.Builder
			last := uint64(0)
			for e, err := range sub.All(t.Context()) {
				if err != nil || e.Seq != last+1 {
					t.Errorf("%+v after %d: %v", e, last, err)
					return
				}
				last = e.Seq
				if e.Stream == wire.Stderr {
					errs.Write(e.Data)
				} else {
					out.Write(e.Data)
				}
			}
			if strings.Count(out.String(), "\n") != 60 || strings.Count(errs.String(), "\n") != 60 {
				t.Errorf("%q %q", out.String(), errs.String())
			}
		})
	}
	wg.Wait()
}

func peerFiles(t *testing.T, c *Client) {
	dir, fsys, ctx := t.TempDir(), c.FS(), t.Context()
	at := func(name string) wire.URI { return wire.FileURI(filepath.Join(dir, name)) }
	if err := fsys.WriteFile(ctx, wire.FSWriteFileParams{Path: at("a b")}, []byte("content")); err != nil {
		t.Fatal(err)
	}
	if data, err := fsys.ReadFile(ctx, wire.FSReadFileParams{Path: at("a b")}); err != nil || string(data) != "content" {
		t.Errorf("%q %v", data, err)
	}
	if m, err := fsys.GetMetadata(ctx, wire.FSGetMetadataParams{Path: at("a b")}); err != nil || !m.IsFile || m.Size != 7 {
		t.Errorf("%+v %v", m, err)
	}
	if _, err := fsys.GetMetadata(ctx, wire.FSGetMetadataParams{Path: at("none")}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := fsys.CreateDirectory(ctx, wire.FSCreateDirectoryParams{Path: at("d/e")}); err != nil {
		t.Error(err)
	}
	if err := fsys.Copy(ctx, wire.FSCopyParams{SourcePath: at("a b"), DestinationPath: at("d/c")}); err != nil {
		t.Error(err)
	}
	if r, err := fsys.Walk(ctx, wire.FSWalkParams{Path: at("d"), Options: wire.FSWalkOptions{MaxDepth: 9, MaxDirectories: 9, MaxEntries: 9}}); err != nil || len(r.Entries) != 2 {
		t.Errorf("%+v %v", r, err)
	}
	if e, err := fsys.ReadDirectory(ctx, wire.FSReadDirectoryParams{Path: at("d")}); err != nil || len(e) != 2 {
		t.Errorf("%+v %v", e, err)
	}
	if p, err := fsys.Canonicalize(ctx, wire.FSCanonicalizeParams{Path: at("d/../a b")}); err != nil || !strings.HasSuffix(string(p), "/a%20b") {
		t.Error(p, err)
	}
	f, err := fsys.Open(ctx, wire.FSOpenParams{Path: at("big"), Mode: wire.FSOpenReplace})
	if err != nil {
		t.Fatal(err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<16)
	if n, err := f.WriteAt(big, 0); n != len(big) || err != nil {
		t.Error(n, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if f, err = fsys.Open(ctx, wire.FSOpenParams{Path: at("big")}); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(f, 0, 1<<40)); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	w, ok, err := fsys.WatchMissing(ctx, wire.FSWatchMissingParams{Missing: []wire.URI{at("later")}})
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "later"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-w.Done():
		if w.Err() != nil {
			t.Error(w.Err())
		}
	case <-time.After(time.Minute):
		t.Error("not told of a file")
	}
	if err := fsys.Remove(ctx, wire.FSRemoveParams{Path: at("d")}); err != nil {
		t.Error(err)
	}
}

func peerHTTP(t *testing.T, c *Client) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what there is
		w.Header().Set("X-Got", r.Method+" "+string(body))
		w.WriteHeader(404)
		for i := range 200 {
			fmt.Fprintf(w, "%d:%s\n", i, strings.Repeat("x", 20_000))
		}
	}))
	defer web.Close()
	body := []byte("hi")
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "%d:%s\n", i, strings.Repeat("x", 20_000))
	}
	r, err := c.HTTP(t.Context(), wire.HTTPRequestParams{Method: "POST", URL: web.URL, Body: &body})
	if err != nil || r.Status != 404 || string(r.Body) != want.String() {
		t.Errorf("%d, %d bytes, %v", r.Status, len(r.Body), err)
	}
	r, b, err := c.HTTPStream(t.Context(), wire.HTTPRequestParams{Method: "GET", URL: web.URL})
	if err != nil || r.Status != 404 {
		t.Fatalf("%d %v", r.Status, err)
	}
	got, err := io.ReadAll(b)
	if err != nil || string(got) != want.String() {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	b.Close()
	if _, err = c.HTTP(t.Context(), wire.HTTPRequestParams{Method: "GET", URL: "ftp://x/"}); !errors.Is(err, ErrBadParams) {
		t.Error(err)
	}
}
