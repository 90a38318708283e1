package capture

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options of a Log. The zero value keeps 200 lines in memory and no files.
type Options struct {
	Dir  string // folder of the files, made when missing; "" keeps lines in memory only
	Name string // base name: NAME.log, NAME.log.1, …; bytes other than A–Z a–z 0–9 . _ - become _
	Ring int    // lines kept in memory, of the latest life and of all before it; default 200

	Rules // of the files

	// Packer compresses files and reads them again. Nil: neither is done.
	Packer Packer

	// Journal takes the lines if the Rules say so. May be nil: then they are lost, which is
	// counted and reported as for files.
	Journal Journal

	// Archiver compresses and removes old files. Nil: the log has one of its own.
	Archiver *Archiver

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

	// OnRecover is called as OnError is when a series of failures has ended, with how
	// many lines are missing. May be nil.
	OnRecover func(lines uint64)

	// OnArchiveError is called by the goroutine of the Archiver when a file cannot be
	// compressed, once until one can. The file stays as it is. May be nil.
	OnArchiveError func(error)

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

	// mu guards the fields below, and must not be held during input or output.
	mu        sync.Mutex
	cur, past *ring // lines of the latest life; of all earlier lives
	seq       uint64
	stats     Stats
	losses    losses // of the Journal
	captures  []*Capture
	followers int
	wake      chan struct{} // closed at the next line; nil without waiting followers
	closing   bool          // no new captures
	closed    bool          // no new lines

	sender      Sender // of lines for the Journal; nil before the first. Guarded by wmu
	ownArchiver bool

	closeOnce sync.Once
	closeErr  error
}

// New returns a log. It touches no file, except that with MaxAge the Archiver removes those
// that are too old: the first line opens it.
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
	l := &Log{opt: opt}
	l.sink.Rules, l.sink.lock, l.sink.onArchive = opt.withDefaults(), &l.wmu, opt.OnArchiveError
	l.sink.packer = opt.Packer
	if opt.Dir == "" {
		return l
	}
	l.sink.base, l.sink.archive = filepath.Join(opt.Dir, fileName(opt.Name)+".log"), opt.Archiver
	if l.sink.archive == nil {
		l.sink.archive, l.ownArchiver = new(Archiver), true
	}
	if opt.MaxAge > 0 { // of an earlier run
		l.sink.archive.enqueue(&l.sink)
	}
	return l
}

// SetRules changes the rules of the files. It does not wait for the disk: they hold from
// the next write on, which removes files that are too many.
func (l *Log) SetRules(r Rules) { l.sink.setRules(r) }

// Reopen has the path of the current file opened again, for when that was moved by a program
// such as logrotate. It does not wait for a line that is being written: then that happens before
// the next one. What was in the moved file, History does not find.
func (l *Log) Reopen() { l.sink.setReopen(l.wmu.TryLock, l.wmu.Unlock) }

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

// Stats counts what was written to the files and what could not be, since New. Lines that
// rotation removed are not counted as lost. Bytes are those of the files' format.
type Stats struct {
	Lines, Bytes         uint64
	LostLines, LostBytes uint64
	Err                  error // why the files cannot be written at present; nil: they can
}

// Stats does not wait for the disk.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stats
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
		recovered := uint64(0)
		if l.sink.down { // record what is missing, if the file can be written by now
			l.mu.Lock()
			life := l.cur.life // not nil: lines came before the failure
			l.mu.Unlock()
			recovered = l.retry(time.Time{}, life)
		}
		l.closeErr = l.sink.close()
		l.mu.Lock()
		l.closed = true
		l.wakeAll()
		l.mu.Unlock()
		l.wmu.Unlock()
		l.tell(recovered, nil)
		if a := l.sink.archive; a != nil {
			a.forget(&l.sink)
			if l.ownArchiver {
				a.Close()
			}
		}
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
