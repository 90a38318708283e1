package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Delays before a failed file is tried again, doubling from the first to the last.
// After lastRetry without a failure the delay starts again at firstRetry.
const (
	firstRetry = time.Second
	lastRetry  = time.Minute
)

// file is the part of *os.File that a sink uses.
type file interface {
	io.Writer
	Truncate(size int64) error
	Sync() error
	Close() error
}

// sink writes lines to rotating files. It takes the time only from its callers, which
// must hold the lock unless something else is said.
type sink struct {
	base string // path of the current file; "": there are no files
	Rules
	moved    atomic.Bool                            // the current file was moved: it is opened again at the next adopt
	next     atomic.Pointer[Rules]                  // in force at the next adopt; nil: as before
	openFile func(path string) (file, int64, error) // nil: appendTo

	apart bool // lines that were written last are no longer in the files

	lock      sync.Locker
	packer    Packer      // nil: nothing is compressed
	archive   *Archiver   // nil: old files are left alone
	onArchive func(error) // why files are not compressed, once; may be nil

	f     file
	size  int64     // of f, always at the end of a line
	begun time.Time // of f, if RotateEvery is set: about when its first line was written

	down      bool // nothing is written before retryAt
	cause     error
	reported  bool // cause was reported
	retryAt   time.Time
	wait      time.Duration
	revived   time.Time
	lostLines uint64 // of this series of failures
	lostBytes uint64

	gone         atomic.Bool // the log is closed: the archiver leaves it alone
	queued       bool        // of the archiver, under its lock
	uncompressed bool        // of the archiver's goroutine: the last compression failed
}

// setRules changes the rules from the next write on. The caller need not hold the lock.
func (s *sink) setRules(r Rules) {
	r = r.withDefaults()
	s.next.Store(&r)
	if s.base != "" && s.archive != nil && r.tended() {
		s.archive.enqueue(s)
	}
}

// setReopen has the current file opened again: at once if nobody writes, else before the
// next line. The functions are those of the lock, which the caller must not hold.
func (s *sink) setReopen(tryLock func() bool, unlock func()) {
	s.moved.Store(true)
	if tryLock() {
		s.adopt()
		unlock()
	}
}

// adopt puts the rules of setRules in force, and removes the files that are too many for
// them. Those that cannot be removed are left.
func (s *sink) adopt() {
	if s.moved.Swap(false) && s.f != nil {
		s.follow()
	}
	r := s.next.Swap(nil)
	if r == nil {
		return
	}
	if r.Journal && !s.Journal {
		_ = s.close()
		s.down, s.lostLines, s.lostBytes = false, 0, 0
	}
	for i := r.Files; i < s.Files && s.base != ""; i++ {
		_ = os.Remove(s.path(i))
		_ = os.Remove(s.path(i) + packed)
	}
	if r.RotateEvery > 0 && s.RotateEvery == 0 {
		s.begun = firstTime(s.path(0))
	}
	s.Rules = *r
}

// follow closes the current file if another one has its path, or none. It notices one that
// was made shorter.
func (s *sink) follow() {
	if f, ok := s.f.(*os.File); ok {
		was, err := f.Stat()
		now, gone := os.Stat(s.base)
		if err == nil && gone == nil && os.SameFile(was, now) {
			s.apart = s.apart || was.Size() < s.size
			s.size = was.Size()
			return
		}
	}
	_ = s.close()
	s.apart = true
}

// path returns the path of the i-th file; 0 is the current one.
func (s *sink) path(i int) string {
	if i > 0 {
		return s.base + "." + strconv.Itoa(i)
	}
	return s.base
}

// write appends whole lines and returns how many bytes, also in whole lines, are in a
// file. If that is not all of b, the sink is down and the rest is counted as lost.
func (s *sink) write(b []byte, now time.Time) (done int) {
	if !s.down {
		var err error
		if done, err = s.append(b, now); err != nil {
			s.fail(err, now)
		}
	}
	if done < len(b) {
		s.lostBytes += uint64(len(b) - done)
		s.lostLines += uint64(bytes.Count(b[done:], []byte{'\n'}))
	}
	return done
}

func (s *sink) append(b []byte, now time.Time) (done int, err error) {
	for done < len(b) {
		if s.f == nil {
			if err := s.open(); err != nil {
				return done, err
			}
		}
		if s.size == 0 {
			s.begun = now
		}
		part := s.fit(b[done:], now)
		if part == 0 {
			if err := s.rotate(); err != nil {
				return done, err
			}
			continue
		}
		n, err := s.f.Write(b[done : done+part])
		if err == nil && n < part {
			err = io.ErrShortWrite
		}
		if err != nil {
			// A torn line would swallow the next one: truncate it. If that fails as
			// well, the next open ends it.
			n = bytes.LastIndexByte(b[done:done+n], '\n') + 1
			s.size += int64(n)
			_ = s.f.Truncate(s.size)
			return done + n, err
		}
		s.size += int64(n)
		done += n
	}
	return done, nil
}

