package conformance

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
)

// underHost is a host under test that is written by hand. It keeps all rules but the one
// that wrong names.
type underHost struct {
	wrong string
	conn  io.ReadWriteCloser
	in    *bufio.Reader

	mu       sync.Mutex
	changed  *sync.Cond // of everything below
	force    map[string]bool
	jobs     map[uint64]*job // requests of the kit
	latest   *job            // the latest stream
	asks     map[uint64]*ask // own requests
	lastID   uint32
	notes    []any
	freed    int // how often conformance/release was called
	waiting  int // requests of conformance/wait
	opened   bool
	deaf     bool // drops the next request
	shutdown bool
	active   map[string]bool // extensions
}

// job is a request of the kit.
type job struct {
	id           uint64
	method       string
	ctx          context.Context
	cancel       context.CancelFunc
	credit, sent uint64
	over         bool
	unheard      bool // its cancel is not heard
}

// ask is an own request.
type ask struct {
	id            uint64
	credit, items uint64
	list          []any
	over, left    bool
	failure       any
	result        any
}

// runUnderHost runs until the stream ends.
func runUnderHost(wrong string) {
	h := &underHost{wrong: wrong, force: make(map[string]bool), jobs: make(map[uint64]*job), asks: make(map[uint64]*ask), active: make(map[string]bool)}
	h.changed = sync.NewCond(&h.mu)
	var bad error
	switch wrong {
	case "P1":
		bad = os.Setenv(sdk.EnvFD, "3")
	case "P3":
		bad = os.Setenv(sdk.EnvToken, strings.Repeat("00", 32))
	}
	conn, err := sdk.Open()
	if err != nil || bad != nil {
		os.Exit(1)
	}
	h.conn, h.in = conn, bufio.NewReader(conn)
	if wrong == "F5" {
		h.in = bufio.NewReaderSize(wholeFrames{conn}, 1<<16)
	}
	for {
		body, err := h.next()
		switch {
		case err == nil:
			h.take(body)
		case wrong == "F11" && !errors.Is(err, io.EOF), wrong == "G2" && h.shutdown, wrong == "G3" && !h.shutdown:
			<-time.After(time.Hour) // does not end; without a timer Go may call it a deadlock, and end
		case wrong == "G7" || !errors.Is(err, io.EOF):
			os.Exit(1)
		default:
			os.Exit(0)
		}
	}
}

// wholeFrames reads from a stream that is thought to hand out whole frames.
type wholeFrames struct{ r io.Reader }

func (w wholeFrames) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err == nil && n < header+1 {
		err = errors.New("a frame in pieces")
	}
	return n, err
}

// next reads a frame. One that breaks the rule that is not kept is skipped.
func (h *underHost) next() ([]byte, error) {
	for {
		if h.wrong == "F6" {
			h.in.Reset(h.conn) // and what has come with the last frame is lost
		}
		body, err := readFrame(h.in)
		var b *breach
		if errors.As(err, &b) && (h.wrong == "F9" && strings.HasPrefix(b.got, "0 ") || h.wrong == "F10" && strings.HasPrefix(b.got, "52428801")) {
			continue
		}
		return body, err
	}
}

// fault says which rule of frames a body breaks.
func fault(body []byte, b *breach) string {
	for _, row := range []struct{ text, rule string }{
		{codec.ErrTrailing.Error(), "F14"}, {codec.ErrDepth.Error(), "F21"}, {codec.ErrElements.Error(), "F22"}, {"unknown kind", "F15"},
		{"elements", "F16"}, {"an id from", "I12"},
	} {
		if strings.Contains(b.got, row.text) || strings.Contains(b.want, row.text) {
			return row.rule
		}
	}
	switch {
	case strings.Contains(b.got, "no method") && len(body) > 1000:
		return "F18"
	case strings.Contains(b.got, "no method"):
		return "F19"
	case len(body) > 10:
		return "F23"
	case body[0] == 0xc1:
		return "F12"
	}
	return "F13"
}

// take handles one message on the loop.
func (h *underHost) take(body []byte) {
	m, b := parse(body)
	if b != nil {
		if fault(body, b) != h.wrong {
			os.Exit(1)
		}
		return
	}
	if !h.opened && (m.kind != codec.Request || m.method != native.MethodInitialize) && m.method != native.MethodInitialized {
		if h.wrong != "O7" {
			os.Exit(1)
		}
		return
	}
	switch {
	case m.kind == codec.Request:
		if !(h.wrong == "F4" && body[1] == 0xcd || h.wrong == "F17" && len(m.method) > 1000 || h.wrong == "I7" && m.id > 65535 || h.wrong == "T1" && m.traced) {
			h.request(m)
		}
	case m.method == native.MethodInitialized:
		h.deaf = h.wrong == "O6" && h.in.Buffered() > 0
	case m.method == "conformance/note":
		h.note(m.payload)
	case m.kind == codec.Notification:
		h.exitIf("A8")
	default:
		h.mu.Lock()
		defer h.mu.Unlock()
		h.later(m)
		h.changed.Broadcast()
	}
}

