package output

import "testing"

// Empty lines take memory too while they wait.
func TestQueueOfEmptyLinesIsBounded(t *testing.T) {
	var q queue
	blocked := make(chan struct{})
	q.add("first", func(string) { <-blocked })
	for range maxQueue {
		q.add("", func(string) {})
	}
	q.mu.Lock()
	n, dropped := len(q.list), q.dropped
	q.mu.Unlock()
	close(blocked)
	q.wait()
	if n > maxLines || dropped == 0 {
		t.Errorf("%d empty lines wait, %d were dropped", n, dropped)
	}
}
