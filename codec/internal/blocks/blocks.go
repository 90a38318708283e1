// Package blocks reads the frames of a stream into blocks of memory. A frame is
// a part of its block and is not copied; a frame that is larger than a block gets
// memory of its own, which grows only as its bytes arrive, whatever the frame
// claims. The caller knows where a frame ends:
//
//	for {
//		size, missing := look(r.Rest())
//		if size > 0 {
//			return r.Take(size)
//		}
//		if err := r.More(missing); err != nil {
//			return err
//		}
//	}
package blocks

import "io"

const (
	minBlock = 4 << 10  // a connection that says little
	maxBlock = 64 << 10 // a connection that says much
	minRead  = 512      // with less room than this a new block is taken
	maxEmpty = 100      // reads in a row that return nothing
)

// Reader reads a stream into blocks. Make one with [New]; it is not for
// concurrent use.
type Reader struct {
	// Kept must be set when somebody may keep a part of what Take returned: the
	// Reader does not write again where that lies. The Reader unsets it when it
	// begins another block.
	Kept bool
	// Vague must be set before the first read if what More is told is only the
	// least that a frame lacks. Memory then grows by half at least, so that a
	// frame is not copied again and again.
	Vague bool

	src        io.Reader
	block      []byte
	from, to   int    // the bytes of block that were read and not yet taken
	size       int    // of the next block
	full, idle bool   // how the reads into this block went
	large      bool   // block belongs to the frame at from alone
	spare      []byte // meanwhile the block that is used again behind that frame; may be nil
}

// New returns a Reader of src. It sets no memory aside before the first read.
func New(src io.Reader) Reader { return Reader{src: src, size: minBlock} }

// Rest returns the bytes that were read and not yet taken.
func (r *Reader) Rest() []byte { return r.block[r.from:r.to] }

// Take returns the first n bytes of the rest, with no room to grow into, and
// moves behind them. NOTE: they must be a whole frame, and a Vague reader must
// call Settle before it looks at the rest again.
func (r *Reader) Take(n int) []byte {
	frame := r.block[r.from : r.from+n : r.from+n]
	r.from += n
	return frame
}

// Settle moves what follows a frame that had memory of its own to a block, so
// that no part of it keeps that memory alive.
func (r *Reader) Settle() {
	if !r.large {
		return
	}
	rest := r.Rest()
	r.block, r.spare, r.large, r.Kept = r.spare, nil, false, false
	if want := len(rest) + minRead; len(rest) > 0 && len(r.block) < want {
		r.block = make([]byte, max(r.size, want))
	}
	r.from, r.to = 0, copy(r.block, rest)
}

// More reads at least one byte behind the rest, which is the beginning of a frame
// that lacks missing bytes, or else returns the stream's error.
func (r *Reader) More(missing int) error {
	if r.from > 0 {
		r.Settle()
	}
	if r.from == r.to && !r.Kept {
		r.from, r.to = 0, 0
	}
	free := len(r.block) - r.to
	switch {
	case r.large && free > 0:
	case r.large, r.to-r.from+missing > max(len(r.block), minBlock):
		r.grow(missing)
	case free < missing, free < minRead && r.from > 0:
		// A frame that begins its block has all the room that it can have there.
		r.turn()
	}
	room := r.block[r.to:]
	if r.large {
		// Little more is read than the frame has.
		room = room[:min(len(room), max(missing, maxBlock))]
	}
	n, err := r.read(room)
	r.to += n
	switch {
	case n == len(room) && n >= len(r.block)/2:
		r.full = true
	case n > len(r.block)/8:
		r.idle = false
	}
	return err
}

// turn makes room: in this block when nothing of it was kept, else in a new one,
// sized by how the last one filled.
func (r *Reader) turn() {
	rest := r.Rest()
	switch {
	case r.full:
		r.size = min(2*r.size, maxBlock)
	case r.idle:
		r.size = max(r.size/2, minBlock)
	}
	block := r.block
	if want := max(r.size, len(rest)+minRead); r.Kept || len(block) < want {
		block = make([]byte, want)
	}
	r.to = copy(block, rest)
	r.from, r.block = 0, block
	r.Kept, r.full, r.idle = false, false, true
}

// grow gives the frame that begins the rest memory of its own, at most four times
// as much as has arrived.
func (r *Reader) grow(missing int) {
	rest := r.Rest()
	more := min(missing, max(3*len(rest), minBlock))
	if r.Vague {
		more = max(more, len(rest)/2, minBlock)
	}
	block := make([]byte, len(rest)+more)
	copy(block, rest)
	if !r.large && !r.Kept {
		r.spare = r.block
	}
	r.from, r.to, r.block = 0, len(rest), block
	r.large, r.Kept, r.full = true, false, true
}

// read reads at least one byte, or returns why not.
func (r *Reader) read(p []byte) (int, error) {
	for range maxEmpty {
		n, err := r.src.Read(p)
		if n > 0 {
			// An error beside bytes comes again with the next read.
			return n, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, io.ErrNoProgress
}
