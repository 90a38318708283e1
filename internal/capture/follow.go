package capture

import (
	"context"
	"iter"
)

// followBatch bounds the lines taken at once under the lock.
const followBatch = 256

// Follow returns the last n lines (those of [Log.History]) and then each new
// one, until ctx ends or the log is closed and its last line was returned. A
// follower that falls behind the lines kept in memory (see [Options.Backlog])
// misses lines; Lost of its next line counts them. The log keeps nothing per
// follower and waits for none. Each range over the result starts again.
func (l *Log) Follow(ctx context.Context, n int) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		l.mu.Lock()
		l.followers++
		l.mu.Unlock()
		defer l.unfollow()

		lines, from, _ := l.history(n) // unreadable lines are skipped
		if len(lines) > 0 && lines[0].Seq > 0 {
			countLost(lines, lines[0].Seq)
		}
		l.pass(ctx, lines, from, yield)
	}
}

// After returns the lines after number seq and each new one, as [Log.Follow] does. Lines
// that memory no longer holds count as missed. With 0 it returns all lines in memory.
// Memory holds [Options.Backlog] lines meanwhile only with backlog: who follows many logs
// at once may have to do with Ring.
func (l *Log) After(ctx context.Context, seq uint64, backlog bool) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		if backlog {
			l.mu.Lock()
			l.followers++
			l.mu.Unlock()
			defer l.unfollow()
		}
		l.pass(ctx, nil, seq+1, yield)
	}
}

// pass yields lines, then those from number from on, until ctx ends or the log is closed.
func (l *Log) pass(ctx context.Context, lines []Line, from uint64, yield func(Line) bool) {
	for {
		for _, ln := range lines {
			if ctx.Err() != nil || !yield(ln) {
				return
			}
		}
		var wake <-chan struct{}
		lines, wake = l.since(lines[:0], from)
		if len(lines) > 0 {
			from = countLost(lines, from)
			continue
		}
		if wake == nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		}
	}
}

// countLost sets Lost from the gaps between next, the number expected first, and the
// numbers of lines. It returns the number expected after the last.
func countLost(lines []Line, next uint64) uint64 {
	for i := range lines {
		lines[i].Lost = lines[i].Seq - next
		next = lines[i].Seq + 1
	}
	return next
}

// since returns the lines from number seq on. If there are none, it returns a channel
// that is closed at the next line, or nil if there will be none.
func (l *Log) since(buf []Line, seq uint64) ([]Line, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buf = since(buf, l.cur, l.past, seq, followBatch)
	if len(buf) > 0 || l.closed {
		return buf, nil
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return buf, l.wake
}

func (l *Log) unfollow() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.followers--; l.followers == 0 {
		l.cur.shrink(l.limit())
		l.past.shrink(l.limit())
	}
}
