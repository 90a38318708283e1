package simulation

import (
	"context"
	"sync"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// Streamed results of hosts, and rows of requests and notifications.

// ahead is how many items a process may send that the caller's loop has not asked for yet.
const ahead = 64

// firstItem is the value of the first item of a result; the result itself is the number of the
// call.
const firstItem = 1 << 20

// stream is a request that a process answers with items, or not before it is canceled.
type stream struct {
	h    *speaker
	c    *call // nil: it waits for a cancel
	id   uint32
	how  string // the method
	kick chan struct{}
	dice *dice

	mu       sync.Mutex
	credit   int
	canceled bool
}

// stream answers a request with items.
func (h *speaker) stream(m *codec.Message, c *call, how string) {
	s := &stream{h: h, c: c, id: m.ID, how: how, kick: make(chan struct{}, 1)}
	if c != nil {
		s.dice = h.p.m.dice("items %d by %d", c.id, h.p.life)
	}
	h.mu.Lock()
	h.streams[m.ID] = s
	h.mu.Unlock()
	h.p.m.Go(s.pump)
}

// pump sends the items.
func (s *stream) pump() {
	p := s.h.p
	for seq := 0; ; seq++ {
		switch {
		case seq == s.c.n:
			if s.h.finish(s.id) && p.runs() {
				s.h.say(&codec.Message{Kind: codec.Response, ID: s.id, Result: number(s.c.id)})
			}
			return
		case s.how == cut && seq == s.c.n/2:
			p.exit(sandbox.Exit{Code: 6})
			return
		}
		if !s.await() || !p.runs() {
			return
		}
		if s.how == skip && seq == s.c.n/2 {
			seq++
			p.m.check.breaks(p, s.c, true)
		}
		if s.dice.chance(0.1) {
			time.Sleep(s.dice.within(p.do.think))
		}
		p.m.check.sends(s.c)
		s.h.say(&codec.Message{Kind: codec.Item, ID: s.id, Seq: uint32(seq), Result: number(firstItem + seq)})
	}
}

// await waits for credit, and takes one. It reports whether the stream goes on.
func (s *stream) await() bool {
	for {
		s.mu.Lock()
		canceled, now := s.canceled, s.credit > 0
		if now {
			s.credit--
		}
		s.mu.Unlock()
		switch {
		case canceled:
			return false
		case now:
			return true
		case s.how == spill:
			s.h.p.m.check.breaks(s.h.p, s.c, false)
			return true
		}
		select {
		case <-s.kick:
		case <-s.h.p.dead:
			return false
		}
	}
}

// finish ends a stream, and reports whether it was open.
func (h *speaker) finish(id uint32) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.streams[id]
	delete(h.streams, id)
	if s != nil && s.c != nil {
		h.p.m.check.finished(s.c)
	}
	return s != nil
}

// hearOfStream takes in credit and cancels.
func (h *speaker) hearOfStream(m *codec.Message) {
	h.mu.Lock()
	s, read := h.streams[m.ID], h.read
	h.mu.Unlock()
	switch {
	case m.ID > read:
		h.p.m.check.wrong("%s, life %d: %s for request %d, which is not made", h.p.host, h.p.life, m.Kind, m.ID)
	case s == nil: // it is answered
	case m.Kind == codec.Cancel:
		if h.finish(m.ID) {
			h.say(&codec.Message{Kind: codec.Response, ID: m.ID, Err: &codec.Error{Name: codec.NameCancelled, Message: "as asked"}})
		}
		s.mu.Lock()
		s.canceled = true
		s.mu.Unlock()
		s.wake()
	case s.c != nil:
		h.p.m.check.allowed(s.c, int(m.Credit))
		s.mu.Lock()
		s.credit += int(m.Credit)
		s.mu.Unlock()
		s.wake()
	}
}

func (s *stream) wake() {
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// stream makes one call with items, and reports what comes.
func (t *teller) stream(ctx context.Context, h *supervisor.Host, st step) {
	c := &call{host: st.host, method: st.args[0], n: t.number(st, "n")}
	ctx, done := t.cancels(ctx, c, st)
	defer done()
	pause, leave := t.duration(st, "pause"), t.number(st, "leave")
	t.check.called(c)
	var result int
	dice := t.m.dice("pauses %s", st.turn)
	for raw, err := range h.Stream(ctx, c.method, c.id) {
		t.m.turn(st.turn)
		if err != nil {
			t.check.answered(c, 0, err)
			return
		}
		var v int
		if err := msgpack.Unmarshal(raw, &v); err != nil {
			t.check.wrong("call %d: %v", c.id, err)
		}
		if v < firstItem {
			result = v
			continue
		}
		t.check.item(c, v-firstItem)
		if c.taken == leave {
			t.check.left(c)
			return
		}
		if pause > 0 {
			time.Sleep(dice.within(pause))
			t.check.ready(c)
		}
	}
	t.check.answered(c, result, nil)
}

// ask has a process make requests.
func (t *teller) ask(p *process, st step) {
	p.mu.Lock()
	h := p.talk
	p.mu.Unlock()
	if h == nil {
		return
	}
	for range max(1, t.number(st, "times")) {
		if !h.open.Load() || p.isFrozen() {
			return
		}
		h.ask(st.args[0], t.number(st, "n"), t.number(st, "chunk"), t.duration(st, "cancel"))
	}
}

// notify sends a row of notifications, each when the one before is taken.
func (t *teller) notify(ctx context.Context, h *supervisor.Host, st step) {
	sender := t.check.sender()
	for n := range t.number(st, "n") {
		life := t.check.greetedLife(st.host)
		err := h.Notify(ctx, "note", [2]int{sender, n + 1})
		t.m.turn(st.turn)
		t.check.told(st.host, sender, n+1, err == nil, life)
	}
}
