package fetch

import (
	"context"
	"io"
	"sync"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Body is the body of a streamed response, to be read once.
type Body struct {
	id     string
	ctx    context.Context // of the call, which lasts until the body has been read
	answer *answer
	end    func()
	once   sync.Once
}

// pieceBytes is how much of a body one delta has at most.
const pieceBytes = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// Run reads the body and hands it on: pieces as they come, numbered from 1, then
// one that is empty and done, with an error when the body did not end as it
// should. It returns after that one, or when sink returns an error. The bytes
// of a piece are valid until sink returns. Run is called once, after the answer
// to the request has been sent.
func (b *Body) Run(sink func(*wire.HTTPBodyDelta) error) {
	defer b.Close()
	buf := pieces.Get().(*[pieceBytes]byte)
	defer pieces.Put(buf)
	d := wire.HTTPBodyDelta{RequestID: b.id}
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
			text := bodyText(b.ctx, err)
			d.Error = &text
		}
		b.Close()    // who is told of the end may use the id again
		_ = sink(&d) // whoever does not take it has ended
	}
}

// Close ends a body, run or not. It may be called more than once.
func (b *Body) Close() {
	b.once.Do(func() {
		b.answer.close()
		b.end()
	})
}
