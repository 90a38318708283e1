package output

import (
	"fmt"
	"sync"
)

// The bounds of what waits to be written.
const (
	maxLine  = 8 << 10 // bytes; what is longer is cut
	maxQueue = 1 << 20 // bytes; what comes while so much waits is counted and dropped
	maxLines = 16_384  // the same for lines, which take memory also if they are empty
)

// queue writes lines in their order on a goroutine that exists only while lines wait. The zero
// value is ready.
type queue struct {
	name string // of what is written, in the line that counts what was dropped

	mu      sync.Mutex
	list    []func()
	size    int // bytes of the list
	dropped int
	running bool
	work    sync.WaitGroup
}

// add has a line written, after those before. It does not block.
func (q *queue) add(text string, write func(text string)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.size+len(text) > maxQueue || len(q.list) >= maxLines {
		q.dropped++
		return
	}
	if q.dropped > 0 {
		n := q.dropped
		q.dropped = 0
		q.list = append(q.list, func() { write(fmt.Sprintf("%s: %d lines came too fast and were dropped", q.name, n)) })
	}
	q.size += len(text)
	q.list = append(q.list, func() { write(text) })
	if !q.running {
		q.running = true
		q.work.Go(q.drain)
	}
}

// wait returns when all is written. Nothing may be added meanwhile.
func (q *queue) wait() { q.work.Wait() }

// drain writes what is in the queue.
func (q *queue) drain() {
	for {
		q.mu.Lock()
		list := q.list
		q.list, q.size = nil, 0
		if len(list) == 0 {
			q.running = false
			q.mu.Unlock()
			return
		}
		q.mu.Unlock()
		for _, write := range list {
			write()
		}
	}
}
