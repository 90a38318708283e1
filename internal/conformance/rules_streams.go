package conformance

import (
	"math"

	"github.com/hostsup/hostsup/codec"
)

const cancelled = codec.NameCancelled

// outcome waits for the answer to a request that was cancelled: the error Cancelled or a
// result.
func (p *play) outcome(id uint64) *message {
	p.expect("the error Cancelled, or a result, of request %d", id)
	m := p.response(id)
	if m.failure != nil && text(m.failure, "name") != cancelled {
		p.fail("%s", m.text)
	}
	return m
}

const mustAnswer = "the receiver must still answer, with the error `Cancelled` or with the result if that was faster."

var cancelRules = []Rule{
	{ID: "X1", What: "a cancelled request is answered once", Level: Required, Needs: "cancel", Method: wait, Sentence: mustAnswer, play: func(p *play) {
		p.open()
		p.need("cancel")
		id := p.request(wait, nil)
		p.alive()
		p.send(codec.Cancel, id)
		p.expect("an answer to request %d, which was cancelled", id)
		p.response(id)
		p.still()
	}},
	{ID: "X2", What: "a cancelled request that waits is answered with Cancelled", Level: Required, Needs: "cancel", Method: wait, Sentence: mustAnswer, play: func(p *play) {
		p.open()
		p.need("cancel")
		id := p.request(wait, nil)
		p.alive()
		p.send(codec.Cancel, id)
		p.failure(id, cancelled)
	}},
	{ID: "X3", What: "a cancel in one piece with its request is obeyed", Level: Required, Needs: "cancel", Method: wait, Sentence: "A cancel does not end the request", play: func(p *play) {
		p.open()
		p.need("cancel")
		p.last++
		id := uint64(p.last)
		p.note([]any{codec.Request, p.last, wait})
		p.note([]any{codec.Cancel, p.last})
		p.write(append(pack(codec.Request, p.last, wait, nil), pack(codec.Cancel, p.last)...), "a request of conformance/wait and its cancel in one piece")
		p.outcome(id)
		p.still()
	}},
	{ID: "X4", What: "a cancel does not touch other requests", Level: Required, Needs: "cancel", Method: wait, Sentence: "`[4, id]` the caller no longer wants the result", play: func(p *play) {
		p.open()
		p.need("cancel")
		a, b := p.request(wait, nil), p.request(wait, nil)
		p.alive()
		p.send(codec.Cancel, a)
		p.outcome(a)
		p.alive()
		p.release()
		p.same(b, "released")
	}},
	{ID: "X5", What: "the host cancels requests whose caller has cancelled", Level: Required, Needs: "cancel", Method: call, Sentence: "`[4, id]` the caller no longer wants the result", play: func(p *play) {
		p.open()
		p.need("cancel")
		id, m := p.open2(call, relay("kit/a", 1))
		p.send(codec.Cancel, id)
		p.expect("the host cancels its request %d, because its own caller has cancelled", m.id)
		p.find(func(c *message) bool { return c.kind == codec.Cancel && c.id == m.id })
		p.send(codec.Response, m.id, map[string]any{"name": cancelled, "message": "cancelled"}, nil)
		p.outcome(id)
	}},
	{ID: "X6", What: "a result that comes after the cancel of the host is accepted", Level: Required, Needs: "cancel", Method: call, Sentence: "A cancel does not end the request", play: func(p *play) {
		p.open()
		p.need("cancel")
		id, m := p.open2(call, relay("kit/a", 1))
		p.send(codec.Cancel, id)
		p.find(func(c *message) bool { return c.kind == codec.Cancel && c.id == m.id })
		p.send(codec.Response, m.id, nil, "late")
		p.outcome(id)
		p.alive()
	}},
	{ID: "X7", What: "a cancel of a request that blocks, and one after its answer, do no harm", Level: Required, Needs: "cancel", Method: block, Sentence: mustAnswer, play: func(p *play) {
		p.open()
		p.need("cancel")
		id := p.request(block, map[string]any{"ms": 50, "sync": true})
		p.send(codec.Cancel, id)
		p.outcome(id)
		p.send(codec.Cancel, id)
		p.still()
		p.alive()
	}},
}

// stream opens a stream with credit; 0: without.
func (p *play) stream(n int, wait bool, credit uint32) uint64 {
	params := map[string]any{"n": n, "wait": wait}
	if credit == 0 {
		return p.request(count, params)
	}
	p.last++
	p.together([]any{codec.Request, p.last, count, params}, []any{codec.Credit, p.last, credit})
	return uint64(p.last)
}

