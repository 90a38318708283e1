//go:build unix

package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/hostsup/hostsup/execserver/wire"
)

// step is one line of a recording.
type step struct {
	Conn string          `json:"conn"`
	Dir  string          `json:"dir"`
	Msg  json.RawMessage `json:"msg"`
	line int
}

// differs says where we do not answer as was recorded, and why. The key is the
// file and the id of the request.
var differs = map[string]string{
	"21_real_codex_exec_tap 11": "the configuration of the client's own product is not read; the capability says so",
	"21_real_codex_exec_tap 23": "whether a second terminate finds the process gone already is a matter of milliseconds",
}

// unlikeOutput are processes whose output tells of the machine and the moment.
var unlikeOutput = map[string]bool{"ids": true, "idstty": true}

// TestReplay plays the client's side of every recording and compares what comes
// back.
func TestReplay(t *testing.T) {
	t.Parallel()
	recordings, err := filepath.Glob("testdata/recorded/*.jsonl")
	if err != nil || len(recordings) == 0 {
		t.Fatal(recordings, err)
	}
	for _, path := range recordings {
		name := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		t.Run(name, func(t *testing.T) {
			p := &player{t: t, name: name, dir: t.TempDir(), conns: map[string]*played{}}
			p.play(readSteps(t, path))
		})
	}
}

func readSteps(t *testing.T, path string) []step {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []step
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		st := step{line: n}
		if err := json.Unmarshal(s.Bytes(), &st); err != nil {
			t.Fatalf("%s:%d: %v", path, n, err)
		}
		out = append(out, st)
	}
	return out
}

type player struct {
	t     *testing.T
	name  string
	dir   string
	conns map[string]*played
}

// played is one connection of a recording.
type played struct {
	*client
	srv  *Server
	bad  int                       // answers with id -1 so far
	out  map[string]map[string]int // bytes that came in the recording, by process and stream
	text map[string]map[string]string
}

func (p *player) play(steps []step) {
	if p.name == "21_real_codex_exec_tap" {
		for _, dir := range []string{"wd", "around/srv", "around/tmp"} {
			if err := os.MkdirAll(filepath.Join(p.dir, dir), 0o755); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	var srv *Server
	for _, st := range steps {
		p.t.Logf("line %d", st.line)
		st.Msg = bytes.ReplaceAll(st.Msg, []byte("/srv/codex"), []byte(p.dir))
		for _, dir := range []string{"/srv/", "/tmp/", "/"} { // the client looks for a .git there, which somebody may have
			st.Msg = bytes.ReplaceAll(st.Msg, []byte("file://"+dir+".git"), []byte(wire.FileURI(filepath.Join(p.dir, "around", dir, ".git"))))
		}
		st.Msg = bytes.ReplaceAll(st.Msg, []byte(`"-lc"`), []byte(`"-c"`)) // no login: what that does is the machine's business
		switch st.Dir {
		case "event":
			var e struct {
				WsOpen  string
				WsClose any
				URL     string
			}
			_ = json.Unmarshal(st.Msg, &e)
			switch {
			case e.WsOpen != "" || e.URL != "":
				if srv == nil {
					srv = startServer(p.t, Options{})
				}
				p.conns[st.Conn] = p.opened(dial(p.t, srv.URL()), srv)
			case e.WsClose != nil && p.name != "01_handshake": // there the client did it
				if err := p.conns[st.Conn].awaitEnd(); websocket.CloseStatus(err) != closeProtocol {
					p.t.Errorf("line %d: closed with %v", st.line, err)
				}
			}
		case "->":
			c := p.conns[st.Conn]
			if c == nil {
				c = p.stdio()
				p.conns[st.Conn] = c
			}
			p.sendStep(c, st)
		case "<-":
			p.expect(p.conns[st.Conn], st)
		}
	}
	for _, c := range p.conns {
		c.compareOutput(p.t)
	}
}

func (p *player) opened(c *client, s *Server) *played {
	return &played{client: c, srv: s, out: map[string]map[string]int{}, text: map[string]map[string]string{}}
}

// stdio is a server on pipes.
func (p *player) stdio() *played {
	inR, inW, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		p.t.Fatal(err)
	}
	srv := startServer(p.t, Options{Listen: "stdio", Stdin: inR, Stdout: outW})
	c := lineClient(p.t, outR, inW)
	p.t.Cleanup(func() { // the end of stdin is the server's
		inW.Close()
		<-srv.Done()
		outW.Close()
		c.stop()
		inR.Close()
		outR.Close()
	})
	return p.opened(c, srv)
}

func (p *player) sendStep(c *played, st step) {
	var raw struct{ Raw *string }
	b := []byte(st.Msg)
	if json.Unmarshal(st.Msg, &raw) == nil && raw.Raw != nil {
		b = []byte(*raw.Raw)
		switch {
		case strings.HasPrefix(*raw.Raw, "(binary)"):
			err := c.ws.Write(p.t.Context(), websocket.MessageBinary, []byte(`{"id":600,"method":"environment/status"}`))
			if err != nil {
				p.t.Fatal(err)
			}
			return
		case strings.HasSuffix(*raw.Raw, "chars]"): // clipped; any array does
			b = []byte("[1]")
		}
	}
	if err := c.send(b); err != nil {
		p.t.Fatalf("line %d: %v", st.line, err)
	}
}

var peer = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// expect waits for what a message of the recording is about.
func (p *player) expect(c *played, st step) {
	m, err := wire.Decode(st.Msg)
	if err != nil {
		p.t.Fatalf("line %d: %v", st.line, err)
	}
	if m.Kind == wire.KindNotification {
		p.expectNotification(c, st, m)
		return
	}
	if m.ID == wire.UnknownID {
		if strings.HasSuffix(m.Err.Message, "expected value at line 1 column 1") {
			// The recording has the answer to bytes that it does not show.
			if err := c.ws.Write(p.t.Context(), websocket.MessageBinary, []byte{0, 1, 0xff}); err != nil {
				p.t.Fatal(err)
			}
		}
		c.bad++
		n := 0
		got := c.await("an answer to malformed input", func(g *got) bool {
			if g.Kind == wire.KindError && g.ID == wire.UnknownID {
				n++
			}
			return n == c.bad
		})
		if a, b := peer.ReplaceAllString(m.Err.Message, "PEER"), peer.ReplaceAllString(got.Err.Message, "PEER"); a != b || m.Err.Code != got.Err.Code {
			p.t.Errorf("line %d: %d %s\nwant %d %s", st.line, got.Err.Code, b, m.Err.Code, a)
		}
		return
	}
	got := c.answer(m.ID)
	if differs[p.name+" "+m.ID.String()] != "" {
		return
	}
	a, b := p.normal(st.Msg), p.normal([]byte(got.text))
	if !reflect.DeepEqual(a, b) {
		p.t.Errorf("line %d:\n got %v\nwant %v", st.line, b, a)
	}
}

// normal is a message without what differs at every run.
func (p *player) normal(b []byte) any {
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		p.t.Fatal(err)
	}
	if r, ok := v["result"].(map[string]any); ok {
		if r["sessionId"] != nil {
			r["sessionId"] = "SESSION"
		}
		if r["environmentInfo"] != nil {
			r["environmentInfo"] = shape(r["environmentInfo"])
		}
		if r["shell"] != nil {
			v["result"] = shape(r)
		}
	}
	return v
}

