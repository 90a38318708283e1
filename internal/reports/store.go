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

	MaxAge  time.Duration // older reports are removed, those of PerHost too; 0: however old they are
	MaxSize int64         // bytes of all files; it wins over PerHost, but the newest file stays; 0: any size
	Index   Index         // nil: Open reads every file

	// OnError is called for files that are skipped or cannot be removed, once each,
	// and for reports that cannot be written, once until a write succeeds. It is called
	// without a lock held, from Open, List, Get or the goroutine that writes, and must
	// not call Flush or Close. Default: errors are dropped.
	OnError func(error)
}

// Index remembers what is in files, so that Open need not read them again. It is told of every
// file that is written or removed. The files stay the truth: what an index has forgotten or has
// wrong is read again. Its methods are called from Open and from the goroutine that writes, one
// at a time.
type Index interface {
	// Head returns what the index knows of a file; ok is false if it knows nothing.
	Head(id string) (h Head, ok bool)
	// Put is told of a file, with its content.
	Put(f File)
	// Opened is called by Open when every file had its Head. The index must forget all others.
	Opened()
	// Remove is told of a file that is gone.
	Remove(id string)
}

// Head is what a store knows of a file without reading it.
type Head struct {
	Host     string
	Time     time.Time // of the report
	Size     int64     // bytes of the file
	Modified time.Time // when the file was written; another time means another content
}

// File is a file of a report with its content.
type File struct {
	ID string
	Head
	Content []byte
}

// Store keeps reports of type T, which encoding/json must be able to write and to read
// back. It is safe for concurrent use. Make it with [Open] and end it with Close.
type Store[T any] struct{ store }

// store is a Store that does not know the type of its reports: so there is one copy of its code.
type store struct {
	dir string
	opt Options

	mu      sync.Mutex
	idle    sync.Cond // signaled when the writer ends
	list    []*report
	counts  map[string]int // by host
	size    int64          // bytes of the files of list
	remove  []string       // ids of files to remove
	current *report        // being written, if any
	writing bool
	err     error // of the last write, nil when it succeeded
	closed  bool
}

// report is one report. Its value is only on disk after it is saved.
type report struct {
	id, host string
	time     time.Time
	value    any
	size     int64 // of its file, 0 before it is saved
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
	s := &Store[T]{}
	s.dir, s.opt, s.counts, s.idle.L = dir, opt, map[string]int{}, &s.mu
	if dir == "" {
		return s, nil
	}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("open crash reports: %w", err)
	}
	return s, nil
}

// open takes over what is in the folder.
func (s *store) open() error {
	found, err := s.load()
	if err != nil {
		return err
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
		s.size += r.size
	}
	s.list = found
	s.prune()
	return nil
}

// Add keeps a report under an unused id (see [NewID]). It returns at once; v must not
// be changed afterwards. Errors: ErrBadID, ErrExists, ErrClosed.
func (s *Store[T]) Add(id string, at time.Time, host string, v T) error {
	return s.add(id, at, host, v)
}

func (s *store) add(id string, at time.Time, host string, v any) error {
	if !valid(id) {
		return fmt.Errorf("%w: %q", ErrBadID, id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	taken := func(r *report) bool { return r.id == id }
	if slices.ContainsFunc(s.list, taken) || slices.Contains(s.remove, id) || s.current != nil && taken(s.current) {
		return fmt.Errorf("%w: %s", ErrExists, id)
	}
	s.insert(&report{id: id, host: host, time: at, value: v})
	s.prune()
	s.kick()
	return nil
}

// lateness is how much a report may be dated before reports that were added earlier.
// A larger difference, or a date that far in the future, is due to a wrong clock.
const lateness = time.Minute

// after reports whether r was dated by a clock that was ahead at the time t.
func (r *report) after(t time.Time) bool { return r.time.After(t.Add(lateness)) }

// compare orders reports by their time, then by their id.
func (r *report) compare(b *report) int {
	return cmp.Or(r.time.Compare(b.time), strings.Compare(r.id, b.id))
}

// insert puts a new report in order of time, but after reports from a clock that was
// ahead: they are older. The caller must hold mu.
func (s *store) insert(r *report) {
	at := len(s.list)
	for at > 0 && !s.list[at-1].after(r.time) && s.list[at-1].compare(r) >= 0 {
		at--
	}
	s.list = slices.Insert(s.list, at, r)
	s.counts[r.host]++
}

// prune drops the reports over the bounds, oldest first. The caller must hold mu.
func (s *store) prune() {
	now := time.Now()
	for spare := s.opt.PerHost; spare >= 0; spare -= s.opt.PerHost {
		left := len(s.list)
		s.list = slices.DeleteFunc(s.list, func(r *report) bool {
			heavy := s.opt.MaxSize > 0 && s.size > s.opt.MaxSize && r.saved && r.size < s.size
			many := spare > 0 && left > s.opt.Keep
			old := s.opt.MaxAge > 0 && now.Sub(r.time) > s.opt.MaxAge
			if !old && (!heavy && !many || s.counts[r.host] <= spare) {
				return false
			}
			left--
			s.counts[r.host]--
			s.size -= r.size
			r.dropped = true
			if r.saved {
				s.remove = append(s.remove, r.id)
			}
			return true
		})
	}
	s.kick()
}

// List returns the reports of a host, or all with "", newest last. Reports whose file
// is gone or broken are skipped. An error is one of the disk; List then returns the
// reports that it could read.
func (s *Store[T]) List(host string) ([]T, error) {
	found := s.of(host)
	out := make([]T, 0, len(found))
	var errs []error
	for _, f := range found {
		var v T
		switch err := s.value(f, &v); {
		case err == nil:
			out = append(out, v)
		case !errors.Is(err, ErrNotFound) && !errors.Is(err, errBroken):
			errs = append(errs, err)
		}
	}
	return out, errors.Join(errs...)
}

// entry is a report of the list as it was under the lock.
type entry struct {
	from *report
	copy report
}

// of returns the reports of a host, or all with "".
func (s *store) of(host string) (found []entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prune() // some may have become too old
	for _, r := range s.list {
		if host == "" || r.host == host {
			found = append(found, entry{r, *r})
		}
	}
	return found
}

// Get returns the report with the given id, or the only report whose id begins with
// it. Errors: ErrNotFound, ErrAmbiguous, or one of the disk.
func (s *Store[T]) Get(id string) (v T, err error) {
	e, err := s.find(id)
	if err == nil {
		err = s.value(e, &v)
	}
	return v, err
}

func (s *store) find(id string) (e entry, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var matches []*report
	for _, r := range s.list {
		if r.id == id {
			matches = []*report{r}
			break
		}
		if id != "" && strings.HasPrefix(r.id, id) {
			matches = append(matches, r)
		}
	}
	switch len(matches) {
	case 0:
		return e, fmt.Errorf("%w: %q", ErrNotFound, id)
	case 1:
		return entry{matches[0], *matches[0]}, nil
	}
	return e, fmt.Errorf("%w: %q: %s and %s", ErrAmbiguous, id, matches[0].id, matches[1].id)
}

// value sets *v to the content of a report.
func (s *Store[T]) value(e entry, v *T) error {
	if !e.copy.saved {
		*v = e.copy.value.(T)
		return nil
	}
	return s.read(e, v)
}

// Flush waits until all added reports are on disk, or returns the error of a failed
// write. Reports that cannot be encoded are reported to OnError only.
func (s *store) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// flush is Flush for a caller that must hold mu.
func (s *store) flush() error {
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
func (s *store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.flush()
}
