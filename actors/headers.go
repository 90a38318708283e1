package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/hostsup/hostsup/codec"
)

// headersKept is how many message headers a crash report shows, and maxMethodKept
// how many bytes a method in them may have; of a longer one there is the length.
const (
	headersKept   = 50
	maxMethodKept = 1 << 10
)

// header is a Header before it is rendered.
type header struct {
	at     int64
	dir    string
	kind   codec.Kind
	id     uint32
	method string
	size   int
}

// headerRing keeps the last headers of a connection.
type headerRing struct {
	ring [headersKept]header
	n    uint64
}

func (r *headerRing) add(h header) {
	if n := len(h.method); n > maxMethodKept {
		h.method = fmt.Sprintf("(a name of %d bytes)", n)
	}
	r.ring[r.n%headersKept] = h
	r.n++
}

func (r *headerRing) list() []Header {
	n := min(r.n, headersKept)
	out := make([]Header, 0, n)
	for i := r.n - n; i < r.n; i++ {
		h := r.ring[i%headersKept]
		out = append(out, Header{
			Time: base.Add(time.Duration(h.at - 1)), Dir: h.dir, Kind: h.kind.String(),
			ID: h.id, Method: h.method, Size: h.size,
		})
	}
	slices.SortStableFunc(out, func(a, b Header) int { return a.Time.Compare(b.Time) })
	return out
}
