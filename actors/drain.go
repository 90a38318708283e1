package actors

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/link/pending"
)

// drained tells a life that its callers have their answers.
type drained struct{}

// drain refuses new requests from now on. done is called once, when no caller waits
// for an answer any more, which may be at once; it must not wait.
func (c *conn) drain(done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drained = done
	c.stepLocked(pending.Event{Op: pending.Drain}, 0)
}

// cutOff ends the requests that were not answered in time; the host is told.
func (c *conn) cutOff(after time.Duration) {
	c.mu.Lock()
	c.table.Step(pending.Event{Op: pending.CutOff}, 0)
	list := c.table.Listed()
	c.mu.Unlock()
	for _, q := range requestsOf(list) {
		q.cancel(&HostError{Host: c.ref.spec.Name, Life: c.life, Err: ErrCutOff, Reason: fmt.Sprintf("not answered within %s of the stop", after)})
	}
}
