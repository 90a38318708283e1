//go:build unix

package execserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
)

// ours runs our own server.
func ours(t *testing.T, opt server.Options) *server.Server {
	t.Helper()
	s, err := server.Start(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestOwnWebSocket(t *testing.T) {
	t.Parallel()
	e := WebSocket{URL: ours(t, server.Options{}).URL()}
	peer(t, e)
	t.Run("extensions", func(t *testing.T) { peerExtensions(t, e) })
}

func TestOwnUnix(t *testing.T) {
	t.Parallel()
	s := ours(t, server.Options{Listen: "unix://" + filepath.Join(t.TempDir(), "sock")})
	e, err := ParseEndpoint(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	peer(t, e)
}

// TestOwnStdio starts this binary once more as a server; see TestMain.
func TestOwnStdio(t *testing.T) {
	t.Parallel()
	peer(t, Program{Args: []string{os.Args[0]}, Env: []string{"PATH=/usr/bin:/bin", asServer + "=1", "GORACE=atexit_sleep_ms=0"}})
}

// What our own server can beyond the others.
func peerExtensions(t *testing.T, e Endpoint) {
	c, err := Connect(t.Context(), e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, ext := range wire.Extensions() {
		if !c.Has(ext) {
			t.Errorf("no %s", ext)
		}
	}

	// The end of its input.
	params := command("cat; echo end")
	params.PipeStdin = true
	p, sub, err := c.StartSubscribed(t.Context(), params, Keep)
	if err != nil {
		t.Fatal(err)
	}
	in := p.Stdin(t.Context())
	if _, err := io.WriteString(in, "text "); err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := sub.Copy(t.Context(), &out, nil); err != nil {
		t.Fatal(err)
	}
	is(t, out.String(), "text end\n")

	// The size of its terminal.
	params = command("stty size; read -r x; stty size")
	params.TTY, params.Size = true, &wire.TerminalSize{Rows: 30, Cols: 100}
	if p, sub, err = c.StartSubscribed(t.Context(), params, Keep); err != nil {
		t.Fatal(err)
	}
	if e, err := sub.Next(t.Context()); err != nil || string(e.Data) != "30 100\r\n" {
		t.Fatal(e, err)
	}
	if err := p.Resize(t.Context(), 40, 120); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(t.Context(), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if _, err := sub.Copy(t.Context(), &out, nil); err != nil || !strings.Contains(out.String(), "40 120\r\n") {
		t.Errorf("%q %v", out.String(), err)
	}

	// Who runs, and a look at it from another session; then SIGTERM first.
	p, sub, err = c.StartSubscribed(t.Context(), command(`trap 'echo term; exit 4' TERM; echo ready; while :; do sleep 0.05; done`), Keep)
	if err != nil {
		t.Fatal(err)
	}
	if e, err := sub.Next(t.Context()); err != nil || string(e.Data) != "ready\n" {
		t.Fatal(e, err)
	}
	all, err := c.Processes(t.Context())
	found := slices.IndexFunc(all, func(i wire.ProcessInfo) bool { return i.ProcessID == p.ID() })
	if err != nil || found < 0 || all[found].PID != p.Started().PID {
		t.Fatalf("%+v %v, looked for %+v", all, err, p.Started())
	}
	other, err := Connect(t.Context(), e, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	seen, err := other.Observe(t.Context(), p.Started().AttachToken, 0)
	if err != nil {
		t.Fatal(err)
	}
	if running, err := p.Terminate(t.Context(), 10*time.Second); !running || err != nil {
		t.Error(running, err)
	}
	for _, q := range []*Process{p, seen} {
		var out bytes.Buffer
		exit, err := q.Subscribe(Keep).Copy(t.Context(), &out, nil)
		if err != nil || exit.Code != 4 || out.String() != "ready\nterm\n" {
			t.Errorf("%q %+v %v", out.String(), exit, err)
		}
	}
	again, err := other.Observe(t.Context(), p.Started().AttachToken, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Unobserve(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := other.Observe(t.Context(), "no such", 0); err == nil {
		t.Error("observed by a wrong token")
	}

	// A request that nobody wants any more.
	gone := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(200)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer web.Close()
	resp, err := (&http.Client{Transport: c.RoundTripper()}).Get(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	select {
	case <-gone:
	case <-time.After(time.Minute):
		t.Error("the request goes on")
	}
}
