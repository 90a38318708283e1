package actors

import "github.com/hostsup/hostsup/codec"

// Housekeeper is a [Companion] that knows which extensions live in a host.
type Housekeeper interface {
	Companion
	// Living returns the ids of those that the next life is told of, nil when none
	// is known yet.
	Living() []string
}

// introduce adds to what a life is opened with what is known of its extensions.
func (r *Ref) introduce(h codec.Hello) codec.Hello {
	if k, ok := r.with().(Housekeeper); ok {
		h.Extended, h.Extensions = true, k.Living()
	}
	return h
}

// Announced returns what the life has said of its extensions; false where it
// does not speak of any. See [codec.Announcer].
func (l *Line) Announced() ([]codec.Announced, bool) {
	s, ok := l.c.Session().(codec.Announcer)
	if !ok {
		return nil, false
	}
	return s.Announced()
}
