package pending

import "slices"

// Bounds limit the requests of the peer. A field that is 0 sets no limit.
type Bounds struct {
	Running int // handlers at work; further requests wait, in the order of their arrival
	Open    int // requests that are open, and answers that wait for the peer to read
	Bytes   int // of the parameters of open requests and of those answers; one alone may have more
}

// Job is the part of one request of the peer that belongs to [Incoming]. The request
// contains it. The exported fields are set before [Incoming.Ask] and not changed
// afterwards.
type Job struct {
	Owner  any // the request
	ID     uint32
	Size   int  // bytes of the parameters
	Urgent bool // Bounds.Running does not apply

	waits  bool   // no handler works on it yet
	over   bool   // no more items
	begun  bool   // the peer has given credit: it takes items
	credit uint32 // items that may still be sent
	seq    uint32 // of the next item
}

// Incoming keeps the open requests of the peer, as a pure machine: each method takes in
// what has happened, and returns what the caller has to do. It is not safe for
// concurrent use.
type Incoming struct {
	bounds  Bounds
	last    uint32 // the highest id that the peer has given
	open    map[uint32]*Job
	waiting []*Job // of those in open, oldest first
	running int
	unread  int // answers that wait for the peer to read
	bytes   int
}

// NewIncoming returns a machine without requests.
func NewIncoming(b Bounds) Incoming { return Incoming{bounds: b} }

// Verdict says what follows for a request.
type Verdict uint8

// Verdicts.
const (
	Done     Verdict = iota // nothing: the request is finished
	Unknown                 // the peer has never given the id
	Starts                  // Ask: a handler is to start
	Waits                   // Ask: Free returns the request when a handler is to start
	TooMany                 // Ask: Bounds.Open requests are open
	TooLarge                // Ask: the parameters exceed Bounds.Bytes
	Stops                   // Withdraw: the context of the handler is to end
	Dropped                 // Withdraw: no handler will start; the caller answers
	Wakes                   // Allow: the credit may be what a sender of items waits for
)

// Seen takes in an id that the peer gives to a request, and reports whether a request
// of this id is open.
func (t *Incoming) Seen(id uint32) (open bool) {
	t.last = max(t.last, id)
	_, open = t.open[id]
	return open
}

// Ask takes in a request that a handler is to work on.
func (t *Incoming) Ask(j *Job) Verdict {
	switch open := len(t.open) + t.unread; {
	case t.bounds.Open > 0 && open >= t.bounds.Open:
		return TooMany
	case t.bounds.Bytes > 0 && t.bytes > 0 && t.bytes+j.Size > t.bounds.Bytes:
		return TooLarge
	}
	if t.open == nil { // many a peer never asks
		t.open = make(map[uint32]*Job)
	}
	t.open[j.ID] = j
	t.bytes += j.Size
	if j.Urgent {
		return Starts
	}
	if t.bounds.Running > 0 && t.running >= t.bounds.Running {
		j.waits = true
		t.waiting = append(t.waiting, j)
		return Waits
	}
	t.running++
	return Starts
}

// Withdraw takes in that the peer takes a request back.
func (t *Incoming) Withdraw(id uint32) (*Job, Verdict) {
	j, v := t.find(id)
	switch {
	case j == nil:
		return nil, v
	case !j.waits:
		return j, Stops
	}
	t.waiting = slices.DeleteFunc(t.waiting, func(o *Job) bool { return o == j })
	t.Answer(j)
	return j, Dropped
}

// Allow takes in credit of the peer for n more items.
func (t *Incoming) Allow(id, n uint32) (*Job, Verdict) {
	j, v := t.find(id)
	if j == nil {
		return nil, v
	}
	j.begun = j.begun || n > 0
	if j.credit += n; j.credit < n { // it cannot mean fewer items than before
		j.credit = ^uint32(0)
	}
	return j, Wakes
}

func (t *Incoming) find(id uint32) (*Job, Verdict) {
	if id == 0 || id > t.last {
		return nil, Unknown
	}
	return t.open[id], Done
}

// Answer takes in that the answer to a request is about to be put: the peer may use the
// id again, and takes nothing back from now on.
func (t *Incoming) Answer(j *Job) {
	delete(t.open, j.ID)
	t.bytes -= j.Size
	j.over = true
}

// Free takes in that the handler of a request has ended, and returns the request that the
// next one is to work on, or nil.
func (t *Incoming) Free(ended *Job) *Job {
	if ended.Urgent {
		return nil
	}
	t.running--
	if len(t.waiting) == 0 {
		return nil
	}
	j := t.waiting[0]
	t.waiting[0] = nil
	t.waiting = t.waiting[1:]
	t.running++
	j.waits = false
	return j
}

// Running returns how many handlers are at work, without those of urgent requests.
func (t *Incoming) Running() int { return t.running }

// Working returns how many requests have no answer yet.
func (t *Incoming) Working() int { return len(t.open) }

// Open returns how many requests and unread answers there are, and how many bytes they
// have.
func (t *Incoming) Open() (n, bytes int) { return len(t.open) + t.unread, t.bytes }

// Hold takes in an answer that waits for the peer to read. If it returns false, the
// answer must not wait.
func (t *Incoming) Hold(size int) bool {
	if t.bounds.Bytes > 0 && t.bytes > 0 && t.bytes+size > t.bounds.Bytes {
		return false
	}
	t.unread++
	t.bytes += size
	return true
}

// Unhold takes in that such an answer waits no more.
func (t *Incoming) Unhold(size int) {
	t.unread--
	t.bytes -= size
}

// Takes reports whether the peer takes items, and whether one may be sent now.
func (j *Job) Takes() (items, now bool) { return j.begun, j.credit > 0 && !j.over }

// Over reports whether no more items may be sent.
func (j *Job) Over() bool { return j.over }

// Finish ends the items.
func (j *Job) Finish() { j.over = true }

// Seq returns the number of the next item.
func (j *Job) Seq() uint32 { return j.seq }

// Sent takes in that an item was put, which takes one credit.
func (j *Job) Sent() {
	j.credit--
	j.seq++
}
