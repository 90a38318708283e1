package execserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// receive takes an event that came over l. It must only be called on the goroutine
// that reads l, and may wait for a subscriber.
func (p *Process) receive(l *link, e Event) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	if p.token != "" && e.Seq > p.seq.last+1 {
		// An observer gets events in order: those that are missing are gone.
		p.seq.skipTo(e.Seq)
	}
	full := p.seq.over
	p.ready = p.seq.push(e, p.ready[:0])
	slow := p.publish(p.ready)
	clear(p.ready)
	p.watchGap()
	overfull := p.seq.over > full
	p.mu.Unlock()
	if overfull {
		p.c.work(p.fill)
	}
	if slow != nil {
		l.stall(slow)
	}
}

// skip gives up the events before next, which will not come.
func (p *Process) skip(next uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && next > p.seq.last+1 {
		p.publish(p.seq.skipTo(next))
	}
}

// publish gives events to all subscribers and returns one that is too slow, if
// any. The caller must hold mu.
func (p *Process) publish(events []Event) (slow *Subscription) {
	for _, e := range events {
		p.log.add(e)
		for _, s := range p.subs {
			s.add(e)
			if s.overflow == Keep && s.queue.slow() {
				slow = s
			}
		}
		switch e.Kind {
		case Exited:
			p.exit = Exit{Code: e.ExitCode, SandboxDenied: e.SandboxDenied}
			close(p.exited)
		case Closed, Failed:
			p.err = e.Err
			p.end()
		}
	}
	return slow
}

// end is called after the last event. The caller must hold mu.
func (p *Process) end() {
	p.ended, p.subs = true, nil
	if p.gap != nil {
		p.gap.Stop()
		p.gap = nil
	}
	close(p.done)
	p.c.forget(p)
	if p.err == nil && p.token == "" {
		// The server also kills what the process has left behind with other output.
		if l := p.c.current(); l != nil {
			p.c.terminate(l, p.id)
		}
	}
}

// fail ends the process for a reason, unless it has ended.
func (p *Process) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.publish([]Event{{Kind: Failed, Err: err}})
	}
}

// watchGap runs a timer while something is missing. The caller must hold mu.
func (p *Process) watchGap() {
	switch missing := p.seq.waits(); {
	case p.ended, missing == (p.gap != nil):
	case missing:
		p.gap = time.AfterFunc(gapPatience, func() {
			p.mu.Lock()
			mine := p.gap != nil && !p.ended
			p.gap = nil
			p.mu.Unlock()
			if mine {
				p.c.work(p.fill)
			}
		})
	default:
		p.gap.Stop()
		p.gap = nil
	}
}

// fill reads what is missing. Without a connection, or when it ends, the recovery of
// the session does that; and a connection over which events come already does not
// count before it is initialized.
func (p *Process) fill() {
	if l := p.c.current(); l != nil {
		_ = p.refill(p.c.ctx, l) // of an end of the connection others are told
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchGap()
}

// refillBytes bounds the output of one answer while what was missed is read: a
// connection that does not last long gets through with a part of it, and the
// next one goes on from there.
const refillBytes = 512 << 10

// refill reads until nothing is missing. What the server no longer has ends the
// process. An error is one of the connection.
func (p *Process) refill(ctx context.Context, l *link) error {
	select {
	case p.filling <- struct{}{}:
		defer func() { <-p.filling }()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.done:
		return nil
	}
	for stuck := 0; ; {
		p.mu.Lock()
		after, ended := p.seq.last, p.ended
		p.mu.Unlock()
		if ended {
			return nil
		}
		if p.token != "" {
			return p.attach(ctx, l, after)
		}
		got, err := p.readOnce(ctx, l, after)
		var refused *RequestError
		if errors.As(err, &refused) || errors.Is(err, ErrProtocol) {
			p.fail(fmt.Errorf("process %q: %w", p.id, err))
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case got.verdict == lost:
			p.c.terminate(l, p.id)
			p.fail(&LostError{UpTo: got.upTo})
			return nil
		case got.progress && got.size >= refillBytes/2:
			stuck = 0 // it may have been cut there
		case got.ended, got.verdict == caughtUp:
			return nil
		case got.progress:
			stuck = 0
		case stuck+1 < stuckReads:
			stuck++
		case got.missing:
			p.c.terminate(l, p.id)
			p.fail(&LostError{UpTo: got.upTo})
			return nil
		default:
			return nil // the rest comes as events
		}
	}
}

// absorbed is what one read has brought.
type absorbed struct {
	verdict  verdict
	upTo     uint64
	size     int  // bytes of output
	progress bool // something could be published
	missing  bool // something came that cannot be published yet
	ended    bool // nothing is missing: the process has ended
}

// readOnce reads what comes after an event, and publishes it. That is done before
// the events that have come behind the answer are looked at: from then on the
// server keeps no more than it has sent, and of what comes before its turn only a
// part is kept here.
func (p *Process) readOnce(ctx context.Context, l *link, after uint64) (*absorbed, error) {
	none, most := uint64(0), uint(refillBytes)
	got := new(absorbed)
	params := wire.ProcessReadParams{ProcessID: p.id, AfterSeq: &after, MaxBytes: &most, WaitMs: &none}
	err := l.callInOrder(ctx, wire.MethodProcessRead, params, func(raw json.RawMessage) error {
		var r wire.ProcessReadResult
		if err := json.Unmarshal(raw, &r); err != nil {
			return malformed(raw, "%w", err)
		}
		if r.Failure != nil {
			return &RequestError{Method: wire.MethodProcessRead, Err: wire.Internal("%s", *r.Failure)}
		}
		s := snapshotOf(&r)
		p.mu.Lock()
		defer p.mu.Unlock()
		if got.ended = p.ended; p.ended {
			return nil
		}
		var ready []Event
		ready, got.verdict, got.upTo = p.seq.absorb(s)
		p.publish(ready)
		p.watchGap()
		got.size, got.progress, got.missing = s.size(), p.seq.last > after, p.seq.waits()
		return nil
	})
	if err != nil {
		return nil, err // got may still be written to
	}
	return got, nil
}

func snapshotOf(r *wire.ProcessReadResult) snapshot {
	s := snapshot{next: r.NextSeq, exited: r.Exited, closed: r.Closed, sandboxDenied: r.SandboxDenied}
	if r.ExitCode != nil {
		s.exitCode = int(*r.ExitCode)
	}
	for _, c := range r.Chunks {
		s.chunks = append(s.chunks, Event{Kind: Output, Seq: c.Seq, Stream: c.Stream, Data: c.Chunk})
	}
	return s
}
