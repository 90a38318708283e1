package actors

import (
	"fmt"
	"time"
)

// drained tells a life that its callers have their answers.
type drained struct{}

// drain refuses new requests from now on. done is called once, when nobody waits
// for an answer any more, which may be at once; it must not wait.
func (c *conn) drain(done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = done
	c.refuses = true
	c.finished()
}

// finished looks whether anybody still waits, if somebody wants to know. Under
// the lock.
func (c *conn) finished() {
	if c.drained == nil || len(c.waitedFor()) > 0 {
		return
	}
	c.drained()
	c.drained = nil
}

// waitedFor are the open requests with a caller that is still there. Under the
// lock.
func (c *conn) waitedFor() []*Request {
	var out []*Request
	for _, q := range c.open {
		if !q.late && !q.internal {
			out = append(out, q)
		}
	}
	return out
}

// cutOff ends the requests that were not answered in time; the host is told.
func (c *conn) cutOff(after time.Duration) {
	c.mu.Lock()
	c.drained = nil
	open := c.waitedFor()
	c.mu.Unlock()
	sortByAge(open)
	for _, q := range open {
		q.cancel(&HostError{Host: c.ref.spec.Name, Life: c.life, Err: ErrCutOff, Reason: fmt.Sprintf("not answered within %s of the stop", after)})
	}
}