func (h *underHost) exitIf(rule string) {
	if h.wrong == rule {
		os.Exit(1)
	}
}

// exitUnless ends the connection for what breaks a rule.
func (h *underHost) exitUnless(rule string) {
	if h.wrong != rule {
		os.Exit(1)
	}
}

// later takes in what is about a request. The caller must hold mu.
func (h *underHost) later(m *message) {
	switch m.kind {
	case codec.Cancel, codec.Credit:
		j := h.jobs[m.id]
		switch {
		case len(h.force) == 0:
			h.exitUnless("C6")
		case j == nil:
			h.exitUnless("I10")
		case j.over:
			h.exitIf("I8")
			if j.method == block {
				h.exitIf("X7")
			}
		case m.kind == codec.Credit:
			h.allow(j, m.credit)
		default:
			h.cancel(j)
		}
	case codec.Ack:
		h.exitIf("I9")
	case codec.Item:
		h.item(m)
	case codec.Response:
		h.response(m)
	}
}

func (h *underHost) allow(j *job, n uint64) {
	if h.wrong == "S10" {
		j = h.latest
	}
	if j.credit += n; h.wrong == "S2" {
		j.credit = n
	}
	if j.credit > 1<<32-1 {
		h.exitIf("S11")
	}
}

func (h *underHost) cancel(j *job) {
	if j.unheard || h.wrong == "S8" && j.method == count {
		return
	}
	j.cancel()
	for _, other := range h.jobs {
		if h.wrong == "X4" {
			other.cancel()
		}
	}
}

func (h *underHost) item(m *message) {
	a := h.asks[m.id]
	switch {
	case a == nil:
		os.Exit(1)
	case a.over:
	case a.items >= a.credit:
		h.exitUnless("S15")
	case m.seq != a.items:
		h.exitUnless("S14")
	default:
		a.items++
		a.list = append(a.list, m.payload)
	}
}

func (h *underHost) response(m *message) {
	a := h.asks[m.id]
	if h.wrong == "A9" {
		for id := uint64(1); a != nil && id <= uint64(h.lastID); id++ {
			if !h.asks[id].over {
				a = h.asks[id]
				break
			}
		}
	}
	switch {
	case a == nil || a.over && !a.left:
		h.exitUnless("I11")
	case h.wrong == "I6" && h.jobs[m.id] != nil && !h.jobs[m.id].over, h.wrong == "A10" && len(h.asks) > 50:
	default:
		if a.left && m.failure == nil {
			h.exitIf("X6")
		}
		a.over, a.left, a.failure, a.result = true, false, h.understood(m.failure), m.payload
	}
}

// understood makes a map of the error of an answer.
func (h *underHost) understood(failure any) any {
	switch f := failure.(type) {
	case nil:
		return nil
	case map[string]any:
		if _, odd := f["message"].(string); !odd {
			h.exitIf("E5")
		}
		if depth(f) > 16 {
			h.exitIf("E7")
		}
		if f["name"] == nil || h.wrong == "E4" {
			return map[string]any{"name": "Error", "message": "lost"}
		}
		return map[string]any{"name": f["name"], "message": f["message"]}
	case []any:
		return map[string]any{"name": "Error", "message": f[1]}
	}
	if h.wrong == "E6" {
		return map[string]any{"name": "Error", "message": "lost"}
	}
	return map[string]any{"name": "Error", "message": strings.Trim(show(failure), `"`)}
}

func depth(v any) int {
	if c := field(v, "cause"); c != nil {
		return 1 + depth(c)
	}
	return 0
}

func (h *underHost) note(v any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.wrong == "A11" {
		h.notes = slices.Insert(h.notes, 0, v)
	} else {
		h.notes = append(h.notes, v)
	}
	h.changed.Broadcast()
}

// write sends a message. The caller must hold mu.
func (h *underHost) write(elements ...any) {
	b := pack(elements...)
	if h.opened {
		switch h.wrong {
		case "F1":
			slices.Reverse(b[:header])
		case "F2":
			b = frame(append(b[header:], 0xc0))
		case "F3":
			b = pack(append(elements, 1, 2)...)
		}
	}
	if _, err := h.conn.Write(b); err != nil {
		os.Exit(0)
	}
}
