package conformance

import (
	"math"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

// Methods of a host under test.
const (
	wait    = "conformance/wait"
	release = "conformance/release"
	block   = "conformance/block"
	call    = "conformance/call"
	collect = "conformance/collect"
	count   = "conformance/count"
	notify  = "conformance/notify"
	notes   = "conformance/notes"
)

const blocked = time.Second // how long conformance/block takes

// relay is the params of the methods that have the host send something.
func relay(method string, params any) map[string]any {
	return map[string]any{"method": method, "params": params}
}

// open2 has the host make a request, and returns ours and the host's.
func (p *play) open2(method string, params any) (id uint64, theirs *message) {
	id = p.request(method, params)
	if theirs = p.callOrAnswer(id, text(params, "method")); theirs == nil {
		m := p.response(id) // skips what is not offered
		p.expect("the request %s of the host", text(params, "method"))
		p.fail("the answer without such a request: %s", m.text)
	}
	return id, theirs
}

// release has the one open request of conformance/wait answered. Requests are handled in any
// order, so that a first release may come before the wait.
func (p *play) release() {
	for until := time.Now().Add(p.timeout); ; {
		id := p.request(release, nil)
		n, ok := number(p.result(id), math.MaxUint32)
		p.expect("the number of requests that request %d has released, which becomes 1", id)
		switch {
		case !ok, time.Now().After(until):
			p.fail("%s", p.got)
		case n > 0:
			return
		}
		p.pause(pieces)
	}
}

var idRules = []Rule{
	{ID: "I1", What: "ids of the host are u32 from 1", Level: Required, Method: call, Sentence: "Each side numbers its own requests with a u32 from 1", play: func(p *play) {
		p.open()
		id, m := p.open2(call, relay("kit/a", 1))
		p.send(codec.Response, m.id, nil, "a")
		p.same(id, "a")
	}},
	{ID: "I2", What: "two open requests of the host have different ids", Level: Required, Method: call, Sentence: "An id must not be reused while its request is open.", play: func(p *play) {
		p.open()
		a, first := p.open2(call, relay("kit/a", 1))
		b, second := p.open2(call, relay("kit/b", 2))
		p.send(codec.Response, first.id, nil, "a")
		p.send(codec.Response, second.id, nil, "b")
		p.same(a, "a")
		p.same(b, "b")
	}},
	{ID: "I3", What: "acks and items name requests of hostsup", Level: Required, Sentence: "1, 3 and 5 refer to a request that the receiver of the message made", play: func(p *play) {
		p.open()
		p.rest(block, map[string]any{"ms": 50})
		p.alive()
		p.still()
	}},
	{ID: "I4", What: "cancels and credit name requests of the host", Level: Required, Needs: "stream", Method: collect, Sentence: "4 and 6 to one that its sender made", play: func(p *play) {
		p.open()
		p.need("stream")
		id, m := p.open2(collect, relay("kit/a", 1))
		p.send(codec.Response, m.id, nil, nil)
		p.same(id, []any{})
	}},
	{ID: "I5", What: "answers name requests of hostsup", Level: Required, Sentence: "so does a response to a request that is not open", play: func(p *play) {
		p.open()
		p.alive()
		p.still()
	}},
	{ID: "I6", What: "requests of both sides with the same id are not mixed up", Level: Required, Method: call, Sentence: "the two number spaces are independent", play: func(p *play) {
		p.open()
		p.last = 0x0fffffff
		_, m := p.open2(call, relay("kit/a", 1))
		id := p.requestAs(uint32(m.id)+1, call, relay("kit/b", 2)) // the id of the next request of the host, most likely
		next := p.callOrAnswer(id, "kit/b")
		p.send(codec.Response, next.id, nil, "b")
		p.same(id, "b")
		p.send(codec.Response, m.id, nil, "a")
		p.same(uint64(p.last), "a")
	}},
	{ID: "I7", What: "ids of up to 32 bits with gaps are answered", Level: Required, Sentence: "Each side numbers its own requests with a u32 from 1", play: func(p *play) {
		p.open()
		for _, id := range []uint32{255, 65536, math.MaxInt32 + 1, math.MaxUint32} {
			p.requestAs(id, "conformance-unknown", nil)
			p.expect("an answer to request %d", id)
			p.response(uint64(id))
		}
	}},
	{ID: "I8", What: "a cancel and credit after the answer are ignored", Level: Required, Needs: "cancel", Sentence: "An ack, cancel, item or credit for a request that is finished is ignored", play: func(p *play) {
		p.open()
		p.need("cancel")
		p.alive()
		p.send(codec.Cancel, p.last)
		if p.force["stream"] {
			p.send(codec.Credit, p.last, uint32(5))
		}
		p.alive()
	}},
	{ID: "I9", What: "an ack is accepted; after the answer, an ack and an item are ignored", Level: Required, Needs: "ack", Method: call, Sentence: "An ack, cancel, item or credit for a request that is finished is ignored", play: func(p *play) {
		p.open()
		p.need("ack")
		id, m := p.open2(call, relay("kit/a", 1))
		p.send(codec.Ack, m.id)
		p.send(codec.Response, m.id, nil, "a")
		p.same(id, "a")
		p.send(codec.Ack, m.id)
		if p.force["stream"] {
			p.send(codec.Item, m.id, 0, nil)
		}
		p.alive()
	}},
	{ID: "I10", What: "a cancel of an id that was never used ends the connection", Level: Advised, Needs: "cancel", Sentence: "one for an id that was never used ends the connection", play: func(p *play) {
		p.open()
		p.need("cancel")
		p.send(codec.Cancel, uint32(999))
		p.ends()
	}},
	{ID: "I11", What: "an answer to no request ends the connection", Level: Advised, Sentence: "so does a response to a request that is not open", play: refused(codec.Response, uint32(999), nil, 1)},
	{ID: "I12", What: "a request with id 0 ends the connection", Level: Advised, Sentence: "Each side numbers its own requests with a u32 from 1", play: refused(codec.Request, uint32(0), "conformance-unknown", nil)},
}

var answerRules = []Rule{
	{ID: "A1", What: "no request is answered twice", Level: Required, Sentence: "A request is answered exactly once, in any order.", play: func(p *play) {
		p.open()
		p.alive()
		p.alive()
		p.still()
	}},
	{ID: "A2", What: "other requests are answered while one is open", Level: Required, Method: wait, Sentence: "An acknowledged request may take for ever", play: func(p *play) {
		p.open()
		id := p.request(wait, nil)
		p.alive()
		p.still()
		if p.mine[id].over {
			p.result(id)
		}
		p.release()
		p.same(id, "released")
	}},
	{ID: "A3", What: "the ack precedes a handler that blocks", Level: Required, Needs: "ack", Method: block, play: acked(true),
		Sentence: "With `ack`, the receiver sends `[3, id]` for every request whose answer does not leave in the same turn of its loop, before the loop waits again"},
	{ID: "A4", What: "the ack precedes a handler that waits", Level: Required, Needs: "ack", Method: block, play: acked(false),
		Sentence: "With `ack`, the receiver sends `[3, id]` for every request whose answer does not leave in the same turn of its loop, before the loop waits again"},
	{ID: "A5", What: "a ping is answered with nil", Level: Required, Needs: "ping", Sentence: "With `ping`, hostsup sends the request `$/ping`, params nil, from time to time; the answer is nil", play: func(p *play) {
		p.open()
		p.need("ping")
		p.same(p.request(native.MethodPing, nil), nil)
	}},
	{ID: "A6", What: "pings are answered while a request is open", Level: Required, Needs: "ping", Method: wait, Sentence: "from time to time; the answer is nil, from the same loop.", play: func(p *play) {
		p.open()
		p.need("ping")
		id := p.request(wait, nil)
		for range 3 {
			p.same(p.request(native.MethodPing, nil), nil)
		}
		p.release()
		p.same(id, "released")
	}},
	{ID: "A7", What: "an unknown method is answered with MethodNotFound", Level: Required, Sentence: "A method that a side does not have is answered with `MethodNotFound`", play: func(p *play) {
		p.open()
		p.failure(p.request("conformance-unknown", nil), codec.NameMethodNotFound)
	}},
	{ID: "A8", What: "an unknown notification is ignored", Level: Required, Sentence: "a notification of such a method is ignored", play: func(p *play) {
		p.open()
		p.send(codec.Notification, "conformance-unknown", map[string]any{"a": 1})
		p.alive()
	}},
	{ID: "A9", What: "answers of hostsup may come in any order", Level: Required, Method: call, Sentence: "A request is answered exactly once, in any order.", play: func(p *play) {
		p.open()
		a, first := p.open2(call, relay("kit/a", 1))
		b, second := p.open2(call, relay("kit/b", 2))
		if p.force["ack"] {
			p.send(codec.Ack, first.id)
			p.send(codec.Ack, second.id)
		}
		p.send(codec.Response, second.id, nil, "b")
		p.same(b, "b")
		p.send(codec.Response, first.id, nil, "a")
		p.same(a, "a")
	}},
	{ID: "A10", What: "a hundred requests of the host at a time each get their own answer", Level: Required, Method: call, Sentence: "A request is answered exactly once, in any order.", play: func(p *play) {
		p.open()
		const n = 100
		id, m := p.open2(call, relay("kit/a", 0))
		ids := []uint64{id}
		p.inbox = append(p.inbox, m)
		for i := 1; i < n; i++ {
			ids = append(ids, p.request(call, relay("kit/a", i)))
		}
		for range n {
			m := p.asked("kit/a")
			p.send(codec.Response, m.id, nil, m.payload)
		}
		for i, id := range ids {
			p.same(id, i)
		}
	}},
	{ID: "A11", What: "notifications keep their order", Level: Required, Method: notes, Sentence: "Notifications are handled in the order in which they are sent.", play: func(p *play) {
		p.open()
		var want []any
		for i := range 50 {
			p.send(codec.Notification, "conformance/note", i)
			want = append(want, i)
		}
		p.same(p.request(notes, map[string]any{"n": 50}), want)
	}},
	{ID: "A12", What: "the host sends notifications", Level: Required, Method: notify, Sentence: "`[2, method, params]`", play: func(p *play) {
		p.open()
		id := p.request(notify, relay("kit/note", []any{"x", 1}))
		p.result(id)
		p.expect("the notification kit/note of the host, before the answer to request %d", id)
		for _, m := range p.inbox {
			if m.kind == codec.Notification && m.method == "kit/note" && equal(m.payload, []any{"x", 1}) {
				p.found(m)
				return
			}
		}
		p.fail("%s", p.silence())
	}},
}

// acked returns a play: a request that blocks the host's code is acknowledged before.
func acked(sync bool) func(*play) {
	return func(p *play) {
		p.open()
		p.need("ack")
		id := p.request(block, map[string]any{"ms": blocked.Milliseconds(), "sync": sync})
		p.expect("the ack of request %d well before its answer, which takes %v", id, blocked)
		first := p.find(func(m *message) bool { return (m.kind == codec.Ack || m.kind == codec.Response) && m.id == id })
		if first.kind == codec.Response {
			p.inbox = append(p.inbox, first)
			p.result(id) // skips what is not offered
			p.expect("the ack of request %d well before its answer, which takes %v", id, blocked)
			p.fail("the answer without an ack: %s", first.text)
		}
		p.result(id)
		p.expect("the ack of request %d well before its answer, which takes %v", id, blocked)
		if lead := p.answeredAt(id).Sub(first.at); lead < blocked/4 {
			p.fail("the ack %v before the answer", lead.Round(time.Millisecond))
		}
		p.found(first)
	}
}
