package capture

import (
	"bytes"
	"cmp"
	"fmt"
	"time"
)

// maxScratch bounds the bytes handed to one write. A read of the largest
// buffer fits, unless its lines are very short.
const maxScratch = 512 << 10

// span is the position of a line's text in the bytes that were read.
type span struct {
	start, end int
	more       bool
}

// scratch is the working memory for the lines of one read.
type scratch struct {
	json   bool // the files' format
	prefix []byte
	out    []byte // the lines in the file's format
	spans  []span // at least the newest keep lines
	lines  int    // all of them
	keep   int
}

func (w *scratch) add(b []byte, s span, file bool) {
	if file {
		w.out = appendLine(w.out, w.json, w.prefix, b[s.start:s.end], s.more)
	}
	w.note(s)
}

// room reports whether out has room for another line with n bytes of text.
func (w *scratch) room(n int) bool {
	if w.json {
		n *= maxEscaped
	}
	return len(w.out)+len(w.prefix)+n+lineEnd <= maxScratch
}

// note counts a line and records its position.
func (w *scratch) note(s span) {
	if len(w.spans) >= 2*w.keep { // the older half cannot stay in memory
		w.spans = w.spans[:copy(w.spans, w.spans[len(w.spans)-w.keep:])]
	}
	w.spans = append(w.spans, s)
	w.lines++
}

// plain takes lines from the start of b as long as they are not too long and do not
// end in CR LF, which is most of them; next gives the same result in twice the time.
// Lines begin at base for the spans. plain returns how many bytes it took: 0 if the
// first line is not plain, or out has no room for it.
func (w *scratch) plain(b []byte, base int, file bool) (at int) {
	// Local variables: the garbage collector has to track each store of a slice
	// into w.
	out, spans, lines := w.out, w.spans, w.lines
	if w.json && file {
		return 0 // next does not mind
	}
	for {
		line := b[at:min(len(b), at+MaxLine+1)]
		n := bytes.IndexByte(line, '\n')
		if n < 0 || n > 0 && line[n-1] == '\r' || len(out)+len(w.prefix)+n+1 > maxScratch {
			break
		}
		if file {
			out = append(out, w.prefix...)
			out = append(out, line[:n+1]...)
		}
		if len(spans) >= 2*w.keep {
			spans = spans[:copy(spans, spans[len(spans)-w.keep:])]
		}
		spans = append(spans, span{base + at, base + at + n, false})
		lines++
		at += n + 1
	}
	w.out, w.spans, w.lines = out, spans, lines
	return at
}

// take adds the whole lines of b, which came from one stream of one life, and
// returns how many bytes they took. The first seen bytes of b were passed in the
// last call already and hold no line end. With final, the rest is a line too.
func (l *Log) take(b []byte, seen int, final bool, s Stream, life uint64) int {
	l.wmu.Lock()
	l.mu.Lock()
	closed, keep := l.closed, l.limit().lines
	l.mu.Unlock()
	if closed {
		l.wmu.Unlock()
		return len(b)
	}
	now := time.Now()
	l.adopt()
	recovered := uint64(0)
	if l.sink.down {
		recovered = l.retry(now, life)
	}
	w := scratchPool.Get().(*scratch)
	w.keep = keep
	l.begin(w, now, life, s)
	journal := l.sink.Journal
	file := l.sink.base != "" && !journal
	var failed error
	at := 0
	for at < len(b) {
		if !journal {
			if n := w.plain(b[at:], at, file); n > 0 {
				at += n
				continue
			}
		}
		end, adv, more := next(b[at:], seen-at, MaxLine)
		if adv == 0 {
			if !final {
				break
			}
			end, adv, more = last(b[at:], MaxLine)
		}
		if len(w.out) > 0 && !w.room(end) {
			l.flush(w, b, s, life, now)
		}
		w.add(b, span{at, at + end, more}, file)
		if journal {
			n, err := l.send(b[at:at+end], more, s, life, now)
			failed, recovered = cmp.Or(failed, err), recovered+n
		}
		at += adv
	}
	l.flush(w, b, s, life, now)
	scratchPool.Put(w)
	err := l.sink.report()
	l.wmu.Unlock()
	l.tell(recovered, cmp.Or(failed, err))
	return at
}

// adopt puts new rules in force. The caller must hold wmu.
func (l *Log) adopt() {
	l.sink.adopt()
	if l.sink.apart { // files before the current one are not those of the numbers that follow
		l.sink.apart = false
		l.gaps = gaps{written: l.gaps.written, floor: l.gaps.written}
	}
}

// begin sets up w for lines with the same time, life and stream. The caller must hold
// wmu.
func (l *Log) begin(w *scratch, now time.Time, life uint64, s Stream) {
	w.json = l.sink.JSON
	if w.json {
		w.prefix = appendJSONPrefix(w.prefix[:0], now.UnixMicro(), l.opt.Name, life, s)
	} else {
		w.prefix = appendPrefix(w.prefix[:0], now.UnixMicro(), life, s)
	}
}

// tell calls OnError and OnRecover. The caller must not hold a lock.
func (l *Log) tell(recovered uint64, err error) {
	if recovered > 0 && l.opt.OnRecover != nil {
		l.opt.OnRecover(recovered)
	}
	if err != nil && l.opt.OnError != nil {
		l.opt.OnError(err)
	}
}

