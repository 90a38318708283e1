package secret

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Source is where secrets are: what a [Store] reads through. A Store calls one
// method at a time. Errors wrap those of this package where they fit, and hold no
// value. Package intercept/secret/stores has sources.
type Source interface {
	Get(name string) ([]byte, error) // new memory; ErrNotFound
	Set(name string, value []byte) error
	Delete(name string) error // ErrNotFound
	List() ([]string, error)
	Where() string // for people
}

// patience bounds one operation of a source. A keyring may ask its user for a
// password first.
const patience = time.Minute

// Store reads secrets and remembers them for a while. Safe for concurrent use;
// make it with [Open].
type Store struct {
	source Source        // nil: there is none
	keep   time.Duration // how long a value is remembered
	turn   chan struct{} // holds a token while nobody works on the source

	mu     sync.Mutex
	cache  map[string]*cached
	closed bool
	where  string
}

type cached struct {
	value []byte
	timer *time.Timer
}

// DefaultCache is how long a [Store] remembers a value unless something else is
// said.
const DefaultCache = 5 * time.Minute

// Open returns a store that reads through source and remembers each value for
// the time of cache; 0 means [DefaultCache]. It does not touch source before the
// first secret is asked for. With a nil source every operation fails with
// [ErrNoStore].
func Open(source Source, cache time.Duration) *Store {
	if cache == 0 {
		cache = DefaultCache
	}
	s := &Store{source: source, keep: cache, turn: make(chan struct{}, 1), cache: make(map[string]*cached)}
	s.turn <- struct{}{}
	return s
}

// Get returns a secret, from memory while it is remembered. The
// caller owns the bytes, and should Wipe them when done. Errors are *[Error].
func (s *Store) Get(ctx context.Context, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, &Error{"read", name, "", err}
	}
	if v := s.remembered(name); v != nil {
		return v, nil
	}
	return s.read(ctx, name)
}

// Fresh is Get that reads the secret anew, so that one which somebody else has
// changed is the new one. Where the keyring or the file cannot be read at the
// moment, one that is remembered does.
func (s *Store) Fresh(ctx context.Context, name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, &Error{"read", name, "", err}
	}
	v, err := s.read(ctx, name)
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrClosed) || errors.Is(err, ErrValue) || ctx.Err() != nil {
		return v, err
	}
	if v := s.remembered(name); v != nil {
		return v, nil
	}
	return nil, err
}

func (s *Store) read(ctx context.Context, name string) ([]byte, error) {
	var out []byte
	err := s.work(ctx, "read", name, func(src Source) error {
		v, err := src.Get(name)
		if errors.Is(err, ErrNotFound) {
			s.forget(name)
		}
		if err == nil {
			err = CheckValue(v)
		}
		if err != nil {
			Wipe(v)
			return err
		}
		out = slices.Clone(v)
		s.remember(name, v)
		return nil
	})
	if err != nil {
		return nil, err // out, if the source answered after all, is nobody's
	}
	return out, nil
}

// Set stores a secret, also in place of another. value stays the caller's.
func (s *Store) Set(ctx context.Context, name string, value []byte) error {
	err := errors.Join(CheckName(name), CheckValue(value))
	if err != nil {
		return &Error{"set", name, "", err}
	}
	own := slices.Clone(value)
	return s.work(ctx, "set", name, func(src Source) error {
		if err := src.Set(name, own); err != nil {
			Wipe(own)
			return err
		}
		s.remember(name, own)
		return nil
	})
}

// Delete removes a secret; ErrNotFound if there is none.
func (s *Store) Delete(ctx context.Context, name string) error {
	if err := CheckName(name); err != nil {
		return &Error{"remove", name, "", err}
	}
	return s.work(ctx, "remove", name, func(src Source) error {
		s.forget(name)
		return src.Delete(name)
	})
}

// List returns the names of all secrets, sorted.
func (s *Store) List(ctx context.Context) ([]string, error) {
	var out []string
	err := s.work(ctx, "list", "", func(src Source) error {
		names, err := src.List()
		out = slices.Sorted(slices.Values(names))
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Where says where the secrets are, for people; "" before the first use.
func (s *Store) Where() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.where
}

// work does one thing on the source, when it is its turn. A source cannot be
// interrupted: if ctx ends first, or patience, what the source still answers is
// thrown away on its goroutine, which ends with that.
func (s *Store) work(ctx context.Context, op, name string, f func(Source) error) error {
	fail := func(err error) error {
		var e *Error
		if errors.As(err, &e) {
			return err
		}
		return &Error{op, name, s.Where(), err}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%w (%s)", ErrTimeout, patience))
	defer cancel()
	select {
	case <-s.turn:
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
	done := make(chan error, 1)
	go func() {
		defer func() { s.turn <- struct{}{} }()
		done <- s.onSource(f)
	}()
	select {
	case err := <-done:
		if err != nil {
			return fail(err)
		}
		return nil
	case <-ctx.Done():
		return fail(context.Cause(ctx))
	}
}

func (s *Store) onSource(f func(Source) error) error {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return ErrClosed
	}
	if s.source == nil {
		return ErrNoStore
	}
	err := f(s.source)
	s.mu.Lock()
	s.where = s.source.Where()
	s.mu.Unlock()
	return err
}

// remember takes value as its own.
func (s *Store) remember(name string, value []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(name)
	if s.closed {
		Wipe(value)
		return
	}
	c := &cached{value: value}
	c.timer = time.AfterFunc(s.keep, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.cache[name] == c {
			s.drop(name)
		}
	})
	s.cache[name] = c
}

// remembered returns a copy of what is in memory, or nil.
func (s *Store) remembered(name string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.cache[name]; c != nil {
		return slices.Clone(c.value)
	}
	return nil
}

func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drop(name)
}

// drop wipes what is remembered of a name. Under the lock.
func (s *Store) drop(name string) {
	if c := s.cache[name]; c != nil {
		c.timer.Stop()
		Wipe(c.value)
		delete(s.cache, name)
	}
}

// Close wipes what is remembered; the store cannot be used any more. It does
// not wait for a source that has not answered yet. Idempotent.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for name := range s.cache {
		s.drop(name)
	}
}
