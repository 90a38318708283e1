package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// logQueueBytes is how much of a log waits until standard error is read.
	logQueueBytes = 1 << 20
	// logFlushWait is how long the program's end waits for that.
	logFlushWait = time.Second
)

// logQueue writes a log from its own goroutine, so that logging does not block
// when standard error is not read. Lines that do not fit into the queue are lost,
// and the log says how many. Safe for concurrent use.
type logQueue struct {
	w io.Writer

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	lost    int // lines since the last accepted line
	writing bool
}

func newLogQueue(w io.Writer) *logQueue {
	q := &logQueue{w: w}
	q.changed.L = &q.mu
	return q
}

// Write accepts one or more lines. It never blocks and never fails.
func (q *logQueue) Write(b []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting)+len(b) > logQueueBytes {
		q.lost++
		return len(b), nil
	}
	if q.lost > 0 {
		q.waiting = fmt.Appendf(q.waiting, "hostsup: %d lines of the log were lost here: standard error was not read\n", q.lost)
		q.lost = 0
	}
	q.waiting = append(q.waiting, b...)
	if !q.writing {
		q.writing = true
		go q.run()
	}
	return len(b), nil
}

// run writes the queued lines, and returns when the queue is empty.
func (q *logQueue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		b := q.waiting
		q.waiting = nil
		q.mu.Unlock()
		_, _ = q.w.Write(b) // there is nowhere else to report it
		q.mu.Lock()
	}
	q.writing = false
	q.changed.Broadcast()
}

// flush returns when everything is written, or after logFlushWait.
func (q *logQueue) flush() {
	late := false
	timer := time.AfterFunc(logFlushWait, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		late = true
		q.changed.Broadcast()
	})
	defer timer.Stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.writing && !late {
		q.changed.Wait()
	}
}
