package server

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// readProcess answers process/read: at once, unless there is no news and the client
// asked to wait.
func (c *conn) readProcess(q *wire.ProcessReadParams, r reply) {
	c.mu.Lock()
	c.asked = time.Now()
	c.mu.Unlock()
	c.withProcess(q.ProcessID, r, unknownProcess(q.ProcessID), func(p *process) {
		if p.isVoid() {
			r.fail(unknownProcess(q.ProcessID))
			return
		}
		if q.WaitMs == nil || *q.WaitMs == 0 {
			p.read(r, q)
			return
		}
		if b, next, _ := p.readOrWait(r, q); b != nil {
			p.answerRead(r, q, b, next)
			return
		}
		waits, ok := r.park()
		if !ok {
			p.read(r, q) // as when nothing has come in time
			return
		}
		c.handlers.Go(func() { p.poll(c, q, waits) })
	})
}

// poll waits for news, at most as long as the client asked for.
func (p *process) poll(c *conn, q *wire.ProcessReadParams, r reply) {
	wait := time.Duration(math.MaxInt64)
	if ms := *q.WaitMs; ms < uint64(wait/time.Millisecond) {
		wait = time.Duration(ms) * time.Millisecond
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		b, next, changed := p.readOrWait(r, q)
		if b != nil {
			p.answerRead(r, q, b, next)
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			p.read(r, q)
			return
		case <-c.ctx.Done():
			r.finish()
			return
		}
	}
}

// readOrWait reads if there is news for q. Otherwise it returns a channel that is
// closed at the next event. next is the first event that the answer does not have.
func (p *process) readOrWait(r reply, q *wire.ProcessReadParams) (b []byte, next uint64, changed <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := afterSeq(q)
	news := p.closed || p.ended || p.kept.from(after+1) < p.kept.n || p.exited && after < p.nextSeq-1
	if news {
		b, next = p.appendRead(r, q)
		return b, next, nil
	}
	if p.changed == nil {
		p.changed = make(chan struct{})
	}
	return nil, 0, p.changed
}

// read answers with what there is.
func (p *process) read(r reply, q *wire.ProcessReadParams) {
	p.mu.Lock()
	b, next := p.appendRead(r, q)
	p.mu.Unlock()
	p.answerRead(r, q, b, next)
}

// answerRead sends an answer that has the events before next. The output is held
// until the answer is queued, so that later output cannot be sent before it.
func (p *process) answerRead(r reply, q *wire.ProcessReadParams, b []byte, next uint64) {
	r.raw(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked(r.c, afterSeq(q)+1, next)
}

func afterSeq(q *wire.ProcessReadParams) uint64 {
	if q.AfterSeq == nil {
		return 0
	}
	return min(*q.AfterSeq, math.MaxUint64-1)
}

// appendRead encodes the answer. The caller must hold the lock.
func (p *process) appendRead(r reply, q *wire.ProcessReadParams) (b []byte, next uint64) {
	after, limit := afterSeq(q), uint64(math.MaxInt64)
	if q.MaxBytes != nil {
		limit = uint64(*q.MaxBytes)
	}
	i := p.kept.from(after + 1)
	n, sum := 0, uint64(0)
	for j := i; j < p.kept.n; j++ {
		size := uint64(len(p.kept.at(j).data))
		if n > 0 && sum+size > limit {
			break
		}
		sum += size
		n++
	}
	b = make([]byte, 0, 256+int(sum)*4/3+n*64)
	b = append(b, `{"id":`...)
	b = r.id.AppendJSON(b)
	b = append(b, `,"result":{"chunks":[`...)
	next = p.nextSeq
	for j := i; j < i+n; j++ {
		k := p.kept.at(j)
		if j > i {
			b = append(b, ',')
		}
		b = wire.AppendChunk(b, k.seq, k.stream, k.data)
	}
	if n > 0 && q.MaxBytes != nil { // the client cannot tell whether there is more
		next = p.kept.at(i+n-1).seq + 1
	}
	code := "null"
	if p.exited {
		code = strconv.Itoa(int(p.code))
	}
	b = fmt.Appendf(b, `],"nextSeq":%d,"exited":%t,"exitCode":%s,"closed":%t,"failure":null,"sandboxDenied":%t`, next, p.exited, code, p.closed, p.denied)
	if p.kept.lostThrough > after {
		b = fmt.Appendf(b, `,"lost":{"throughSeq":%d,"chunks":%d,"bytes":%d}`, p.kept.lostThrough, p.kept.lostChunks, p.kept.lostBytes)
	}
	return append(b, `}}`...), next
}
