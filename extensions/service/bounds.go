package service

import (
	"fmt"
	"strings"
	"time"

	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// Bounds on what is kept and reported of a host's data.
const (
	// maxText is how many bytes of a text of a host, such as an error, are kept and
	// reported; maxRead is how many are read for that.
	maxText = 4 << 10
	maxRead = 256 << 10
	// maxCommand is how many bytes the name of a command may have; longer names do not
	// count as commands.
	maxCommand = 1 << 10
	// maxEarly is how many bytes a life may report before its handshake is done; more
	// is dropped.
	maxEarly = 16 << 20
	// maxPatterns is how many patterns one search of the workspace may have, and
	// maxPattern how many bytes they may have together.
	maxPatterns = 1000
	maxPattern  = 64 << 10
	// maxSearches is how many searches run at once.
	maxSearches = 4
	// maxQueue is how many tasks the loop may have before reading from hosts pauses.
	maxQueue = 4096
	// maxComplaints is how many reported mistakes in announcements are remembered.
	maxMistakes = 1000
)

// errorsReported is how many uncaught errors of a host are reported; of further ones only
// the number.
var errorsReported = guard.Rate{Count: 60, Per: time.Minute}

// text returns a text of a host for keeping and reporting: without secrets, and cut to
// maxText with a note about the rest.
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
		// Almost all of it were secrets, the last of which may be cut.
		return fmt.Sprintf("(%d bytes)", whole)
	}
	return text
}

// uncaught reports an uncaught error. A host can have any number of them.
func (p *extHost) uncaught(life uint64, id, text string) {
	if p.errors == nil {
		p.errors = guard.NewLimiter(errorsReported)
	}
	if p.errors.Check(time.Now()) != nil {
		p.dropped++
		return
	}
	p.reportDropped(life)
	p.s.emit(record.Event{Kind: record.KindExtension, Extension: id, Reason: fmt.Sprintf("%s has an error that nobody catches: %s", id, text)}, p.name, life)
}

// reportDropped reports how many errors were not reported.
func (p *extHost) reportDropped(life uint64) {
	if n := p.dropped; n > 0 {
		p.dropped = 0
		p.s.emit(record.Event{Kind: record.KindExtension, Reason: fmt.Sprintf("%d more errors that nobody catches are not told, limit %s", n, errorsReported)}, p.name, life)
	}
}

// full returns a channel that is closed when the queue has room again, or nil if it has
// room: reading from hosts pauses while the loop has too many tasks.
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

// take removes and returns all tasks of the queue.
func (q *queue) take() []func() {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	q.release()
	return items
}

// end resumes reading from hosts after the loop has ended.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.release()
}

// release signals that there is room. The caller must hold the lock.
func (q *queue) release() {
	if q.room != nil {
		close(q.room)
		q.room = nil
	}
}
