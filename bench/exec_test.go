package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"math"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/bench/peers"
)

func TestChunkBytes(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1000, 8192} {
		chunk := base64.StdEncoding.EncodeToString(make([]byte, n))
		for _, m := range []string{
			`{"method":"process/output","params":{"processId":"p","seq":1,"stream":"stdout","chunk":"` + chunk + `"}}`,
			`{"params":{"chunk":"` + chunk + `","processId":"p"},"method":"process/output"}`,
		} {
			if got := chunkBytes([]byte(m)); got != n {
				t.Errorf("%d bytes in %.100s, want %d", got, m, n)
			}
		}
	}
	for _, m := range []string{`{"method":"process/exited","params":{"chunk":"AAAA"}}`, `{"method":"process/output","params":{}}`, ""} {
		if got := chunkBytes([]byte(m)); got != 0 {
			t.Errorf("%d bytes in %s", got, m)
		}
	}
}

// answering is a server of one request, which is answered after what a server
// may send before.
func answering(t *testing.T, before []byte, frame func(string) []byte) (*execClient, func() string) {
	here, there := net.Pipe()
	heard := make(chan string, 1)
	go func() {
		defer there.Close()
		r := bufio.NewReader(there)
		asked := make([]byte, 6)
		if _, err := io.ReadFull(r, asked); err != nil {
			t.Error(err)
			return
		}
		rest := make(chan string)
		go func() {
			b, _ := io.ReadAll(r) // until the client is closed
			rest <- string(b)
		}()
		_, _ = there.Write(before)
		_, _ = there.Write(frame(strings.Repeat(" ", 70_000) + `{"id":1,"result":{}}`))
		heard <- <-rest
	}()
	t.Cleanup(func() { here.Close() })
	c := newLineClient(here, here)
	return c, func() string {
		here.Close()
		return <-heard
	}
}

func TestExecClientReadsFrames(t *testing.T) {
	frame := func(text string) []byte {
		return append([]byte{frameText, 127, 0, 0, 0, 0, 0, byte(len(text) >> 16), byte(len(text) >> 8), byte(len(text))}, text...)
	}
	before := append([]byte{framePing, 2, 'h', 'i'}, frame(`{"method":"some/thing"}`)...)
	c, heard := answering(t, before, frame)
	c.web = true
	if err := c.ask("environment/status", "null"); err != nil {
		t.Error(err)
	}
	if all := heard(); !strings.HasSuffix(all, "\x8a\x82\x00\x00\x00\x00hi") {
		t.Errorf("a ping is answered with %q", all)
	}
}

func TestExecClientReadsLines(t *testing.T) {
	line := func(text string) []byte { return []byte(text + "\n") }
	c, heard := answering(t, line(`{"method":"some/thing"}`), line)
	if err := c.ask("environment/status", "null"); err != nil {
		t.Error(err)
	}
	heard()
}

func TestExecClientSeesErrors(t *testing.T) {
	line := func(string) []byte { return []byte(`{"error":{"code":-32600,"message":"no"},"id":1}` + "\n") }
	c, heard := answering(t, nil, line)
	if err := c.ask("environment/status", "null"); err == nil || !strings.Contains(err.Error(), "-32600") {
		t.Error(err)
	}
	heard()
}

// What a server says of a command comes in several orders.
func TestRunTrue(t *testing.T) {
	const answer, exited, closed = `{"id":1,"result":{}}`, `{"method":"process/exited"}`, `{"method":"process/closed"}`
	for _, order := range [][]string{{answer, exited, closed}, {exited, answer, closed}, {exited, closed, answer}} {
		c := newLineClient(strings.NewReader(strings.Join(order, "\n")+"\n"), &bytes.Buffer{})
		if d, err := c.runTrue(); err != nil || d <= 0 {
			t.Errorf("%v: %v %v", order, d, err)
		}
	}
	c := newLineClient(strings.NewReader(answer+"\n"+exited+"\n"), &bytes.Buffer{})
	if _, err := c.runTrue(); !errors.Is(err, io.EOF) {
		t.Errorf("of a server that ends: %v", err)
	}
	c = newLineClient(strings.NewReader(`{"error":{},"id":1}`+"\n"), &bytes.Buffer{})
	if _, err := c.runTrue(); err == nil {
		t.Error("a refusal is taken for a start")
	}
}

func TestExecTargets(t *testing.T) {
	ours := execFigures{Ready: 0.5, Idle: 4, Status: 6, True: 9, After: 5, Rate: 301, Output: 301, Peak: 4}
	theirs := execFigures{Ready: 1, Idle: 10, Status: 10, True: 100, After: 10, Rate: 100, Output: 100, Peak: 10}
	for _, c := range []struct {
		stdio float64 // of theirs, for /bin/true
		fails int
	}{{100, 0}, {10, 2}} {
		slow := theirs
		slow.True = c.stdio
		fails := 0
		for _, target := range execTargets(map[contender][]execFigures{
			{"hostsup", "ws"}: {ours}, {"hostsup", execStdio}: {ours}, {"codex", "ws"}: {theirs}, {"codex", execStdio}: {slow},
		}) {
			if !target.met() {
				fails++
			}
		}
		if fails != c.fails {
			t.Errorf("%d promises are not met, want %d", fails, c.fails)
		}
	}
	for _, target := range execTargets(nil) {
		if !math.IsNaN(target.figure) || target.met() {
			t.Errorf("met without a figure: %+v", target)
		}
	}
}

func TestCodexMissing(t *testing.T) {
	t.Setenv("HOSTSUP_CODEX", "")
	if path, err := codexBinary(t.TempDir()); !errors.Is(err, peers.ErrMissing) {
		t.Errorf("%q %v", path, err)
	}
	t.Setenv("HOSTSUP_CODEX", "/some/codex")
	if path, err := codexBinary(t.TempDir()); err != nil || path != "/some/codex" {
		t.Errorf("%q %v", path, err)
	}
}

func TestMemory(t *testing.T) {
	now, err := memory([]int{os.Getpid()}, "VmRSS")
	if err != nil || now < 1<<20 {
		t.Errorf("%v %v", now, err)
	}
	peak, err := memory([]int{os.Getpid()}, "VmHWM")
	if err != nil || peak < 1<<20 {
		t.Errorf("%v %v", peak, err)
	}
	if _, err := memory([]int{os.Getpid()}, "VmNone"); err == nil {
		t.Error("a line that is not there was found")
	}
}
