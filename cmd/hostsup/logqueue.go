package main

import (
	"context"
	"io"
	"sync"
	"time"
)

const (
	// logQueueBytes is how much of a log waits until standard error is read.
	logQueueBytes = 1 << 20
	// logQueueFirst is how much of it is left to writers that wait for room; the rest is for
	// those that do not.
	logQueueFirst = 64 << 10
	// logFlushWait is how long the program's end waits for that.
	logFlushWait = time.Second
)

// logQueue writes a log from its own goroutine, so that logging does not block
// when standard error is not read, or a disk is slow. Lines that do not fit into the queue are lost,
// and the log says how many. Safe for concurrent use.
type logQueue struct {
	w      io.Writer
	remark func(lost int) []byte // a line that counts those that are missing before it

	mu      sync.Mutex
	changed sync.Cond
	waiting []byte
	lost    int // lines since the last accepted line
	writing bool
}

func newLogQueue(w io.Writer, remark func(lost int) []byte) *logQueue {
	q := &logQueue{w: w, remark: remark}
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
	q.put(b)
	return len(b), nil
}

// wait accepts b as soon as there is room, which it waits for until ctx ends. It reports
// whether it has accepted b.
func (q *logQueue) wait(ctx context.Context, b []byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	full := func() bool { return len(q.waiting) > 0 && len(q.waiting)+len(b) > logQueueFirst }
	if full() {
		defer context.AfterFunc(ctx, func() {
			q.mu.Lock()
			defer q.mu.Unlock()
			q.changed.Broadcast()
		})()
		for full() && ctx.Err() == nil {
			q.changed.Wait()
		}
	}
	if ctx.Err() != nil {
		return false
	}
	q.put(b)
	return true
}

// put queues b. The caller must hold mu.
func (q *logQueue) put(b []byte) {
	if q.lost > 0 {
		q.waiting = append(q.waiting, q.remark(q.lost)...)
		q.lost = 0
	}
	q.waiting = append(q.waiting, b...)
	if !q.writing {
		q.writing = true
		go q.run()
	}
}

// run writes the queued lines, and returns when the queue is empty.
func (q *logQueue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) > 0 {
		b := q.waiting
		q.waiting = nil
		q.changed.Broadcast() // there is room
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
