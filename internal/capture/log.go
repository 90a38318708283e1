package capture

import (
	"bytes"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a Log. The zero value keeps 200 lines in memory and no files.
type Options struct {
	Dir     string // folder of the files, made when missing; "" keeps lines in memory only
	Name    string // base name: NAME.log, NAME.log.1, …; bytes other than A–Z a–z 0–9 . _ - become _
	MaxSize int64  // bytes of one file; default 16 MiB. A single longer line still gets a file of its own
	Files   int    // files kept, the current one included; default 4
	Ring    int    // lines kept in memory, of the latest life and of all before it; default 200

	// RingBytes bounds the text of those lines; default 4 MiB. Fewer than Ring lines
	// are kept if they are that long.
	RingBytes int

	// Backlog replaces Ring while there is a follower, so that one that keeps up on
	// average loses nothing in a burst; default 4096, at least Ring. The text of those
	// lines is bounded by twice RingBytes.
	Backlog int

	// OnError is called when the files cannot be written, once per series of failures.
	// A series ends with a note in the file that counts what is missing. Until then
	// the file is tried again with the first line after 1 s, 2 s, … 1 min. OnError is
	// called without a lock held, by the goroutine that reads the host: it must return
	// soon and must not call Close. Default: errors are dropped.
	OnError func(error)

	// Redact replaces secrets in all lines before they reach memory, followers or a
	// file. Nil: nothing is replaced.
	Redact Redactor
}

// Redactor replaces parts of what is captured. Stream receives bytes as they arrive.
// It leaves the last held bytes out of out; the caller passes them again with what
// follows. Stream must return out as a part of b if it replaces nothing. A match within
// a line must not hold a line end. Methods are called from many goroutines.
type Redactor interface {
	Active() bool // false: there is nothing to replace
	Stream(b []byte) (out []byte, held int)
	Bytes(b []byte) []byte // replaces in all of b
	Last(b []byte) []byte  // replaces in what was held, when nothing follows
}

// Log is the captured output of one host over all its lives: the last lines in
// memory, and rotating files. It is safe for concurrent use. Make it with [New].
type Log struct {
	opt Options

	// wmu is held while lines are added, including the write to the file. It must be
	// locked before mu.
	wmu  sync.Mutex
	sink sink
	gaps gaps

	bounds atomic.Pointer[bounds] // of the files, from the next write on; nil: as before

	// mu guards the fields below, and must not be held during input or output.
	mu           sync.Mutex
	cur, past    *ring // lines of the latest life; of all earlier lives
	seq          uint64
	droppedLines uint64
	droppedBytes uint64
	captures     []*Capture
	followers    int
	wake         chan struct{} // closed at the next line; nil without waiting followers
	closing      bool          // no new captures
	closed       bool          // no new lines

	closeOnce sync.Once
	closeErr  error
}

// New returns a log. It touches no file: the first line opens it.
func New(opt Options) *Log {
	if opt.Ring <= 0 {
		opt.Ring = 200
	}
	if opt.RingBytes <= 0 {
		opt.RingBytes = 4 << 20
	}
	if opt.Backlog <= 0 {
		opt.Backlog = 4096
	}
	opt.Backlog = max(opt.Backlog, opt.Ring)
	opt.Name = fileName(opt.Name)
	return &Log{opt: opt, sink: sink{dir: opt.Dir, name: opt.Name, bounds: newBounds(opt.MaxSize, opt.Files)}}
}

// bounds are those of the files of a log.
type bounds struct {
	maxSize int64 // bytes of one
	files   int
}

func newBounds(maxSize int64, files int) bounds {
	if maxSize <= 0 {
		maxSize = 16 << 20
	}
	if files <= 0 {
		files = 4
	}
	return bounds{maxSize, files}
}

// SetBounds changes MaxSize and Files of the log's [Options]. It does not wait for the
// disk: they hold from the next write on, which removes files that are too many.
func (l *Log) SetBounds(maxSize int64, files int) {
	b := newBounds(maxSize, files)
	l.bounds.Store(&b)
}

// fileName makes name safe: it cannot leave its folder.
func fileName(name string) string {
	if name == "" {
		return "output"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
}

// limit returns the present bound of a ring. The caller must hold mu.
func (l *Log) limit() limit {
	if l.followers > 0 {
		return limit{l.opt.Backlog, 2 * l.opt.RingBytes}
	}
	return limit{l.opt.Ring, l.opt.RingBytes}
}

// ring returns the ring for lines of a life. The caller must hold mu.
func (l *Log) ring(life uint64) *ring {
	switch {
	case l.cur == nil:
		l.cur = &ring{life: life}
	case life > l.cur.life:
		l.past = merge(l.past, l.cur, l.limit())
		l.cur = &ring{life: life}
	case life < l.cur.life: // late: a pipe that outlived its process
		if l.past == nil {
			l.past = new(ring)
		}
		return l.past
	}
	return l.cur
}

// Tail returns the last n lines in memory, oldest first, or fewer if there are not as
// many. It does not wait for the disk.
func (l *Log) Tail(n int) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return newest(l.cur, l.past, n, nil)
}

// TailOfLife returns the last n lines in memory that a life printed, oldest first,
// without notes. They are complete once the captures of that life are done. The next
// life cannot push them out, however much it prints; the one after that can.
func (l *Log) TailOfLife(life uint64, n int) []Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return newest(l.cur, l.past, n, func(e *entry) bool { return e.life == life && e.stream != Note })
}

