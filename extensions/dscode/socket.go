package dscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"

	wire "github.com/hostsup/hostsup/codec/dscode"
)

const (
	blockSize = 64 << 10    // read at once
	smallMax  = 1 << 20     // frames over this are held one at a time, see reading
	drainTime = time.Second // how long a host that takes no more is still listened to
)

// reading takes frames off a socket into the inbox until the socket ends, or
// the inbox is closed, or what comes is no frame. big is held while a frame over
// smallMax is gathered, so that not every connection of a host can hold one at
// the same time; nil: this one need not ask. err is why it ended: io.EOF is the
// end of the stream, even within a frame; errNoFrame is for the session to say.
func reading(c io.Reader, conn uint32, in *inbox, big chan struct{}, stop <-chan struct{}) error {
	block := make([]byte, blockSize)
	have := 0
	for {
		n, err := c.Read(block[have:])
		have += n
		whole := 0
		for have-whole >= wire.Header {
			length := binary.BigEndian.Uint32(block[whole:])
			if length == 0 || length > MaxFrame || wire.Header+int(length) > len(block) {
				break
			}
			if whole+wire.Header+int(length) > have {
				break
			}
			whole += wire.Header + int(length)
		}
		if whole > 0 {
			if !in.frames(conn, block[:whole]) {
				return net.ErrClosed
			}
			have = copy(block, block[whole:have])
		}
		if have >= wire.Header {
			length := binary.BigEndian.Uint32(block)
			if length == 0 || length > MaxFrame {
				if !in.head(conn, block[:have]) {
					return net.ErrClosed
				}
				return errNoFrame
			}
			if wire.Header+int(length) > len(block) && err == nil {
				if !in.head(conn, block[:have]) {
					return net.ErrClosed
				}
				if err := large(c, conn, in, block[:have], int(length), big, stop); err != nil {
					return err
				}
				have = 0
				continue
			}
		}
		if err != nil {
			return err
		}
	}
}

// errNoFrame means that a socket brought what is no frame. The head in the
// inbox says what.
var errNoFrame = errors.New("not a frame")

// large takes the rest of a frame that is larger than a block.
func large(c io.Reader, conn uint32, in *inbox, begun []byte, length int, big chan struct{}, stop <-chan struct{}) error {
	if big != nil && length > smallMax {
		select {
		case big <- struct{}{}:
		case <-stop:
			return net.ErrClosed
		}
		defer func() { <-big }()
	}
	frame, err := wire.ReadBody(io.MultiReader(bytes.NewReader(begun), c), wire.Header+length)
	if err != nil {
		return err
	}
	if !in.large(conn, frame) {
		return net.ErrClosed
	}
	return nil
}

// writing writes frames from q to c until stop is closed, q has ended or c
// takes no more. written is the number of the last frame that was written
// whole, 0 for none; a frame of which only a part was goes back into q.
func writing(c *net.UnixConn, q *outqueue, stop <-chan struct{}) (written uint64) {
	for {
		buf, marks, more := q.take(stop)
		if !more {
			// A host that is gone needs not be told.
			_ = c.CloseWrite()
			return written
		}
		if len(buf) == 0 {
			return written
		}
		n, err := c.Write(buf)
		if last := q.giveBack(buf, marks, n); last != 0 {
			written = last
		}
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				// What it said before is still there to be read.
				_ = c.SetReadDeadline(time.Now().Add(drainTime))
			}
			return written
		}
	}
}

// ended says what the end of a socket means: a host that closes a socket with
// something unread resets it.
func ended(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) || isReset(err)
}
