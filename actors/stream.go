package actors

import (
	"context"
	"iter"
	"sync"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/link/pending"
)

// Stream asks for a streamed result and yields its items as they come. A host
// without streams answers one value, which is yielded as the only item. An
// error ends the sequence; leaving the loop cancels the call. The host is let
// send a bounded number of items ahead of the loop's body. The time-out bounds
// the silence between two items, not the whole stream.
func (r *Ref) Stream(ctx context.Context, method string, in any, opts ...CallOption) iter.Seq2[codec.Raw, error] {
	return func(yield func(codec.Raw, error) bool) {
		q, err := r.open(ctx, method, in, true, opts)
		if err != nil {
			yield(nil, err)
			return
		}
		defer q.cancel(&CallError{r.spec.Name, method, ErrCancelled, "", nil})
		some := false
		for {
			items, ended := q.stream.take()
			for _, item := range items {
				some = true
				if !yield(item, nil) {
					return
				}
			}
			if c := q.conn.Load(); c != nil && !ended && len(items) > 0 {
				c.grant(q, len(items))
			}
			if ended && len(items) == 0 {
				break
			}
			if len(items) > 0 {
				continue
			}
			select {
			case <-q.stream.changed:
			case <-ctx.Done():
				q.cancel(q.ctxError(ctx))
			}
		}
		<-q.done
		switch {
		case q.err != nil:
			yield(nil, q.err)
		case !some && !isNil(q.result):
			yield(q.result, nil)
		}
	}
}

// isNil says whether a result is the encoding's nil: nothing to yield.
func isNil(raw codec.Raw) bool { return len(raw) == 0 || len(raw) == 1 && raw[0] == 0xc0 }

// stream is the part of a request that collects items. Items come only within
// the credit given, so that the queue is bounded by the window.
type stream struct {
	link    pending.Items // under the connection's lock
	mu      sync.Mutex
	items   []codec.Raw
	began   int64 // when it was made
	ended   bool
	changed chan struct{} // capacity 1
}

func newStream() *stream {
	s := &stream{began: monotonic(), changed: make(chan struct{}, 1)}
	s.link.Begin(s.began)
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
