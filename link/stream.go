package link

import (
	"context"
	"iter"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Items yields the items of a streamed result as they come, and then the result, unless it
// is nil: of a host without streams it is all there is. An error ends the sequence. The peer is let send a bounded number of items ahead of the loop's body.
// When ctx ends, the request is cancelled; whoever leaves the loop early must cancel
// it.
func (p *Pending) Items(ctx context.Context) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		for {
			items, ended := p.stream.take()
			for _, item := range items {
				if !yield(item, nil) {
					return
				}
			}
			if len(items) > 0 {
				if c := p.conn.Load(); c != nil && !ended {
					c.grant(p, len(items))
				}
				continue
			}
			if ended {
				break
			}
			select {
			case <-p.stream.changed:
			case <-ctx.Done():
				p.Cancel(p.reason(ctx.Err()))
			}
		}
		<-p.done
		switch {
		case p.err != nil:
			yield(nil, p.err)
		case !isNil(p.result):
			yield(p.result, nil)
		}
	}
}

// isNil says whether a result is the encoding's nil: nothing to yield.
func isNil(raw codec.Raw) bool { return len(raw) == 0 || len(raw) == 1 && raw[0] == 0xc0 }

// stream is the part of a request that collects items. Items come only within
// the credit given, so that the queue is bounded by the window.
type stream struct {
	credit  pending.Items // under the connection's lock
	mu      sync.Mutex
	items   []codec.Raw
	began   int64 // when it was made
	ended   bool
	changed chan struct{} // capacity 1
}

func newStream(env Env) *stream {
	s := &stream{began: env.Now(), changed: make(chan struct{}, 1)}
	s.credit.Begin(s.began)
	return s
}

// push adds an item.
func (s *stream) push(v codec.Raw) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ended {
		s.items = append(s.items, v)
		s.wake()
	}
}

// take returns what has come.
func (s *stream) take() (items []codec.Raw, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, s.items = s.items, nil
	return items, s.ended
}

func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.wake()
}

func (s *stream) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}
