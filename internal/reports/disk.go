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

// stored is the content of a file. To read one, Report is set to a pointer.
type stored struct {
	Format int       `json:"format"`
	ID     string    `json:"id"`
	Time   time.Time `json:"time"`
	Host   string    `json:"host"`
	Report any       `json:"report"`

	content []byte // of the file that it was read from
}

// load reads the index of the folder and removes abandoned unfinished files.
func (s *store) load() ([]*report, error) {
	list, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var found []*report
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
		info, err := e.Info()
		if err != nil {
			s.opt.OnError(err)
			continue
		}
		head, ok := s.head(id)
		if !ok || head.Size != info.Size() || !head.Modified.Equal(info.ModTime()) {
			got, err := readFile(path, id, new(json.RawMessage))
			if err != nil {
				s.opt.OnError(err)
				s.removed(id)
				continue
			}
			head = Head{got.Host, got.Time, info.Size(), info.ModTime()}
			s.wrote(id, head, got.content)
		}
		found = append(found, &report{id: id, host: head.Host, time: head.Time, size: head.Size, saved: true})
	}
	if s.opt.Index != nil {
		s.opt.Index.Opened()
	}
	return found, nil
}

// head returns what the index knows of a file.
func (s *store) head(id string) (Head, bool) {
	if s.opt.Index == nil {
		return Head{}, false
	}
	return s.opt.Index.Head(id)
}

// wrote tells the index of a file.
func (s *store) wrote(id string, h Head, content []byte) {
	if s.opt.Index != nil {
		s.opt.Index.Put(File{id, h, content})
	}
}

// removed tells the index that a file is gone.
func (s *store) removed(id string) {
	if s.opt.Index != nil {
		s.opt.Index.Remove(id)
	}
}

// read reads the report in a file into what v points to. The error wraps ErrNotFound if the
// file is gone, and errBroken if it is not a report; that is reported once.
func (s *store) read(e entry, v any) error {
	_, err := readFile(filepath.Join(s.dir, e.copy.id+suffix), e.copy.id, v)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s: %w", ErrNotFound, e.copy.id, err)
	}
	if errors.Is(err, errBroken) {
		s.mu.Lock()
		reported := e.from.reported
		e.from.reported = true
		s.mu.Unlock()
		if !reported {
			s.opt.OnError(err)
		}
	}
	return err
}

// readFile reads a file whose report goes into what v points to.
func readFile(path, id string, v any) (got stored, err error) {
	got.Report = v
	f, err := os.Open(path)
	if err != nil {
		return got, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return got, err
	}
	got.content = b
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
func (s *store) kick() {
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
func (s *store) next() *report {
	for _, r := range s.list {
		if !r.saved && !r.unfit {
			return r
		}
	}
	return nil
}

// write brings the folder up to date. It returns when the folder is, or when the disk
// fails.
func (s *store) write() {
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
		var size int64
		if r != nil {
			size, err = s.save(r)
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
			s.saved(r, size)
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
func (s *store) saved(r *report, size int64) {
	r.value, r.size, r.saved = nil, size, true
	if r.dropped { // dropped since the write began
		s.remove = append(s.remove, r.id)
		return
	}
	s.size += size
	s.prune()
}

// removeFiles removes the files of reports. The next Open finds a file again that
// cannot be removed.
func (s *store) removeFiles(ids []string) {
	for _, id := range ids {
		if err := os.Remove(filepath.Join(s.dir, id+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			s.opt.OnError(fmt.Errorf("old crash report is not removed: %w", err))
		}
		s.removed(id)
	}
}

// save writes the file of a report and returns its size.
func (s *store) save(r *report) (size int64, err error) {
	// id, host, time and value do not change before the report is saved.
	b, err := json.Marshal(stored{format, r.id, r.time, r.host, r.value, nil})
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnfit, err)
	}
	b = append(b, '\n')
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return 0, err
	}
	f, err := os.CreateTemp(s.dir, partial+"*") // mode 0600
	if err != nil {
		return 0, err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	info, serr := f.Stat()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = serr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, r.id+suffix))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return 0, err
	}
	if d, err := os.Open(s.dir); err == nil { // also makes the name durable, where the system can
		_ = d.Sync()
		_ = d.Close()
	}
	s.wrote(r.id, Head{r.host, r.time, info.Size(), info.ModTime()}, b)
	return info.Size(), nil
}
