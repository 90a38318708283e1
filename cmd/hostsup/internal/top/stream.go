package top

import (
	"context"
	"iter"
	"sync"

	tea "charm.land/bubbletea/v2"
)

// stream keeps the newest elements of a sequence until they are taken, so that one that is
// faster than the screen costs neither memory nor time.
type stream[T any] struct {
	name    string
	limit   int
	changed chan struct{} // has an element if something is to be taken

	mu    sync.Mutex
	items []T
	lost  int
	first bool // nothing was taken yet
	done  bool
	err   error
}

// batch is what was taken from a stream.
type batch[T any] struct {
	from  *stream[T]
	name  string
	items []T
	lost  int  // elements that were left out before items
	first bool // nothing was taken before
	err   error
}

// newStream reads seq in a goroutine that ends with it; seq has to end with ctx.
func newStream[T any](ctx context.Context, name string, limit int, seq iter.Seq2[T, error]) *stream[T] {
	s := &stream[T]{name: name, limit: limit, changed: make(chan struct{}, 1), first: true}
	go func() {
		for v, err := range seq {
			s.put(v, err)
			if ctx.Err() != nil {
				break
			}
		}
		s.mu.Lock()
		s.done = true
		s.mu.Unlock()
		s.wake()
	}()
	return s
}

func (s *stream[T]) put(v T, err error) {
	s.mu.Lock()
	if err != nil {
		s.err = err
	} else {
		s.items = append(s.items, v)
	}
	if over := len(s.items) - s.limit; over > s.limit {
		s.items = append([]T(nil), s.items[over:]...)
		s.lost += over
	}
	s.mu.Unlock()
	s.wake()
}

func (s *stream[T]) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// ended reports whether everything was taken and nothing more comes.
func (s *stream[T]) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done && len(s.items) == 0
}

// next returns a command that waits for elements and takes them. Its message is nil once
// ctx or the stream has ended.
func (s *stream[T]) next(ctx context.Context) tea.Cmd {
	return func() tea.Msg {
		select {
		case <-s.changed:
		case <-ctx.Done():
			return nil
		}
		if !pause(ctx, gather) {
			return nil
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		b := batch[T]{from: s, name: s.name, items: s.items, lost: s.lost, first: s.first, err: s.err}
		s.items, s.lost, s.first = nil, 0, false
		if over := len(b.items) - s.limit; over > 0 {
			b.items, b.lost = b.items[over:], b.lost+over
		}
		if s.done {
			s.wake() // who asks again is told of the end
		}
		return b
	}
}