// flush puts the lines of w into memory, then into the file. The caller must hold
// wmu.
func (l *Log) flush(w *scratch, b []byte, s Stream, life uint64, now time.Time) {
	if w.lines == 0 {
		return
	}
	first := l.publish(w, b, s, life, now)
	switch {
	case l.sink.Journal:
		l.gaps.add(first, first+uint64(w.lines)-1)
	case l.sink.base != "":
		l.record(w, first, now)
	}
	w.out, w.spans, w.lines = w.out[:0], w.spans[:0], 0
}

// publish numbers the lines of w, stores those that fit in memory and wakes the
// followers. It returns the first number.
func (l *Log) publish(w *scratch, b []byte, s Stream, life uint64, now time.Time) (first uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	first = l.seq + 1
	l.seq += uint64(w.lines)
	max := l.limit()
	from, size := len(w.spans), 0
	for from > 0 && len(w.spans)-from < max.lines {
		size += w.spans[from-1].end - w.spans[from-1].start
		if size > max.bytes && from < len(w.spans) { // the newest always stays
			break
		}
		from--
	}
	kept := w.spans[from:]
	// One copy for all: the last line keeps it alive, so that at most the text of one
	// read outlives its entries in the ring.
	base := kept[0].start
	text := string(b[base:kept[len(kept)-1].end])
	seq := l.seq - uint64(len(kept)) + 1
	r := l.ring(life)
	if len(kept) >= max.lines {
		r.empty()
	}
	for i, sp := range kept {
		r.push(entry{text: text[sp.start-base : sp.end-base], seq: seq + uint64(i),
			micro: now.UnixMicro(), life: life, stream: s, more: sp.more}, max)
	}
	l.wakeAll()
	return first
}

// record writes lines to the file and records which of them it could not write. The
// caller must hold wmu.
func (l *Log) record(w *scratch, first uint64, now time.Time) {
	n, lines := l.sink.write(w.out, now), w.lines
	if n < len(w.out) {
		lines = bytes.Count(w.out[:n], []byte{'\n'})
		l.gaps.add(first+uint64(lines), first+uint64(w.lines)-1)
	}
	if lines > 0 {
		l.gaps.written = first + uint64(lines) - 1
	}
	l.count(lines, n, w.lines-lines, len(w.out)-n)
}

// count updates the statistics. The caller must hold wmu.
func (l *Log) count(lines, bytes, lostLines, lostBytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stats.Lines += uint64(lines)
	l.stats.Bytes += uint64(bytes)
	l.stats.LostLines += uint64(lostLines)
	l.stats.LostBytes += uint64(lostBytes)
	l.stats.Err = nil
	if l.sink.down {
		l.stats.Err = l.sink.cause
	}
}

// retry ends a series of failures when the file can be written again, with a note
// that counts what is missing, and returns that count; 0 if the series goes on. The
// caller must hold wmu. A zero now ignores the time of the next attempt.
func (l *Log) retry(now time.Time, life uint64) (lost uint64) {
	if now.IsZero() {
		now = time.Now()
	} else if now.Before(l.sink.retryAt) {
		return 0
	}
	lost = l.sink.lostLines
	text := fmt.Appendf(nil, "%d lines (%d bytes) of output are missing here: %v", l.sink.lostLines, l.sink.lostBytes, l.sink.cause)
	for i, c := range text {
		if c == '\n' {
			text[i] = ' '
		}
	}
	var w scratch
	w.keep = 1
	l.begin(&w, now, life, Note)
	w.add(text, span{0, len(text), false}, true)
	if !l.sink.revive(w.out, now) {
		return 0
	}
	l.gaps.written = l.publish(&w, text, Note, life, now)
	l.count(1, len(w.out), 0, 0)
	return lost
}

// gaps records which lines are not in the files, so that History can number those
// that are. Guarded by wmu.
type gaps struct {
	written uint64 // the newest line in the files
	ranges  []seqs // oldest first
	floor   uint64 // lines below are unknown
}

type seqs struct{ first, last uint64 }

const maxGaps = 64

func (g *gaps) add(first, last uint64) {
	if n := len(g.ranges); n > 0 && g.ranges[n-1].last+1 == first {
		g.ranges[n-1].last = last
		return
	}
	if len(g.ranges) == maxGaps {
		g.floor = g.ranges[0].last
		g.ranges = append(g.ranges[:0], g.ranges[1:]...)
	}
	g.ranges = append(g.ranges, seqs{first, last})
}

// before returns the number of the line that precedes seq in the files, or 0 when
// that is unknown.
func (g *gaps) before(seq uint64) uint64 {
	if seq <= 1 {
		return 0
	}
	seq--
	for i := len(g.ranges) - 1; i >= 0; i-- {
		if r := g.ranges[i]; r.first <= seq && seq <= r.last {
			seq = r.first - 1
		}
	}
	if seq <= g.floor {
		return 0
	}
	return seq
}

// has reports whether a line is known to be missing in the files.
func (g *gaps) has(seq uint64) bool {
	for _, r := range g.ranges {
		if r.first <= seq && seq <= r.last {
			return true
		}
	}
	return false
}
