package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/hostsup/hostsup/internal/reports"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// errUnusable means that the index does not hold what it should.
var errUnusable = errors.New("the index cannot be used")

// maxLine bounds a line of the index, in bytes.
const maxLine = 1 << 20

// entry is a line of the index: what is known of a report, or that it is gone.
type entry struct {
	ID       string    `json:"id"`
	Gone     bool      `json:"gone,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Modified time.Time `json:"modified,omitzero"`
	Summary  *Summary  `json:"summary,omitempty"`
}

// index is a [reports.Index] in a file of lines, each behind its checksum, of which the last one
// about a report counts. Lines are only appended. Each begins with the end of the line before, so
// that one that was not written whole spoils no other. What is damaged is left out when the file
// is read, so that the store reads these reports again; the file is then written anew.
type index struct {
	path   string
	failed func(error)
	stored func(id string) // told of each report that the index has, or that is gone; may be nil

	mu      sync.Mutex
	file    *os.File // nil: it cannot be written
	live    map[string]bool
	written int              // lines in the file
	opening map[string]entry // what is known while the folder is opened; nil afterwards
	asked   map[string]bool  // of opening
}

// openIndex reads the index. It never fails: without a file the index is unusable, and the reports
// are read.
func openIndex(path string, failed func(error)) *index {
	x := &index{path: path, failed: failed, live: map[string]bool{}, asked: map[string]bool{}}
	known, _, err := x.read()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		failed(fmt.Errorf("the index of crash reports is made anew: %w", err))
	}
	x.opening = known
	return x
}

// read returns what the file says, and how many lines it has. Damaged lines are left out.
func (x *index) read() (known map[string]entry, lines int, err error) {
	known = map[string]entry{}
	f, err := os.Open(x.path)
	if err != nil {
		return known, 0, err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(make([]byte, 64<<10), maxLine)
	for in.Scan() {
		line := in.Bytes()
		if len(line) == 0 {
			continue
		}
		lines++
		e, ok := decode(line)
		switch {
		case !ok:
		case e.Gone:
			delete(known, e.ID)
		default:
			known[e.ID] = e
		}
	}
	return known, lines, in.Err()
}

// encode returns the line of an entry.
func encode(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	return fmt.Appendf(nil, "\n%08x %s", crc32.ChecksumIEEE(text), text), err
}

func decode(line []byte) (e entry, ok bool) {
	sum, text, _ := bytes.Cut(line, []byte(" "))
	if want, err := strconv.ParseUint(string(sum), 16, 32); err != nil || uint32(want) != crc32.ChecksumIEEE(text) {
		return e, false
	}
	return e, json.Unmarshal(text, &e) == nil && (e.Gone || e.Summary != nil)
}

// Head implements [reports.Index].
func (x *index) Head(id string) (reports.Head, bool) {
	x.asked[id] = true
	e, ok := x.opening[id]
	if !ok {
		return reports.Head{}, false
	}
	return reports.Head{Host: e.Summary.Host, Time: e.Summary.Time, Size: e.Size, Modified: e.Modified}, true
}

// Put implements [reports.Index].
func (x *index) Put(f reports.File) {
	var file struct{ Report record.CrashReport }
	if err := json.Unmarshal(f.Content, &file); err != nil {
		x.failed(fmt.Errorf("crash report %s is not indexed: %w", f.ID, err))
		return
	}
	s := summarize(&file.Report)
	s.ID, s.Time, s.Host = f.ID, f.Time, f.Host // by which the store knows it
	e := entry{ID: f.ID, Size: f.Size, Modified: f.Modified, Summary: &s}
	if x.opening != nil {
		x.opening[f.ID] = e
		return
	}
	x.append(e)
}

// append writes a line.
func (x *index) append(e entry) {
	x.mu.Lock()
	defer x.mu.Unlock()
	line, err := encode(e)
	if err == nil && x.file != nil {
		_, err = x.file.Write(line)
	}
	if err != nil {
		x.failed(fmt.Errorf("crash report %s is not indexed: %w", e.ID, err))
		return
	}
	if x.file == nil {
		return // which was reported
	}
	x.written++
	if e.Gone {
		delete(x.live, e.ID)
	} else {
		x.live[e.ID] = true
	}
	if x.stored != nil {
		x.stored(e.ID)
	}
	if x.written > 2*len(x.live)+1000 {
		x.compact()
	}
}

// Opened implements [reports.Index].
func (x *index) Opened() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for id := range x.opening {
		if !x.asked[id] {
			delete(x.opening, id)
		}
	}
	x.write(x.opening)
	x.opening, x.asked = nil, nil
}

// compact writes the file without lines that do not count. The caller must hold mu.
func (x *index) compact() {
	known, _, err := x.read()
	if err != nil || len(known) != len(x.live) {
		return // summaries reports it
	}
	x.write(known)
}

// write writes the file anew. The caller must hold mu.
func (x *index) write(known map[string]entry) {
	f, err := x.replace(known)
	if x.file != nil {
		_ = x.file.Close() // it is replaced, or incomplete
	}
	x.file, x.written = f, len(known)
	clear(x.live)
	for id := range known {
		x.live[id] = true
	}
	if err != nil {
		x.failed(fmt.Errorf("crash reports are listed without an index: %w", err))
	}
}

// replace puts a file with these entries in the place of the present one, and returns it.
func (x *index) replace(known map[string]entry) (file *os.File, err error) {
	if err := os.MkdirAll(filepath.Dir(x.path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(x.path+".partial", os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			file, err = nil, errors.Join(err, f.Close(), os.Remove(x.path+".partial"))
		}
	}()
	out := bufio.NewWriter(f)
	for _, e := range known {
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		_, _ = out.Write(line) // Flush returns the error
	}
	if err := out.Flush(); err != nil {
		return nil, err
	}
	return f, os.Rename(x.path+".partial", x.path)
}

// Remove implements [reports.Index].
func (x *index) Remove(id string) {
	if x.opening != nil {
		delete(x.opening, id)
		return
	}
	x.append(entry{ID: id, Gone: true})
}

// summaries returns all that the index has, or errUnusable.
func (x *index) summaries() ([]Summary, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	known, _, err := x.read()
	if err != nil || x.file == nil || len(known) != len(x.live) {
		return nil, fmt.Errorf("%w: %w", errUnusable, err)
	}
	out := make([]Summary, 0, len(known))
	for _, e := range known {
		out = append(out, *e.Summary)
	}
	return out, nil
}

// close ends the index, which is unusable then.
func (x *index) close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.file == nil {
		return nil
	}
	err := x.file.Close()
	x.file = nil
	return err
}
