package dscode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/dscode"
)

const (
	blockSize = 64 << 10    // bytes of one read
	smallMax  = 1 << 20     // larger frames are read one at a time, see readFrames
	drainTime = time.Second // how long a host is still read after a failed write
)

// readFrames moves frames from a connection to the inbox until the connection ends, the
// inbox is closed, or a frame is malformed. big is a semaphore that is held while a frame
// over smallMax is read, so that only one connection of a host has one in memory; nil for
// none. The error is io.EOF at the end of the stream, even within a frame. After
// errNoFrame the session reports what is wrong.
func readFrames(c io.Reader, conn uint32, in *inbox, big chan struct{}, stop <-chan struct{}) error {
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
			if !in.addFrames(conn, block[:whole]) {
				return net.ErrClosed
			}
			have = copy(block, block[whole:have])
		}
		if have >= wire.Header {
			length := binary.BigEndian.Uint32(block)
			if length == 0 || length > MaxFrame {
				if !in.addHead(conn, block[:have]) {
					return net.ErrClosed
				}
				return errNoFrame
			}
			if wire.Header+int(length) > len(block) && err == nil {
				if !in.addHead(conn, block[:have]) {
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

// errNoFrame means that a frame is malformed. Its beginning is in the inbox.
var errNoFrame = errors.New("not a frame")

// large reads the rest of a frame that is larger than a block.
func large(c io.Reader, conn uint32, in *inbox, begun []byte, length int, big chan struct{}, stop <-chan struct{}) error {
	if big != nil && length > smallMax {
		select {
		case big <- struct{}{}:
		case <-stop:
			return net.ErrClosed
		}
		defer func() { <-big }()
	}
	frame, err := codec.ReadBody(io.MultiReader(bytes.NewReader(begun), c), wire.Header+length)
	if err != nil {
		return err
	}
	if !in.addLarge(conn, frame) {
		return net.ErrClosed
	}
	return nil
}

// writeFrames writes frames from q to c until stop is closed, q has ended or a write
// fails. written is the number of the last frame that was written completely, 0 for none;
// a frame that was written in part is put back into q.
func writeFrames(c *net.UnixConn, q *outqueue, stop <-chan struct{}) (written uint64) {
	for {
		buf, marks, more := q.take(stop)
		if !more {
			// The error does not matter: the host may have ended.
			_ = c.CloseWrite()
			return written
		}
		if len(buf) == 0 {
			return written
		}
		n, err := c.Write(buf)
		if last := q.putBack(buf, marks, n); last != 0 {
			written = last
		}
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				// Data that the host has sent before can still be read.
				_ = c.SetReadDeadline(time.Now().Add(drainTime))
			}
			return written
		}
	}
}

// isEnd reports whether an error of a read is the end of the connection. A host that
// closes a socket with unread data resets it.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded) || isReset(err)
}
