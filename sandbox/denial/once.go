package denial

import "sync"

// Once picks the denials that have not been told yet, by kind and path. It is safe for
// concurrent use.
type Once struct {
	Max int // of different ones; the others are never told

	mu   sync.Mutex
	seen map[string]bool
}

// First reports whether d is the first of its kind with its path, and among the first Max.
func (o *Once) First(d Denial) bool {
	key := string(d.Kind) + " " + d.Path
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[key] || len(o.seen) >= o.Max {
		return false
	}
	if o.seen == nil {
		o.seen = make(map[string]bool)
	}
	o.seen[key] = true
	return true
}
