//go:build unix

package dscode

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// socketDir returns a folder whose path is short enough for a socket in it.
func socketDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ds") //nolint:usetesting // the path of a socket may not have the name of a test in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// harness has both sides of a rendezvous: ours, and a host that the test plays.
type harness struct {
	t  testing.TB
	m  *rendezvous
	ln *net.UnixListener // the host's
	s  codec.Session
	st codec.Stream
	r  codec.Reader
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	m, err := newRendezvous(socketDir(t))
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{t: t, m: m, s: New().Open(codec.Limits{})}
	h.listen()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if h.st, err = m.Connect(ctx); err != nil {
		t.Fatal(err)
	}
	h.r = h.s.NewReader(h.st)
	t.Cleanup(func() {
		h.st.Close()
		if err := m.Close(); err != nil {
			t.Error(err)
		}
		h.ln.Close()
		left, _ := os.ReadDir(filepath.Dir(m.in))
		if len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
	return h
}

func (h *harness) listen() {
	h.t.Helper()
	var err error
	if h.ln, err = net.ListenUnix("unix", &net.UnixAddr{Name: h.m.out, Net: "unix"}); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) accept() *peer {
	h.t.Helper()
	_ = h.ln.SetDeadline(time.Now().Add(time.Minute))
	c, err := h.ln.AcceptUnix()
	if err != nil {
		h.t.Fatal(err)
	}
	return newPeer(h.t, c)
}

func (h *harness) dial() *peer {
	h.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: h.m.in, Net: "unix"})
	if err != nil {
		h.t.Fatal(err)
	}
	return newPeer(h.t, c)
}

func (h *harness) say(m ...codec.Message) {
	h.t.Helper()
	var b []byte
	for i := range m {
		b = must(h.t, h.s, b, m[i])
	}
	if _, err := h.st.Write(b); err != nil {
		h.t.Fatal(err)
	}
}

func (h *harness) next() codec.Message {
	h.t.Helper()
	var m codec.Message
	if err := h.r.Next(&m); err != nil {
		h.t.Fatal(err)
	}
	return m
}

// peer is one socket of the host.
type peer struct {
	*net.UnixConn
	t testing.TB
}

func newPeer(t testing.TB, c *net.UnixConn) *peer {
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &peer{c, t}
}

type wireMessage struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Payload any    `json:"payload"`
}

func (p *peer) say(id, kind string, payload any) {
	p.t.Helper()
	b, err := json.Marshal(wireMessage{id, kind, payload})
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.Write(framed(string(b))); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) hear() wireMessage {
	p.t.Helper()
	m, err := p.read()
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *peer) read() (m wireMessage, err error) {
	var n [4]byte
	if _, err := io.ReadFull(p, n[:]); err != nil {
		return m, err
	}
	b := make([]byte, binary.BigEndian.Uint32(n[:]))
	if _, err := io.ReadFull(p, b); err != nil {
		return m, err
	}
	return m, json.Unmarshal(b, &m)
}

func asks(id uint32, method string) codec.Message {
	return codec.Message{Kind: codec.Request, ID: id, Method: method}
}
