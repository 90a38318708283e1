package reports

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

// Errors of a store; test with errors.Is.
var (
	ErrNotFound  = errors.New("no such crash report")
	ErrAmbiguous = errors.New("more than one crash report begins like this")
	ErrExists    = errors.New("a crash report with this id exists")
	ErrBadID     = errors.New("not an id of a crash report")
	ErrClosed    = errors.New("crash reports are closed")
)

// Options configures a Store. The zero value is usable.
type Options struct {
	Keep    int // reports kept of all hosts together; default 200
	PerHost int // newest reports always kept of every host; default 5

	// OnError is called for files that are skipped or cannot be removed, once each,
	// and for reports that cannot be written, once until a write succeeds. It is called
	// without a lock held, from Open, List, Get or the goroutine that writes, and must
	// not call Flush or Close. Default: errors are dropped.
	OnError func(error)
}

// Store keeps reports of type T, which encoding/json must be able to write and to read
// back. It is safe for concurrent use. Make it with [Open] and end it with Close.
type Store[T any] struct {
	dir string
	opt Options

	mu      sync.Mutex
	idle    sync.Cond // signaled when the writer ends
	list    []*report[T]
	counts  map[string]int // by host
	remove  []string       // ids of files to remove
	current *report[T]     // being written, if any
	writing bool
	err     error // of the last write, nil when it succeeded
	closed  bool
}

// report is one report. Its value is only on disk after it is saved.
type report[T any] struct {
	id, host string
	time     time.Time
	value    T
	saved    bool
	unfit    bool // cannot be encoded: stays in memory
	dropped  bool // dropped from the store
	reported bool // its broken file was reported
}

// Open returns the store of a folder, which the first write creates; with dir "" the
// store is in memory only. Open reads the index of existing reports. It fails if the
// folder cannot be read.
func Open[T any](dir string, opt Options) (*Store[T], error) {
	if opt.Keep <= 0 {
		opt.Keep = 200
	}
	if opt.PerHost <= 0 {
		opt.PerHost = 5
	}
	if opt.OnError == nil {
		opt.OnError = func(error) {}
	}
	s := &Store[T]{dir: dir, opt: opt, counts: map[string]int{}}
	s.idle.L = &s.mu
	if dir == "" {
		return s, nil
	}
	found, err := s.load()
	if err != nil {
		return nil, fmt.Errorf("open crash reports: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if af, bf := a.after(now), b.after(now); af != bf {
			return af
		}
		return a.compare(b) < 0
	})
	for _, r := range found {
		s.counts[r.host]++
	}
	s.list = found
	s.prune()
	return s, nil
}

// Add keeps a report under an unused id (see [NewID]). It returns at once; v must not
// be changed afterwards. Errors: ErrBadID, ErrExists, ErrClosed.
func (s *Store[T]) Add(id string, at time.Time, host string, v T) error {
	if !valid(id) {
		return fmt.Errorf("%w: %q", ErrBadID, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	taken := func(r *report[T]) bool { return r.id == id }
	if slices.ContainsFunc(s.list, taken) || slices.Contains(s.remove, id) || s.current != nil && taken(s.current) {
		return fmt.Errorf("%w: %s", ErrExists, id)
	}
	s.insert(&report[T]{id: id, host: host, time: at, value: v})
	s.prune()
	s.kick()
	return nil
}

// lateness is how much a report may be dated before reports that were added earlier.
// A larger difference, or a date that far in the future, is due to a wrong clock.
const lateness = time.Minute

// after reports whether r was dated by a clock that was ahead at the time t.
func (r *report[T]) after(t time.Time) bool { return r.time.After(t.Add(lateness)) }

// compare orders reports by their time, then by their id.
func (r *report[T]) compare(b *report[T]) int {
	return cmp.Or(r.time.Compare(b.time), strings.Compare(r.id, b.id))
}

// insert puts a new report in order of time, but after reports from a clock that was
// ahead: they are older. The caller must hold mu.
func (s *Store[T]) insert(r *report[T]) {
	at := len(s.list)
	for at > 0 && !s.list[at-1].after(r.time) && s.list[at-1].compare(r) >= 0 {
		at--
	}
	s.list = slices.Insert(s.list, at, r)
	s.counts[r.host]++
}

// prune drops the oldest reports over the bounds. The caller must hold mu.
func (s *Store[T]) prune() {
	over := len(s.list) - s.opt.Keep
	if over <= 0 {
		return
	}
	s.list = slices.DeleteFunc(s.list, func(r *report[T]) bool {
		if over <= 0 || s.counts[r.host] <= s.opt.PerHost {
			return false
		}
		over--
		s.counts[r.host]--
		r.dropped = true
		if r.saved {
			s.remove = append(s.remove, r.id)
		}
		return true
	})
	s.kick()
}

// List returns the reports of a host, or all with "", newest last. Reports whose file
// is gone or broken are skipped. An error is one of the disk; List then returns the
// reports that it could read.
func (s *Store[T]) List(host string) ([]T, error) {
	s.mu.Lock()
	var found []report[T]
	var from []*report[T]
	for _, r := range s.list {
		if host == "" || r.host == host {
			found, from = append(found, *r), append(from, r)
		}
	}
	s.mu.Unlock()
	out := make([]T, 0, len(found))
	var errs []error
	for i := range found {
		v, err := s.value(from[i], &found[i])
		switch {
		case err == nil:
			out = append(out, v)
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, errBroken):
			errs = append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// Get returns the report with the given id, or the only report whose id begins with
// it. Errors: ErrNotFound, ErrAmbiguous, or one of the disk.
func (s *Store[T]) Get(id string) (v T, err error) {
	s.mu.Lock()
	var matches []*report[T]
	for _, r := range s.list {
		if r.id == id {
			matches = []*report[T]{r}
			break
		}
		if id != "" && strings.HasPrefix(r.id, id) {
			matches = append(matches, r)
		}
	}
	var copied report[T]
	if len(matches) == 1 {
		copied = *matches[0]
	}
	s.mu.Unlock()
	switch len(matches) {
	case 0:
		return v, fmt.Errorf("%w: %q", ErrNotFound, id)
	case 1:
		return s.value(matches[0], &copied)
	}
	return v, fmt.Errorf("%w: %q: %s and %s", ErrAmbiguous, id, matches[0].id, matches[1].id)
}

// value returns the content of a report. copied is a copy of r made under the lock.
func (s *Store[T]) value(r, copied *report[T]) (T, error) {
	if !copied.saved {
		return copied.value, nil
	}
	v, err := s.read(copied.id)
	if errors.Is(err, errBroken) {
		s.mu.Lock()
		reported := r.reported
		r.reported = true
		s.mu.Unlock()
		if !reported {
			s.opt.OnError(err)
		}
	}
	return v, err
}

// Flush waits until all added reports are on disk, or returns the error of a failed
// write. Reports that cannot be encoded are reported to OnError only.
func (s *Store[T]) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// flush is Flush for a caller that must hold mu.
func (s *Store[T]) flush() error {
	for s.writing { // an older pass may have failed before this call
		s.idle.Wait()
	}
	if s.next() == nil { // the failed report is dropped
		s.err = nil
	}
	s.kick()
	for s.writing {
		s.idle.Wait()
	}
	return s.err
}

// Close flushes the store and refuses further reports. Reports can still be listed and
// fetched.
func (s *Store[T]) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.flush()
}
