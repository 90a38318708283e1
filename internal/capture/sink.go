package capture

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
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

// sink writes lines to rotating files. It is not safe for concurrent use, and takes
// the time only from its callers.
type sink struct {
	dir, name string
	bounds
	openFile func(path string) (file, int64, error) // nil: appendTo

	f    file
	size int64 // of f, always at the end of a line

	down      bool // nothing is written before retryAt
	cause     error
	reported  bool // cause was reported
	retryAt   time.Time
	wait      time.Duration
	revived   time.Time
	lostLines uint64 // of this series of failures
	lostBytes uint64
}

// bind takes other bounds, and removes the files that are too many for them. Those that
// cannot be removed are left.
func (s *sink) bind(b bounds) {
	for i := b.files; i < s.files; i++ {
		_ = os.Remove(s.path(i))
	}
	s.bounds = b
}

// path returns the path of the i-th file; 0 is the current one.
func (s *sink) path(i int) string {
	p := filepath.Join(s.dir, s.name+".log")
	if i > 0 {
		p += "." + strconv.Itoa(i)
	}
	return p
}

// write appends whole lines and returns how many bytes, also in whole lines, are in a
// file. If that is not all of b, the sink is down and the rest is counted as lost. A
// file that would begin with an indented line gets stamp, which ends in a space too,
// in front.
func (s *sink) write(b, stamp []byte, now time.Time) (done int) {
	if !s.down {
		var err error
		if done, err = s.append(b, stamp); err != nil {
			s.fail(err, now)
		}
	}
	if done < len(b) {
		s.lostBytes += uint64(len(b) - done)
		s.lostLines += uint64(bytes.Count(b[done:], []byte{'\n'}))
	}
	return done
}

func (s *sink) append(b, stamp []byte) (done int, err error) {
	for done < len(b) {
		if s.f == nil {
			if err := s.open(); err != nil {
				return done, err
			}
		}
		begin := 0
		if s.size == 0 && b[done] == ' ' {
			begin = len(stamp) - 1
		}
		part := s.fit(b[done:], begin)
		if part == 0 {
			if err := s.rotate(); err != nil {
				return done, err
			}
			continue
		}
		n, err := 0, error(nil)
		if begin > 0 {
			_, err = s.f.Write(stamp[:begin])
		}
		if err == nil {
			n, err = s.f.Write(b[done : done+part])
		}
		if err == nil && n < part {
			err = io.ErrShortWrite
		}
		if err != nil {
			// A torn line would swallow the next one: truncate it. If that fails as
			// well, the next open ends it.
			n = bytes.LastIndexByte(b[done:done+n], '\n') + 1
			if n == 0 {
				begin = 0
			}
			s.size += int64(begin + n)
			_ = s.f.Truncate(s.size)
			return done + n, err
		}
		s.size += int64(begin + n)
		done += n
	}
	return done, nil
}

// fit returns how many bytes of b, in whole lines, fit into the current file after
// begin other bytes.
func (s *sink) fit(b []byte, begin int) int {
	room := s.maxSize - s.size - int64(begin)
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
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
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
	return nil
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
	if err := os.Remove(s.path(s.files - 1)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for i := s.files - 1; i > 0; i-- {
		if err := os.Rename(s.path(i-1), s.path(i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
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
	if n, err := s.append(line, nil); n < len(line) {
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
