package actors

import (
	"context"
	"iter"
	"strconv"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
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
			if credit := q.stream.grant(); credit > 0 {
				if c := q.conn.Load(); c != nil {
					c.giveCredit(q, credit)
				}
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

// streamWindow is how many items a stream lets the host send ahead.
const streamWindow = 64

// stream is the part of a request that collects items. Items come only within
// the credit given, so that the queue is bounded by the window.
type stream struct {
	mu      sync.Mutex
	items   []codec.Raw
	seq     uint32 // of the next item
	credit  uint32 // items the host may still send
	taken   uint32 // items taken by the caller since credit was last given
	since   int64  // the last item, or the last credit
	ended   bool
	changed chan struct{} // capacity 1
}

// newStream counts the window as given: the credit is posted right behind the
// request.
func newStream() *stream {
	return &stream{credit: streamWindow, since: monotonic(), changed: make(chan struct{}, 1)}
}

// push adds an item; the error is a *codec.FrameError.
func (s *stream) push(seq uint32, v codec.Raw) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	if s.credit == 0 {
		return &codec.FrameError{Err: codec.ErrNoCredit, Offset: -1, Detail: "item " + strconv.FormatUint(uint64(seq), 10)}
	}
	if seq != s.seq {
		return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: "item " + strconv.FormatUint(uint64(seq), 10) + " where " + strconv.FormatUint(uint64(s.seq), 10) + " is next"}
	}
	s.seq++
	s.credit--
	s.since = monotonic()
	s.items = append(s.items, v)
	s.wake()
	return nil
}

// take returns what has come.
func (s *stream) take() (items []codec.Raw, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, s.items = s.items, nil
	s.taken += uint32(len(items))
	return items, s.ended
}

// grant returns how much credit to give for what was taken: none while it is
// not worth a message.
func (s *stream) grant() (credit uint32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken >= streamWindow/2 && !s.ended {
		credit, s.taken = s.taken, 0
		s.credit += credit
		s.since = monotonic()
	}
	return credit
}

// silence is how long the host could have sent something and did not. While it
// has no credit, the silence is the caller's own.
func (s *stream) silence() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.credit == 0 && !s.ended {
		return 0
	}
	return time.Duration(monotonic() - s.since)
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
