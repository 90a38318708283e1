package capture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"
)

// History returns the last n lines, oldest first, or fewer if there are not as
// many: from memory if that holds them, else from the files, which may reach back to
// earlier runs of the supervisor. Lines of the files that are not in their format
// are skipped. With an error, History returns the lines that it could read. It reads
// the disk only as far back as necessary, and does not block capturing.
func (l *Log) History(n int) ([]Line, error) {
	lines, _, err := l.history(n)
	return lines, err
}

// history is History, and also returns the number of the line after the last.
func (l *Log) history(n int) (lines []Line, next uint64, err error) {
	l.mu.Lock()
	lines, next = newest(l.cur, l.past, n, nil), l.seq+1
	l.mu.Unlock()
	if n <= 0 || l.sink.base == "" {
		return lines, next, nil
	}
	if len(lines) == n && lines[n-1].Seq-lines[0].Seq == uint64(n-1) {
		return lines, next, nil // complete, without holes between two lives
	}

	// While no line is being added, memory and files agree.
	l.wmu.Lock()
	l.adopt()
	if l.sink.Journal { // files are of an earlier time
		l.wmu.Unlock()
		return lines, next, nil
	}
	l.mu.Lock()
	g := gaps{l.gaps.written, slices.Clone(l.gaps.ranges), l.gaps.floor}
	next = l.seq + 1
	unwritten := newest(l.cur, l.past, n, func(e *entry) bool { return g.has(e.seq) })
	l.mu.Unlock()
	files, err := l.sink.openAll()
	l.wmu.Unlock()
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()

	lines, rerr := readBack(files, n, &g)
	err = errors.Join(err, rerr)
	if len(unwritten) > 0 {
		lines = append(lines, unwritten...)
		sort.SliceStable(lines, func(i, j int) bool { return lines[i].Seq < lines[j].Seq })
		lines = lines[max(0, len(lines)-n):]
	}
	if err != nil {
		err = fmt.Errorf("read captured output: %w", err)
	}
	return lines, next, err
}

// openAll opens the existing files for reading, newest first.
func (s *sink) openAll() (files []stored, err error) {
	for i := range s.Files {
		// With both, a supervisor was killed before it removed the original.
		for _, end := range []string{"", packed} {
			f, ferr := openRegular(s.path(i) + end)
			if errors.Is(ferr, os.ErrNotExist) {
				continue
			}
			var st os.FileInfo
			if ferr == nil {
				st, ferr = f.Stat()
			}
			if ferr != nil {
				err = errors.Join(err, ferr)
				break
			}
			files = append(files, stored{f, st.Size(), end == packed, s.packer})
			break
		}
	}
	return files, err
}

// stored is a file of a log that is read only up to size.
type stored struct {
	*os.File
	size   int64
	packed bool
	packer Packer
}

// readBack returns the last n lines of files, oldest first, with the numbers that g
// knows. files must be ordered newest first.
func readBack(files []stored, n int, g *gaps) (lines []Line, err error) {
	var p parser
	seq := g.written
	if g.has(seq) || seq <= g.floor {
		seq = 0
	}
	add := func(ln Line) bool {
		ln.Seq = seq
		seq = g.before(seq)
		lines = append(lines, ln)
		return len(lines) < n
	}
	for _, f := range files {
		if len(lines) >= n {
			break
		}
		read := p.backwards
		if f.packed {
			read = p.unpack
		}
		err = errors.Join(err, read(f, n-len(lines), add))
	}
	lines = lines[:min(n, len(lines))]
	slices.Reverse(lines)
	return lines, err
}

// sharing is how many lines without a time of their own, which begin with a space, follow
// one that they share it with, in files of earlier versions.
const sharing = 128

// backwards calls add with the lines of f, last one first, until add returns false.
func (p *parser) backwards(f stored, _ int, add func(Line) bool) error {
	var indented [][]byte // newest first
	return backwards(f, f.size, func(b []byte) bool {
		if len(b) > 0 && b[0] == ' ' {
			if len(indented) < sharing { // else this package did not write it
				indented = append(indented, bytes.Clone(b[1:]))
			}
			return true
		}
		ln, ok := p.parse(b)
		if !ok {
			return true
		}
		for _, text := range indented {
			if !add(Line{Time: ln.Time, Life: ln.Life, Stream: ln.Stream, Text: string(text)}) {
				return false
			}
		}
		indented = indented[:0]
		return add(ln)
	})
}

// unpack calls add with the last n lines of a compressed file, last one first, until add
// returns false. All of the file is read for that. After an error it passes those before
// it.
func (p *parser) unpack(f stored, n int, add func(Line) bool) error {
	var gz io.Reader
	err := errPacked
	if f.packer != nil {
		gz, err = f.packer.Unpack(bufio.NewReader(f))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	var last []Line // up to 2n
	lines := bufio.NewScanner(gz)
	lines.Buffer(make([]byte, backBlock), maxStored)
	for lines.Scan() {
		if ln, ok := p.parse(lines.Bytes()); ok {
			if len(last) >= 2*n {
				last = append(last[:0], last[n:]...)
			}
			last = append(last, ln)
		}
	}
	if err = lines.Err(); err != nil {
		err = fmt.Errorf("%s: %w", f.Name(), err)
	}
	for i := len(last) - 1; i >= max(0, len(last)-n); i-- {
		if !add(last[i]) {
			break
		}
	}
	return err
}

// backBlock is how much is read at a time. maxStored is longer than any line that
// this package writes.
const (
	backBlock = 64 << 10
	maxStored = maxEscaped*MaxLine + 1024
)

// backwards calls line with each line of the first size bytes of r, last one first,
// until line returns false. A last line without LF counts as one; a line over
// maxStored is skipped.
func backwards(r io.ReaderAt, size int64, line func([]byte) bool) error {
	// buf holds the bytes from pos on of lines not returned yet, at its end so that
	// the bytes before them can be read in front.
	buf := make([]byte, backBlock+maxStored+1)
	start, end := len(buf), len(buf)
	skip := false // the line at the end of buf is too long
	first := true // no LF was seen yet
	for pos := size; pos > 0; {
		if start < backBlock { // move what is left to the end
			if end-start > maxStored {
				skip, end = true, start
			}
			n := copy(buf[len(buf)-(end-start):], buf[start:end])
			start, end = len(buf)-n, len(buf)
		}
		n := int(min(pos, backBlock))
		pos -= int64(n)
		if _, err := io.ReadFull(io.NewSectionReader(r, pos, int64(n)), buf[start-n:start]); err != nil {
			return err
		}
		fresh := start // no LF from here on
		start -= n
		for {
			i := bytes.LastIndexByte(buf[start:fresh], '\n')
			if i < 0 {
				break
			}
			i += start
			b := buf[i+1 : end]
			end, fresh = i, i
			if first && len(b) == 0 { // the LF that ends the file
				first = false
				continue
			}
			first = false
			if skip || len(b) > maxStored {
				skip = false
				continue
			}
			if !line(b) {
				return nil
			}
		}
	}
	if end > start && !skip && end-start <= maxStored {
		line(buf[start:end])
	}
	return nil
}