// items waits for items first to last-1 of a stream that counts.
func (p *play) items(id uint64, first, last int) {
	for i := first; i < last; i++ {
		p.expect("item %d of request %d", i, id)
		m := p.find(func(m *message) bool { return (m.kind == codec.Item || m.kind == codec.Response) && m.id == id })
		if m.kind == codec.Response {
			p.inbox = append(p.inbox, m)
			p.result(id) // skips what is not offered
			p.fail("the end of the stream: %s", m.text)
		}
		if !equal(m.payload, i) {
			p.fail("%s", m.text)
		}
	}
}

// give sends the items of a result of the host, which waits for them, as its credit allows,
// and returns how many.
func (p *play) give(m *message, n int) {
	for i := range n {
		for p.expect("credit for item %d of request %d of the host", i, m.id); p.theirs[m.id].credit <= uint64(i); {
			c := p.find(func(c *message) bool { return c.kind == codec.Credit && c.id == m.id })
			p.found(c)
		}
		p.send(codec.Item, m.id, i, i)
	}
}

// firstCredit waits for the first credit of a request of the host.
func (p *play) firstCredit(m *message) {
	p.expect("credit of the host directly after its request %d", m.id)
	p.find(func(c *message) bool { return c.kind == codec.Credit && c.id == m.id })
}

func upTo(n int) []any {
	out := make([]any, n)
	for i := range out {
		out[i] = i
	}
	return out
}

