package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// packed is added to the path of a compressed file.
const packed = ".gz"

// errForgotten ends a compression whose log is closed.
var errForgotten = errors.New("the log is closed")

// tend compresses and removes old files as the rules say. It returns when the next
// one will be too old, zero if none will. It is called by the Archiver, without the
// lock.
func (s *sink) tend(now time.Time) (due time.Time) {
	s.lock.Lock()
	s.adopt()
	if s.MaxAge > 0 {
		due = s.removeOld(now)
	}
	s.lock.Unlock()
	_ = os.Remove(s.partial()) // of a supervisor that was killed
	for s.compressOne() {
	}
	if !due.IsZero() && !due.After(now) {
		due = now.Add(lastTend)
	}
	return due
}

// removeOld removes files that are too old, and returns when the next one will be.
// The caller must hold the lock.
func (s *sink) removeOld(now time.Time) (due time.Time) {
	for i := range s.Files {
		for _, path := range []string{s.path(i), s.path(i) + packed} {
			st, err := os.Lstat(path)
			if err != nil || !st.Mode().IsRegular() {
				continue
			}
			end := st.ModTime().Add(s.MaxAge)
			if !end.After(now) {
				if i == 0 {
					_ = s.close()
					s.apart = true
				}
				if err = os.Remove(path); err == nil {
					continue
				}
			}
			if due.IsZero() || end.Before(due) {
				due = end
			}
		}
	}
	return due
}

// partial is the path of a compressed file that is not whole yet.
func (s *sink) partial() string { return s.base + ".tmp" }

// compressOne compresses the oldest file that is not, and reports whether there may
// be another one. The lock is held only while files are opened and renamed, so the
// host does not wait.
func (s *sink) compressOne() bool {
	s.lock.Lock()
	var src *os.File
	if s.Compress && s.packer != nil && !s.gone.Load() {
		for i := s.Files - 1; i > 0 && src == nil; i-- {
			src, _ = openRegular(s.path(i))
		}
	}
	s.lock.Unlock()
	if src == nil {
		return false
	}
	defer src.Close() // it was only read
	err := s.compress(src)
	if err == nil {
		err = s.publish(src)
	}
	if err != nil {
		_ = os.Remove(s.partial())
	}
	if errors.Is(err, errForgotten) {
		return false
	}
	if err != nil && !s.uncompressed && s.onArchive != nil {
		s.onArchive(fmt.Errorf("%s is not compressed: %w", src.Name(), err))
	}
	s.uncompressed = err != nil
	return err == nil
}

// compress writes src, compressed, to the partial file.
func (s *sink) compress(src *os.File) (err error) {
	st, err := src.Stat()
	if err != nil {
		return err
	}
	dst, err := os.OpenFile(s.partial(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dst.Close()) }()
	gz, err := s.packer.Pack(dst, st.ModTime())
	if err != nil {
		return err
	}
	if _, err := io.Copy(gz, reading{s, src}); err != nil {
		return err
	}
	if err := gz.Close(); err != nil {
		return err
	}
	// On the disk before it takes the place of the original.
	if err := dst.Sync(); err != nil {
		return err
	}
	return os.Chtimes(s.partial(), time.Time{}, st.ModTime())
}

// reading reads a file until the log is closed.
type reading struct {
	s *sink
	r io.Reader
}

func (r reading) Read(b []byte) (int, error) {
	if r.s.gone.Load() {
		return 0, errForgotten
	}
	return r.r.Read(b)
}

// publish puts the partial file in the place of src, wherever rotation has moved that.
func (s *sink) publish(src *os.File) error {
	was, err := src.Stat()
	if err != nil {
		return err
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for i := s.Files - 1; i > 0; i-- {
		if st, err := os.Lstat(s.path(i)); err == nil && os.SameFile(st, was) {
			// Until the second step both are there, and the original counts.
			return errors.Join(os.Rename(s.partial(), s.path(i)+packed), os.Remove(s.path(i)))
		}
	}
	return os.Remove(s.partial()) // src was removed
}

// openRegular opens a regular file for reading.
func openRegular(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = notRegular(path)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
