package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	format  = 1
	suffix  = ".json"
	partial = ".partial-" // prefix of unfinished files

	// maxFile bounds the bytes read of one file.
	maxFile = 64 << 20

	// abandoned is the age at which an unfinished file is removed.
	abandoned = time.Hour
)

var (
	errBroken = errors.New("not a crash report")       // a file that this package did not write
	errUnfit  = errors.New("it cannot be put as JSON") // no attempt to write it can succeed
)

// stored is the content of a file.
type stored[T any] struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Host   string    `json:"host"`
	Report T         `json:"report"`
}

// load reads the index of the folder and removes abandoned unfinished files.
func (s *Store[T]) load() ([]*report[T], error) {
	list, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []*report[T]
	for _, e := range list {
		path := filepath.Join(s.dir, e.Name())
		if strings.HasPrefix(e.Name(), partial) {
			if info, err := e.Info(); err == nil && time.Since(info.ModTime()).Abs() > abandoned { // or dated by a wrong clock
				_ = os.Remove(path)
			}
			continue
		}
		id, ok := strings.CutSuffix(e.Name(), suffix)
		if !ok || !valid(id) || !e.Type().IsRegular() {
			s.opt.OnError(fmt.Errorf("%s: %w", path, errBroken))
			continue
		}
		head, err := readFile[json.RawMessage](path, id)
		if err != nil {
			s.opt.OnError(err)
			continue
		}
		found = append(found, &report[T]{id: id, host: head.Host, time: head.Time, saved: true})
	}
	return found, nil
}

// read returns the report in a file. The error wraps ErrNotFound if the file is gone,
// and errBroken if it is not a report.
func (s *Store[T]) read(id string) (v T, err error) {
	got, err := readFile[T](filepath.Join(s.dir, id+suffix), id)
	if errors.Is(err, fs.ErrNotExist) {
		return v, fmt.Errorf("%w: %s: %w", ErrNotFound, id, err)
	}
	if err != nil {
		return v, err
	}
	return got.Report, nil
}

func readFile[R any](path, id string) (got stored[R], err error) {
	f, err := os.Open(path)
	if err != nil {
		return got, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return got, err
	}
	switch err := json.Unmarshal(b, &got); {
	case len(b) > maxFile:
		return got, fmt.Errorf("%s: %w: over %d bytes", path, errBroken, maxFile)
	case err != nil:
		return got, fmt.Errorf("%s: %w: %w", path, errBroken, err)
	case got.Format != format:
		return got, fmt.Errorf("%s: %w: format %d", path, errBroken, got.Format)
	case got.ID != id:
		return got, fmt.Errorf("%s: %w: it names itself %q", path, errBroken, got.ID)
	}
	return got, nil
}

// kick starts the writer if there is something to do. The caller must hold mu.
func (s *Store[T]) kick() {
	if s.dir == "" || s.writing {
		return
	}
	if r := s.next(); r == nil && len(s.remove) == 0 {
		return
	}
	s.writing = true
	go s.write()
}

// next returns the oldest report to write. The caller must hold mu.
func (s *Store[T]) next() *report[T] {
	for _, r := range s.list {
		if !r.saved && !r.unfit {
			return r
		}
	}
	return nil
}

// write brings the folder up to date. It returns when the folder is, or when the disk
// fails.
func (s *Store[T]) write() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.idle.Broadcast()
	defer func() { s.writing = false }()
	for {
		r, gone := s.next(), s.remove
		if r == nil && len(gone) == 0 {
			return
		}
		s.current = r
		s.mu.Unlock()
		s.removeFiles(gone) // first: it may free the room for what follows
		var err error
		if r != nil {
			err = s.save(r)
		}
		s.mu.Lock()
		s.current = nil
		if s.remove = s.remove[len(gone):]; len(s.remove) == 0 {
			s.remove = nil
		}
		if r == nil {
			continue
		}
		unfit := errors.Is(err, errUnfit)
		tell := err != nil && (s.err == nil || unfit)
		switch {
		case unfit:
			r.unfit = true
		case err != nil:
			s.err = err
		default:
			s.err = nil
			s.saved(r)
		}
		if tell {
			s.mu.Unlock()
			s.opt.OnError(fmt.Errorf("crash report %s is not written: %w", r.id, err))
			s.mu.Lock()
		}
		if s.err != nil {
			return
		}
	}
}

// saved records that the file of a report exists. The caller must hold mu.
func (s *Store[T]) saved(r *report[T]) {
	var none T
	r.value, r.saved = none, true
	if r.dropped { // dropped since the write began
		s.remove = append(s.remove, r.id)
	}
}

// removeFiles removes the files of reports. The next Open finds a file again that
// cannot be removed.
func (s *Store[T]) removeFiles(ids []string) {
	for _, id := range ids {
		if err := os.Remove(filepath.Join(s.dir, id+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.opt.OnError(fmt.Errorf("old crash report is not removed: %w", err))
		}
	}
}

// save writes the file of a report.
func (s *Store[T]) save(r *report[T]) error {
	// id, host, time and value do not change before the report is saved.
	b, err := json.Marshal(stored[T]{format, r.id, r.time, r.host, r.value})
	if err != nil {
		return fmt.Errorf("%w: %w", errUnfit, err)
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, partial+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, r.id+suffix))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	if d, err := os.Open(s.dir); err == nil { // also makes the name durable, where the system can
		_ = d.Sync()
		_ = d.Close()
	}
	return nil
}
