package fetch

import (
	"io"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Body is the body of a streamed response, to be read once.
type Body struct {
	r      *Request
	answer *answer
	once   sync.Once
}

// pieceBytes is how much of a body one delta has at most.
const pieceBytes = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// Run reads the body and hands it to sink: pieces as they come, numbered from 1,
// then an empty last one with Done set, and with an error when the body did not
// end as it should. Run returns after the last one, or when sink returns an error.
// The bytes of a piece are valid until sink returns. Run must be called once, after
// the answer to the request has been sent.
func (b *Body) Run(sink func(*wire.HTTPBodyDelta) error) {
	defer b.Close()
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	d := wire.HTTPBodyDelta{RequestID: b.r.params.RequestID}
	for !d.Done {
		n, err := b.answer.body.Read(buf[:])
		if n > 0 {
			d.Seq++
			d.Delta = buf[:n]
			if sink(&d) != nil {
				return
			}
		}
		if err == nil {
			continue
		}
		d.Seq++
		d.Delta, d.Done = nil, true
		if err != io.EOF {
			text := bodyText(b.r.ctx, err)
			d.Error = &text
		}
		b.Close()    // before the client knows of the end, and may use the id again
		_ = sink(&d) // it fails when the client is gone
	}
}

// Close ends a body, run or not. It may be called more than once.
func (b *Body) Close() {
	b.once.Do(func() {
		b.answer.close()
		b.r.end()
	})
}
