package sdk

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// creditGrace is how long after a request its first credit may come. Callers
// send it right behind the request, so that it nearly always is there already;
// the grace covers a sender that was interrupted between the two. Only a
// stream that ends sooner waits for it.
const creditGrace = 50 * time.Millisecond

// itemRoom is more than a message puts around an item or a list of them.
const itemRoom = 64

// stream is the sending side of a request answered with items. It begins by
// holding what is sent, as the request alone does not tell whether its caller
// wants items or one list.
type stream struct {
	r       *request
	arrived time.Time
	sending sync.Mutex // one send at a time; never taken by the receive loop

	mu      sync.Mutex
	credit  uint64
	begun   bool // credit has come: items it is
	over    bool // the handler has returned: nothing is sent any more
	seq     uint32
	held    []codec.Raw
	size    int           // bytes held
	changed chan struct{} // closed at credit; nil while nobody waits
}

func newStream(r *request, now time.Time) *stream {
	return &stream{r: r, arrived: now}
}

// invoke runs the handler and returns the answer that ends the stream.
func (s *stream) invoke() (result codec.Raw, failure *codec.Error) {
	failure = s.handle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if failure == nil && !s.begun && s.r.c.caps.Has(codec.CapStream) {
		grace, stop := context.WithDeadline(s.r, s.arrived.Add(creditGrace))
		for !s.begun && s.waitLocked(grace) == nil {
		}
		stop()
	}
	for s.begun && len(s.held) > 0 && s.waitLocked(s.r) == nil {
	}
	s.over = true
	if failure != nil || s.begun {
		return nil, failure
	}
	return list(s.held), nil
}

func (s *stream) handle() (failure *codec.Error) {
	defer func() {
		if v := recover(); v != nil {
			failure = panicked(v)
		}
	}()
	if err := s.r.h.stream(s.r, s.r.params, s.send); err != nil {
		return answerOf(err)
	}
	return nil
}

// send is what the handler sends items with.
func (s *stream) send(item any) error {
	c := s.r.c
	raw, err := encode(c.srv.enc, item)
	if err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	if len(raw) > c.opt.limits.Frame-itemRoom {
		return fmt.Errorf("item of %d bytes: %w", len(raw), codec.ErrTooLarge)
	}
	seq, held, err := s.reserve(raw)
	if err != nil || held {
		return err
	}
	return c.w.send(s.r, s.item(seq, raw))
}

// reserve takes one credit for raw, waiting for it, and numbers the item; or
// it holds raw while the caller has not said what it wants.
func (s *stream) reserve(raw codec.Raw) (seq uint32, held bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.r.Err() != nil:
			return 0, false, context.Cause(s.r)
		case s.over:
			return 0, false, fmt.Errorf("send after the end of the stream")
		case !s.begun:
			if s.size+len(raw) > s.r.c.opt.limits.Frame-itemRoom {
				return 0, false, ErrUncollected
			}
			s.held = append(s.held, raw)
			s.size += max(len(raw), 1)
			return 0, true, nil
		case s.credit > 0 && len(s.held) == 0:
			return s.takeLocked(), false, nil
		}
		if err := s.waitLocked(s.r); err != nil {
			return 0, false, err
		}
	}
}

// allow takes n more credit from the caller and sends what was held for it.
// It runs on the receive loop. The error is the connection's.
func (s *stream) allow(n uint32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	s.begun = s.begun || n > 0
	s.credit = min(s.credit+uint64(n), math.MaxUint32)
	sent := 0
	for ; sent < len(s.held) && s.credit > 0; sent++ {
		w := s.r.c.w
		if err := w.lock(context.Background()); err != nil {
			return err
		}
		err := w.addLocked(s.item(s.takeLocked(), s.held[sent]))
		w.mu.Unlock()
		if err != nil {
			return err
		}
	}
	if s.held = s.held[sent:]; len(s.held) == 0 {
		s.held = nil
	}
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
	return nil
}

func (s *stream) takeLocked() uint32 {
	s.credit--
	s.seq++
	return s.seq - 1
}

func (s *stream) item(seq uint32, raw codec.Raw) *codec.Message {
	return &codec.Message{Kind: codec.Item, ID: s.r.id, Seq: seq, Result: raw}
}

// waitLocked waits for credit or for the end of ctx, without s.mu meanwhile.
func (s *stream) waitLocked(ctx context.Context) error {
	if s.changed == nil {
		s.changed = make(chan struct{})
	}
	changed := s.changed
	s.mu.Unlock()
	defer s.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// list makes one array of items that are encoded already.
func list(items []codec.Raw) codec.Raw {
	size := 5
	for _, it := range items {
		size += max(len(it), 1)
	}
	out := mpack.AppendArray(make([]byte, 0, size), len(items))
	for _, it := range items {
		if len(it) == 0 {
			out = mpack.AppendNil(out)
			continue
		}
		out = append(out, it...)
	}
	return out
}