// Lines returns the number of lines since New, including notes: the Seq of the newest.
func (l *Log) Lines() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seq
}

// Dropped returns how many lines, and how many bytes in the files' format, could not
// be written to the files since New. Lines that rotation removed are not counted.
func (l *Log) Dropped() (lines, bytes uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.droppedLines, l.droppedBytes
}

// Print adds a line of the given stream that did not come from a [Capture]. Line ends
// in it become spaces; it is stored and cut like a remark of Note.
func (l *Log) Print(s Stream, life uint64, line []byte) { l.add(s, life, bytes.Clone(line)) }

// Note adds a remark of the supervisor as a separate line. Line ends in text become
// spaces, and text is cut at [MaxLine] bytes. It is written to the file before Note
// returns. After Close, Note does nothing.
func (l *Log) Note(life uint64, text string) {
	l.add(Note, life, []byte(text))
}

// add adds one line, which it may modify.
func (l *Log) add(s Stream, life uint64, b []byte) {
	for i, c := range b {
		if c == '\n' || c == '\r' {
			b[i] = ' '
		}
	}
	if l.opt.Redact != nil {
		b = l.opt.Redact.Bytes(b)
	}
	if len(b) > MaxLine {
		b = b[:cut(b, MaxLine)]
	}
	l.take(append(b, '\n'), 0, false, s, life)
}

// Sync asks the kernel to put the current file on the disk, and waits for that. It
// fails while the file cannot be written.
func (l *Log) Sync() error {
	l.wmu.Lock()
	defer l.wmu.Unlock()
	return l.sink.sync()
}

// Close stops the running captures, waits until they have taken what is in their
// pipes, closes the file, and ends the followers once they have seen the last line.
// Tail and History still work after Close. Later calls return the result of the first.
func (l *Log) Close() error {
	l.closeOnce.Do(func() {
		l.mu.Lock()
		l.closing = true
		captures := append([]*Capture(nil), l.captures...)
		l.mu.Unlock()
		for _, c := range captures {
			c.Stop()
		}
		for _, c := range captures {
			<-c.Done()
		}
		l.wmu.Lock()
		if l.sink.down { // record what is missing, if the file can be written by now
			l.mu.Lock()
			life := l.cur.life // not nil: lines came before the failure
			l.mu.Unlock()
			l.retry(time.Time{}, life)
		}
		l.closeErr = l.sink.close()
		l.mu.Lock()
		l.closed = true
		l.wakeAll()
		l.mu.Unlock()
		l.wmu.Unlock()
	})
	return l.closeErr
}

// wakeAll wakes the waiting followers. The caller must hold mu.
func (l *Log) wakeAll() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Capture reads r, the read end of a pipe, to its end in a new goroutine, as the given
// stream of the given life (lives are numbered upwards). It takes ownership of r and
// closes it. r should be non-blocking, as those of os.Pipe are: others keep a thread
// each, and Stop cannot interrupt them. On a closed log Capture closes r and is done
// at once.
func (l *Log) Capture(r *os.File, s Stream, life uint64) *Capture {
	c := &Capture{log: l, r: r, stream: s, life: life, done: make(chan struct{})}
	l.mu.Lock()
	if l.closing || r == nil {
		l.mu.Unlock()
		if r != nil {
			_ = r.Close()
		}
		c.err = os.ErrClosed
		close(c.done)
		return c
	}
	l.captures = append(l.captures, c)
	l.mu.Unlock()
	go c.run()
	return c
}

// forget removes a finished capture from the list.
func (l *Log) forget(c *Capture) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, k := range l.captures {
		if k == c {
			l.captures = append(l.captures[:i], l.captures[i+1:]...)
			break
		}
	}
	if len(l.captures) == 0 {
		l.captures = nil
	}
}
