package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/hostsup/hostsup/codec"
)

// lineReader reads a message from each line.
type lineReader struct {
	reader
	started bool // something was read
	scanned int  // bytes of the line that have no line feed
	inNoise bool // a long line of noise goes on
	long    int  // bytes of the last long message
}

// Next fills m with the next message.
func (r *lineReader) Next(m *codec.Message) error { return r.next(m, r.line) }

// Buffered says whether Next can return without waiting for the stream.
func (r *lineReader) Buffered() bool {
	if r.err != nil || r.open {
		return true
	}
	noisy := r.inNoise
	for rest := r.block[r.from:r.to]; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return false
		}
		if !noisy && (isMessage(rest[:i]) || r.s.opt.FailOnNoise && first(rest[:i]) != 0) {
			return true
		}
		rest, noisy = rest[i+1:], false
	}
}

// isMessage says whether a line, of which the beginning is enough, is meant to
// be a message: an object or an array of objects. "[INFO] ready" is neither.
func isMessage(line []byte) bool {
	switch first(line) {
	case '{':
		return true
	case '[':
		return first(line[bytes.IndexByte(line, '[')+1:]) == '{'
	}
	return false
}

var bom = []byte("\ufeff")

// line reads the next line that is a message; those that are none are told on
// the way.
func (r *lineReader) line() error {
	for {
		rest := r.block[r.from:r.to]
		if i := bytes.IndexByte(rest[r.scanned:], '\n'); i >= 0 {
			line := rest[:r.scanned+i]
			r.from += len(line) + 1
			r.scanned = 0
			if message, err := r.take(line); err != nil || message {
				if err == nil {
					err = r.begin(line, false, 0, 1)
				}
				return err
			}
			continue
		}
		r.scanned = len(rest)
		long := len(rest) > r.s.lim.Frame || len(rest) >= maxBlock
		switch {
		case !long:
		case !r.inNoise && isMessage(rest):
			return r.large(rest)
		case !r.inNoise && first(rest) == 0: // blanks without an end
			r.from, r.to, r.scanned = 0, 0, 0
		default:
			if err := r.hear(rest, false); err != nil {
				return err
			}
			r.from, r.to, r.scanned = 0, 0, 0
		}
		switch err := r.fill(); {
		case err == nil:
		case errors.Is(err, io.EOF):
			return r.last()
		default:
			return err
		}
	}
}

// take says whether a complete line is a message, and tells it when it is noise.
func (r *lineReader) take(line []byte) (message bool, err error) {
	if !r.started {
		r.started = true
		if bytes.HasPrefix(line, bom) {
			copy(line, "   ") // white space: programs of Windows begin a text so
		}
	}
	switch {
	case r.inNoise:
		return false, r.hear(line, true)
	case first(line) == 0:
		return false, nil
	case !isMessage(line):
		return false, r.hear(line, true)
	case len(line) > r.s.lim.Frame:
		return false, r.tooLarge(line)
	}
	return true, nil
}

// hear tells a part of a line of noise, or with end the rest of it.
func (r *lineReader) hear(line []byte, end bool) error {
	r.inNoise, r.started = !end, true
	if end {
		line = bytes.TrimSuffix(line, []byte("\r"))
	}
	if r.s.opt.FailOnNoise {
		return noise(line)
	}
	if len(line) > 0 {
		r.s.hear(line)
	}
	return nil
}

// maxRoom bounds the memory that is set aside for a long message before it has come.
const maxRoom = 4 << 20

// large reads the rest of a long message into memory of its own.
func (r *lineReader) large(start []byte) error {
	if len(start) > r.s.lim.Frame {
		return r.tooLarge(start)
	}
	// Messages of one length often follow each other; growing takes longer than reading.
	room := max(2*len(start), min(r.long+r.long/64, maxRoom, r.s.lim.Frame+1))
	line := append(make([]byte, 0, room), start...)
	defer func() { r.long = len(line) }()
	r.from, r.to, r.scanned = 0, 0, 0
	for {
		// One byte more than the limit shows that it is passed.
		line = grown(line, r.s.lim.Frame+1)
		from := len(line)
		n, err := r.read(line[from:min(cap(line), from+maxBlock)])
		line = line[:from+n]
		if i := bytes.IndexByte(line[from:], '\n'); i >= 0 {
			r.putBack(line[from+i+1:])
			return r.begin(line[:from+i:from+i], true, 0, 1)
		}
		switch {
		case len(line) > r.s.lim.Frame:
			return r.tooLarge(line)
		case errors.Is(err, io.EOF):
			r.ended = true
			return r.begin(line, true, 0, 0)
		case err != nil:
			return err
		}
	}
}

// putBack returns to the block what was read behind a long line.
func (r *lineReader) putBack(rest []byte) {
	if len(rest) > len(r.block) {
		r.block = make([]byte, maxBlock)
	}
	r.from, r.to = 0, copy(r.block, rest)
}

// last is what there is when the stream has ended: a message without its line
// end is taken when it is complete.
func (r *lineReader) last() error {
	rest := r.block[r.from:r.to]
	r.from, r.scanned = r.to, 0
	message, err := r.take(rest)
	switch {
	case err != nil:
		return err
	case !message:
		return io.EOF
	}
	r.ended = true
	return r.begin(rest, false, 0, 0)
}

func (r *lineReader) tooLarge(line []byte) error {
	return &codec.FrameError{
		Err: codec.ErrTooLarge, Offset: -1, Bytes: evidence(line), InMessage: true,
		Detail: fmt.Sprintf("line of more than %d bytes", r.s.lim.Frame),
	}
}
