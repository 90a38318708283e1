package pending

import "time"

// Window is how many items of a streamed result the peer may send ahead.
const Window = 64

// Entry is the part of one request that belongs to the table. The request contains
// it, so that the table sets no memory aside for it. The fields that are exported
// are set before [Register] and not changed afterwards; the others are changed by
// the table alone.
type Entry struct {
	Owner    any    // the request
	Items    *Items // nil: its result does not come as items
	Internal bool   // nobody waits for its answer: pings and goodbyes

	acked   bool // the peer has picked it up, or need not say so
	writing bool // its writer has not put its frame into the outbox yet
	written bool // its frame is in the outbox
	late    bool // its caller has left, and the peer still owes the answer
	orphan  bool // its connection closed while it was being written

	id      uint32
	wroteAt int64 // when its frame was put into the outbox
}

// Items is the part of a request for a streamed result that belongs to the table,
// contained like an [Entry].
type Items struct {
	credit uint32 // items that the peer may still send
	seq    uint32 // of the next item
	taken  uint32 // items that the caller has taken since it last gave credit
	since  int64  // when the last item came, or the last credit was given
}

// Begin says when the silence of a stream begins.
func (i *Items) Begin(now int64) { i.since = now }

// ID returns the id that the entry was given last, 0 before the first.
func (e *Entry) ID() uint32 { return e.id }

// Silence returns how long the peer could have sent an item and did not. While the
// peer has no credit the silence is the caller's own. It must not be called before
// Register.
func (i *Items) Silence(now int64) time.Duration {
	if i.credit == 0 {
		return 0
	}
	return time.Duration(now - i.since)
}
