//go:build unix

package execserver

import (
	"bufio"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/require"
	"github.com/hostsup/hostsup/sandbox"
)

func codexCommand(t *testing.T, listen string) Program {
	return Program{
		Args: []string{require.Codex(t), "exec-server", "--listen", listen},
		Env:  []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "CODEX_HOME=" + t.TempDir()},
		Dir:  t.TempDir(),
	}
}

// listening starts a server that prints its URL, and ends it with the test.
func listening(t *testing.T, cmd Program) WebSocket {
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
	t.Run("command", func(t *testing.T) { peerCommand(t, connect(t)) })
	t.Run("stdin", func(t *testing.T) { peerStdin(t, connect(t)) })
	t.Run("terminal", func(t *testing.T) { peerTerminal(t, connect(t)) })
	t.Run("signals", func(t *testing.T) { peerSignals(t, connect(t)) })
	t.Run("many", func(t *testing.T) { peerMany(t, connect(t)) })
	t.Run("files", func(t *testing.T) { peerFiles(t, connect(t)) })
	t.Run("http", func(t *testing.T) { peerHTTP(t, connect(t)) })
	if ws, ok := e.(WebSocket); ok {
		t.Run("resume", func(t *testing.T) { peerResume(t, ws) })
		t.Run("input of later clients", func(t *testing.T) { peerAdoptedInput(t, ws) })
		t.Run("nothing lost", func(t *testing.T) { peerNothingLost(t, ws) })
		t.Run("work over cuts", func(t *testing.T) { peerWorkOverCuts(t, ws) })
		t.Run("slow reader", func(t *testing.T) { peerSlowReader(t, connect(t)) })
	}
}

func command(script string) wire.ProcessStartParams {
	return wire.ProcessStartParams{Argv: []string{"/bin/sh", "-c", script}, Cwd: "file:///", Env: map[string]string{"PATH": "/usr/bin:/bin"}}
}

// run runs a command to its end.
func run(t *testing.T, c *Client, p wire.ProcessStartParams) (out, errs string, exit Exit) {
	t.Helper()
	_, sub, err := c.StartSubscribed(t.Context(), p, Keep)
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
	p, sub, err := c.StartSubscribed(t.Context(), params, Keep)
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
	p, sub, err := c.StartSubscribed(t.Context(), params, Keep)
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
	p, sub, err := c.StartSubscribed(t.Context(), command(`trap 'echo int; exit 5' INT; echo ready; while :; do sleep 0.05; done`), Keep)
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
			_, sub, err := c.StartSubscribed(t.Context(), command(`i=0; while [ $i -lt 60 ]; do echo o$i; echo e$i >&2; i=$((i+1)); done`), Keep)
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
	at := func(name string) string { return filepath.Join(dir, name) }
	if err := fsys.WriteFile(ctx, at("a b"), []byte("content")); err != nil {
		t.Fatal(err)
	}
	if data, err := fsys.ReadFile(ctx, at("a b")); err != nil || string(data) != "content" {
		t.Errorf("%q %v", data, err)
	}
	if m, err := fsys.Stat(ctx, at("a b")); err != nil || !m.Mode().IsRegular() || m.Size() != 7 || m.Name() != "a b" {
		t.Errorf("%v %v", m, err)
	}
	for name, f := range map[string]func(string) error{
		"stat":     func(p string) error { _, err := fsys.Stat(ctx, p); return err },
		"open":     func(p string) error { _, err := fsys.Open(ctx, p); return err },
		"read":     func(p string) error { _, err := fsys.ReadFile(ctx, p); return err },
		"write":    func(p string) error { return fsys.WriteFile(ctx, p+"/x", nil) },
		"readdir":  func(p string) error { _, err := fsys.ReadDir(ctx, p); return err },
		"evalsyms": func(p string) error { _, err := fsys.EvalSymlinks(ctx, p); return err },
		"remove":   func(p string) error { return fsys.Remove(ctx, p) },
		"copy":     func(p string) error { return fsys.Copy(ctx, p, at("copy")) },
		"mkdir":    func(p string) error { return fsys.Mkdir(ctx, p+"/x") },
	} {
		if err := f(at("none")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), at("none")) {
			t.Errorf("%s of what is missing: %v", name, err)
		}
	}
	if _, err := fsys.Create(ctx, at("none/x")); !errors.Is(err, fs.ErrNotExist) && (c.writesBlocks() || !errors.Is(err, ErrNoMethod)) {
		t.Errorf("create of what is missing: %v", err)
	}
	if err := fsys.MkdirAll(ctx, at("d/e")); err != nil {
		t.Error(err)
	}
	if err := fsys.Mkdir(ctx, at("d")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := fsys.Copy(ctx, at("a b"), at("d/c")); err != nil {
		t.Error(err)
	}
	if e, err := fsys.ReadDir(ctx, at("d")); err != nil || len(e) != 2 || e[0].Name() != "c" {
		t.Errorf("%+v %v", e, err)
	}
	if err := fsys.Remove(ctx, at("d")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a folder that is not empty: %v", err)
	}
	if p, err := fsys.EvalSymlinks(ctx, at("d/../a b")); err != nil || !strings.HasSuffix(p, "/a b") {
		t.Error(p, err)
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), writeAtOnce/16+100)
	if err := fsys.WriteFile(ctx, at("d/big"), big); err != nil {
		t.Error(err)
	}
	if got, err := fsys.ReadFile(ctx, at("d/big")); err != nil || !bytes.Equal(got, big) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := fsys.Remove(ctx, at("d/big")); err != nil {
		t.Error(err)
	}
	if err := fstest.TestFS(fsys.Dir(ctx, dir), "a b", "d/c", "d/e"); err != nil {
		t.Error(err)
	}
	if c.Info().Capabilities.FSWatchMissing {
		peerWatch(t, fsys, at("later"))
	}
	if err := fsys.RemoveAll(ctx, at("d")); err != nil {
		t.Error(err)
	}
}

func peerWatch(t *testing.T, fsys FS, path string) {
	w, ok, err := fsys.WatchMissing(t.Context(), []string{path}, "")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
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
}