// fit returns how many bytes of b, in whole lines, fit into the current file.
func (s *sink) fit(b []byte, now time.Time) int {
	if s.RotateEvery > 0 && s.size > 0 && now.Sub(s.begun) >= s.RotateEvery {
		return 0
	}
	room := s.MaxSize - s.size
	if int64(len(b)) <= room {
		return len(b)
	}
	if room > 0 {
		if i := bytes.LastIndexByte(b[:room], '\n'); i >= 0 {
			return i + 1
		}
	}
	if s.size == 0 { // longer than any file: it gets its own
		return bytes.IndexByte(b, '\n') + 1
	}
	return 0
}

func (s *sink) open() error {
	if err := os.MkdirAll(filepath.Dir(s.base), 0o700); err != nil {
		return err
	}
	open := s.openFile
	if open == nil {
		open = appendTo
	}
	f, size, err := open(s.path(0))
	if err != nil {
		return err
	}
	s.f, s.size = f, size
	if size > 0 && s.RotateEvery > 0 {
		s.begun = firstTime(s.path(0))
	}
	if s.archive != nil && s.tended() {
		s.archive.enqueue(s)
	}
	return nil
}

// stampPattern matches a time in RFC 3339 or a form close to it.
var stampPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)`)
})

// firstTime returns the first time that stands in a file, which is that of its first line,
// or when it was written last if there is none.
func firstTime(path string) time.Time {
	f, err := os.Open(path)
	if err != nil {
		return time.Now()
	}
	defer f.Close() // it was only read
	b := make([]byte, 512)
	n, _ := io.ReadFull(f, b)
	text := string(stampPattern().Find(b[:n]))
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05Z0700"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	if st, err := f.Stat(); err == nil {
		return st.ModTime()
	}
	return time.Now()
}

// appendTo opens a file for appending and ends a torn last line.
func appendTo(path string) (_ file, size int64, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	st, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	if !st.Mode().IsRegular() {
		return nil, 0, notRegular(path)
	}
	size = st.Size()
	if size > 0 {
		var end [1]byte
		if _, err := f.ReadAt(end[:], size-1); err != nil {
			return nil, 0, err
		}
		if end[0] != '\n' {
			if _, err := f.Write([]byte{'\n'}); err != nil {
				return nil, 0, err
			}
			size++
		}
	}
	return f, size, nil
}

func notRegular(path string) error {
	return &os.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
}

// rotate moves every file up by one. The caller must open the current one.
func (s *sink) rotate() error {
	if err := s.close(); err != nil {
		return err
	}
	// Removed, not overwritten: a History that reads it keeps it open.
	for _, path := range []string{s.path(s.Files - 1), s.path(s.Files-1) + packed} {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	for i := s.Files - 1; i > 0; i-- {
		for _, end := range []string{"", packed} {
			if err := os.Rename(s.path(i-1)+end, s.path(i)+end); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// fail starts or prolongs a series of failures.
func (s *sink) fail(err error, now time.Time) {
	if !s.down {
		s.reported = false
	}
	if s.wait == 0 || now.Sub(s.revived) > lastRetry && !s.down {
		s.wait = firstRetry
	} else {
		s.wait = min(2*s.wait, lastRetry)
	}
	s.down, s.cause, s.retryAt = true, err, now.Add(s.wait)
	_ = s.close()
}

// revive writes one line to a sink that is down. If that succeeds, the series of
// failures is over.
func (s *sink) revive(line []byte, now time.Time) bool {
	if n, err := s.append(line, now); n < len(line) {
		s.fail(err, now)
		return false
	}
	s.down, s.revived = false, now
	s.lostLines, s.lostBytes = 0, 0
	return true
}

// report returns the cause of a series of failures, once.
func (s *sink) report() error {
	if !s.down || s.reported {
		return nil
	}
	s.reported = true
	return fmt.Errorf("captured output is not written to %s: %w", s.path(0), s.cause)
}

func (s *sink) sync() error {
	if s.down {
		return s.cause
	}
	if s.f == nil {
		return nil
	}
	return s.f.Sync()
}

func (s *sink) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	s.f, s.size = nil, 0
	return err
}
