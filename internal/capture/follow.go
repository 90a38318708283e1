package capture

import (
	"context"
	"iter"
)

// followBatch bounds the lines taken at once under the lock.
const followBatch = 256

// Follow returns the last n lines (those of [Log.History]) and then each new
// one, until ctx ends or the log is closed and its last line was seen. A
// follower that falls behind what is kept in memory (see [Options.Backlog])
// misses lines; the next one it gets says in Lost how many. Nothing is kept per
// follower, and nothing waits for one. Each range over the result starts anew.
func (l *Log) Follow(ctx context.Context, n int) iter.Seq[Line] {
	return func(yield func(Line) bool) {
		l.mu.Lock()
		l.followers++
		l.mu.Unlock()
		defer l.unfollow()

		lines, from, _ := l.history(n) // what cannot be read is not there to be shown
		if len(lines) > 0 && lines[0].Seq > 0 {
			countLost(lines, lines[0].Seq)
		}
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
}

// countLost sets Lost from the gaps in the numbers of lines, the first of
// which was to be next, and returns the number expected after the last.
func countLost(lines []Line, next uint64) uint64 {
	for i := range lines {
		lines[i].Lost = lines[i].Seq - next
		next = lines[i].Seq + 1
	}
	return next
}

// since returns lines from a number on; when there are none, a channel that is
// closed at the next one, or nil when there will be none.
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
