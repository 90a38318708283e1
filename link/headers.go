package link

import (
	"fmt"
	"sort"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// headersKept is how many message headers a [Conn] remembers, and maxMethodKept
// how many bytes a method in them may have; of a longer one there is the length.
const (
	headersKept   = 50
	maxMethodKept = 1 << 10
)

// Header is one message without its payload.
type Header struct {
	Time   time.Time
	Dir    string // "sent" to the peer, "received" from it
	Kind   string
	ID     uint32
	Method string
	Size   int
}

// header is a Header before it is rendered.
type header struct {
	at     int64
	method string
	size   int
	id     uint32
	kind   codec.Kind
}

// ring keeps the last headers of one direction.
type ring struct {
	off  bool // nothing is kept
	kept []header
	n    int // how many there were
}

func (r *ring) add(at int64, m *codec.Message) {
	if r.off {
		return
	}
	h := header{at, m.Method, m.Size, m.ID, m.Kind}
	if n := len(h.method); n > maxMethodKept {
		h.method = fmt.Sprintf("(a name of %d bytes)", n)
	}
	if len(r.kept) < headersKept { // many a connection never has as many
		r.kept = append(r.kept, h)
	} else {
		r.kept[r.n%headersKept] = h
	}
	r.n++
}

// append appends what is kept, oldest first.
func (r *ring) append(to []Header, env Env, dir string) []Header {
	for i := max(0, r.n-headersKept); i < r.n; i++ {
		h := &r.kept[i%headersKept]
		to = append(to, Header{env.Time(h.at), dir, h.kind.String(), h.id, h.method, h.size})
	}
	return to
}

// newest brings headers of both directions into the order of time, and returns
// the last of them.
func newest(all []Header) []Header {
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time.Before(all[j].Time) })
	return all[max(0, len(all)-headersKept):]
}
