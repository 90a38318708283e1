package service

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/intercept/guard"
)

// Bounds of what is kept and told of what a host says.
const (
	// maxText is how many bytes of a text of a host's, such as that of an error, are
	// kept and told; maxRead is how many are looked at for that.
	maxText = 4 << 10
	maxRead = 256 << 10
	// maxCommand is how many bytes the name of a command may have; a longer one is
	// none.
	maxCommand = 1 << 10
	// maxEarly is how many bytes a life may report before it has shaken hands; what
	// is more is not followed.
	maxEarly = 16 << 20
	// maxPatterns is how many patterns a host may have its workspace searched for at
	// once, and maxPattern how many bytes they may have together.
	maxPatterns = 1000
	maxPattern  = 64 << 10
	// maxSearches is how many of these go on at once.
	maxSearches = 4
	// maxQueue is how much the loop may have to do while more is read from hosts.
	maxQueue = 4096
	// maxComplaints is of how many things that are wrong with what hosts announce it
	// is remembered that they were told.
	maxComplaints = 1000
)

// errorsTold is how many errors that nobody catches are told of a host; of more
// their number.
var errorsTold = guard.Rate{Count: 60, Per: time.Minute}

// text is a text of a host's as it is kept and told: without secrets, and not
// longer than maxText and a word about the rest.
func (s *Service) text(text string) string {
	whole := len(text)
	if whole > maxRead {
		text = text[:maxRead]
	}
	text = s.tree.Redact(text)
	switch {
	case len(text) > maxText:
		return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), whole)
	case whole > maxRead:
		// Almost all of it were secrets, of which the last may be cut in two.
		return fmt.Sprintf("(%d bytes)", whole)
	}
	return text
}

// uncaught tells of an error that nobody catches. A host can have any number of
// them.
func (p *place) uncaught(life uint64, id, text string) {
	if p.errors == nil {
		p.errors = guard.NewLimiter(errorsTold)
	}
	if p.errors.Check(time.Now()) != nil {
		p.untold++
		return
	}
	p.tellUntold(life)
	p.s.tell(actors.Event{Kind: actors.KindExtension, Extension: id, Reason: fmt.Sprintf("%s has an error that nobody catches: %s", id, text)}, p.name, life)
}

// tellUntold tells how many errors were not told.
func (p *place) tellUntold(life uint64) {
	if n := p.untold; n > 0 {
		p.untold = 0
		p.s.tell(actors.Event{Kind: actors.KindExtension, Reason: fmt.Sprintf("%d more errors that nobody catches are not told, limit %s", n, errorsTold)}, p.name, life)
	}
}

// full returns a channel that is closed when the queue has room again, or nil if it has
// room: no more is read from hosts while the loop has too much to do.
func (q *queue) full() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) < maxQueue || q.ended {
		return nil
	}
	if q.room == nil {
		q.room = make(chan struct{})
	}
	return q.room
}

// take takes what is in the queue.
func (q *queue) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	q.release()
	return items
}

// end lets hosts be read, whatever is in the queue: the loop has ended.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.release()
}

// release tells that there is room. Under the lock.
func (q *queue) release() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}