// shape keeps which members of an environment's info there are and what type
// they have. What need not be there may be missing.
func shape(v any) any {
	info := v.(map[string]any)
	for _, optional := range []string{"providerId"} {
		delete(info, optional)
	}
	out := map[string]string{}
	for k, v := range info {
		out[k] = fmt.Sprintf("%T", v)
	}
	for k, v := range info["capabilities"].(map[string]any) {
		out["capabilities."+k] = fmt.Sprintf("%T", v)
	}
	return out
}

func (p *player) expectNotification(c *played, st step, m *wire.Message) {
	switch m.Method {
	case wire.NotifyProcessOutput:
		var o wire.ProcessOutput
		if err := json.Unmarshal(m.Params, &o); err != nil {
			p.t.Fatal(err)
		}
		o.Chunk = bytes.ReplaceAll(o.Chunk, []byte("/tmp/research/codex"), []byte(p.dir))
		if c.out[o.ProcessID] == nil {
			c.out[o.ProcessID], c.text[o.ProcessID] = map[string]int{}, map[string]string{}
		}
		c.out[o.ProcessID][string(o.Stream)] += len(o.Chunk)
		c.text[o.ProcessID][string(o.Stream)] += string(o.Chunk)
		if unlikeOutput[o.ProcessID] {
			return
		}
		want, have := c.out[o.ProcessID][string(o.Stream)], 0
		spare := len(strings.Join(digits.FindAllString(c.text[o.ProcessID][string(o.Stream)], -1), "")) // numbers may be shorter
		c.await(fmt.Sprintf("output of %s (line %d)", o.ProcessID, st.line), func(g *got) bool {
			if p, ok := note[wire.ProcessOutput](g, wire.NotifyProcessOutput); ok && p.ProcessID == o.ProcessID && p.Stream == o.Stream {
				have += len(p.Chunk)
			}
			return have >= want-spare
		})
	case wire.NotifyProcessExited:
		var want wire.ProcessExited
		if err := json.Unmarshal(m.Params, &want); err != nil {
			p.t.Fatal(err)
		}
		if got := c.awaitExit(want.ProcessID); got.ExitCode != want.ExitCode || !reflect.DeepEqual(got.SandboxDenied, want.SandboxDenied) {
			p.t.Errorf("line %d: %+v, want %+v", st.line, got, want)
		}
	case wire.NotifyProcessClosed:
		var want wire.ProcessClosed
		if err := json.Unmarshal(m.Params, &want); err != nil {
			p.t.Fatal(err)
		}
		c.awaitClose(want.ProcessID)
	default:
		c.await("a "+m.Method, func(g *got) bool { return g.Method == m.Method })
	}
}

var digits = regexp.MustCompile(`\d+`)

// compareOutput compares what the processes have put out, numbers aside.
func (c *played) compareOutput(t *testing.T) {
	for id, streams := range c.text {
		got := c.output(id)
		if unlikeOutput[id] {
			continue
		}
		for stream, want := range streams {
			if a, b := digits.ReplaceAllString(got[wire.Stream(stream)], "N"), digits.ReplaceAllString(want, "N"); a != b {
				t.Errorf("%s %s: %q, want %q", id, stream, a, b)
			}
		}
	}
}