var streamRules = []Rule{
	{ID: "S1", What: "no item without credit", Level: Required, Needs: "stream", Method: count, Sentence: "Credit starts at 0 and adds up; every item uses one.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(10, false, 3)
		p.items(id, 0, 3)
		p.still()
		p.send(codec.Credit, id, uint32(7))
		p.items(id, 3, 10)
		p.same(id, nil)
	}},
	{ID: "S2", What: "credit adds up", Level: Required, Needs: "stream", Method: count, Sentence: "Credit starts at 0 and adds up; every item uses one.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(10, false, 2)
		p.send(codec.Credit, id, uint32(3))
		p.items(id, 0, 5)
		p.send(codec.Credit, id, uint32(5))
		p.items(id, 5, 10)
		p.same(id, nil)
	}},
	{ID: "S3", What: "seq counts from 0", Level: Required, Needs: "stream", Method: count, Sentence: "`seq` counts from 0.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(3, false, 3)
		p.items(id, 0, 3)
	}},
	{ID: "S4", What: "the stream ends although credit is left", Level: Required, Needs: "stream", Method: count, Sentence: "The response ends the stream, whatever credit is left", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(3, false, 100)
		p.items(id, 0, 3)
		p.same(id, nil)
	}},
	{ID: "S5", What: "no item after the response", Level: Required, Needs: "stream", Method: count, Sentence: "The response ends the stream, whatever credit is left", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(3, false, 100)
		p.items(id, 0, 3)
		p.response(id)
		p.still()
	}},
	{ID: "S6", What: "without credit: one value, or nothing", Level: Required, Needs: "stream", Method: count, Sentence: "A receiver of a request without credit answers with one value, or waits for credit.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(3, false, 0)
		p.alive()
		p.still()
		if p.mine[id].over {
			p.same(id, upTo(3))
			return
		}
		p.send(codec.Credit, id, uint32(3))
		p.expect("items, or the whole list, of request %d", id)
		m := p.find(func(m *message) bool { return (m.kind == codec.Item || m.kind == codec.Response) && m.id == id })
		p.inbox = append([]*message{m}, p.inbox...)
		if m.kind == codec.Response {
			p.same(id, upTo(3))
			return
		}
		p.items(id, 0, 3)
		p.same(id, nil)
	}},
	{ID: "S7", What: "a stream without credit does not hold up other requests", Level: Required, Needs: "stream", Method: count, Sentence: "A receiver of a request without credit answers with one value, or waits for credit.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(5, false, 2)
		p.items(id, 0, 2)
		p.alive()
		p.alive()
		p.send(codec.Credit, id, uint32(3))
		p.items(id, 2, 5)
		p.same(id, nil)
	}},
	{ID: "S8", What: "a stream that waits can be cancelled", Level: Required, Needs: "cancel", Method: count, Sentence: mustAnswer, play: func(p *play) {
		p.open()
		p.need("stream", "cancel")
		id := p.stream(10, true, 2)
		p.items(id, 0, 2)
		p.send(codec.Cancel, id)
		p.failure(id, cancelled)
		p.still()
	}},
	{ID: "S9", What: "ten thousand items come whole and in order", Level: Required, Needs: "stream", Method: count, Sentence: "Credit starts at 0 and adds up; every item uses one.", play: func(p *play) {
		p.open()
		p.need("stream")
		const n, window = 10000, 500
		id := p.stream(n, false, window)
		for first := 0; first < n; first += window {
			p.items(id, first, first+window)
			p.send(codec.Credit, id, uint32(window))
		}
		p.same(id, nil)
	}},
	{ID: "S10", What: "each stream has its own credit", Level: Required, Needs: "stream", Method: count, Sentence: "`[6, id, n]` the caller allows n more items", play: func(p *play) {
		p.open()
		p.need("stream")
		a, b := p.stream(6, false, 3), p.stream(6, false, 1)
		p.items(b, 0, 1)
		p.items(a, 0, 3)
		p.send(codec.Credit, b, uint32(5))
		p.items(b, 1, 6)
		p.same(b, nil)
		p.send(codec.Credit, a, uint32(3))
		p.items(a, 3, 6)
		p.same(a, nil)
	}},
	{ID: "S11", What: "the largest credit, twice, does no harm", Level: Required, Needs: "stream", Method: count, Sentence: "Credit starts at 0 and adds up; every item uses one.", play: func(p *play) {
		p.open()
		p.need("stream")
		id := p.stream(100, true, math.MaxUint32) // open, so that the second one counts
		p.send(codec.Credit, id, uint32(math.MaxUint32))
		p.items(id, 0, 100)
		p.alive()
	}},
	{ID: "S12", What: "the host gives credit directly after its request", Level: Required, Needs: "stream", Method: collect, Sentence: "A caller that accepts items sends `[6, id, n]` directly after the request.", play: func(p *play) {
		p.open()
		p.need("stream")
		id, m := p.open2(collect, relay("kit/a", 1))
		p.firstCredit(m)
		p.send(codec.Item, m.id, 0, 0)
		p.send(codec.Response, m.id, nil, nil)
		p.same(id, upTo(1))
	}},
	{ID: "S13", What: "the host goes on giving credit, and takes 5000 items in order", Level: Required, Needs: "stream", Method: collect, Sentence: "`[6, id, n]` the caller allows n more items", play: func(p *play) {
		p.open()
		p.need("stream")
		id, m := p.open2(collect, relay("kit/a", 1))
		p.give(m, 5000)
		p.send(codec.Response, m.id, nil, nil)
		p.same(id, upTo(5000))
	}},
	{ID: "S14", What: "an item out of sequence ends the connection", Level: Advised, Needs: "stream", Method: collect, Sentence: "An item without credit, or out of sequence, ends the connection.", play: func(p *play) {
		p.open()
		p.need("stream")
		_, m := p.open2(collect, relay("kit/a", 1))
		p.firstCredit(m)
		p.send(codec.Item, m.id, 1, "out of sequence")
		p.ends()
	}},
	{ID: "S15", What: "an item without credit ends the connection", Level: Advised, Needs: "stream", Method: call, Sentence: "An item without credit, or out of sequence, ends the connection.", play: func(p *play) {
		p.open()
		p.need("stream")
		_, m := p.open2(call, relay("kit/a", 1))
		p.send(codec.Item, m.id, 0, "without credit")
		p.ends()
	}},
	{ID: "S16", What: "the host cancels a stream that it leaves early", Level: Required, Needs: "cancel", Method: collect, Sentence: "`[4, id]` the caller no longer wants the result", play: func(p *play) {
		p.open()
		p.need("stream", "cancel")
		params := relay("kit/a", 1)
		params["max"] = 2
		id, m := p.open2(collect, params)
		p.give(m, 2)
		p.expect("the host cancels its request %d, whose items it no longer wants", m.id)
		p.find(func(c *message) bool { return c.kind == codec.Cancel && c.id == m.id })
		p.send(codec.Response, m.id, map[string]any{"name": cancelled, "message": "cancelled"}, nil)
		p.same(id, upTo(2))
		p.alive()
	}},
}
