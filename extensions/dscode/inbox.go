package dscode

import (
	"encoding/binary"
	"net"
	"sync"

	wire "github.com/hostsup/hostsup/codec/dscode"
)

// inboxLimit is how many bytes of all connections may wait for the reader. A
// connection whose frames find no room waits, and its host with it. One frame
// that is larger waits alone.
const inboxLimit = 1 << 20

// chunkSize is the size of the blocks that small frames are gathered in.
const chunkSize = 64 << 10

// inbox is where the frames of all connections come together.
type inbox struct {
	mu     sync.Mutex
	change *sync.Cond // something came or went
	chunks [][]byte   // what waits; the last may be added to
	off    int        // how much of the first was read
	total  int
	err    error // returned once nothing waits
	closed bool
}

func newInbox() *inbox {
	in := &inbox{}
	in.change = sync.NewCond(&in.mu)
	return in
}

// frames adds whole frames that lie behind one another. It waits for room and
// returns false when the inbox is closed.
func (in *inbox) frames(conn uint32, run []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.room() {
		return false
	}
	for len(run) > 0 {
		n := wire.Header + int(binary.BigEndian.Uint32(run))
		last := in.tail(wire.LabelSize + n)
		*last = append(wire.Label{What: wire.Frame, Conn: conn}.Append(*last), run[:n]...)
		in.total += wire.LabelSize + n
		run = run[n:]
	}
	in.change.Broadcast()
	return true
}

// large adds one frame, which becomes the inbox's.
func (in *inbox) large(conn uint32, frame []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.room() {
		return false
	}
	in.chunks = append(in.chunks, wire.Label{What: wire.Frame, Conn: conn}.Append(nil), frame[:len(frame):len(frame)])
	in.total += wire.LabelSize + len(frame)
	in.change.Broadcast()
	return true
}

// head tells how a frame begins that is large or none.
func (in *inbox) head(conn uint32, begin []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.room() {
		return false
	}
	begin = begin[:min(len(begin), wire.Evidence)]
	n := wire.LabelSize + 4 + len(begin)
	last := in.tail(n)
	*last = binary.BigEndian.AppendUint32(wire.Label{What: wire.Head, Conn: conn}.Append(*last), uint32(len(begin)))
	*last = append(*last, begin...)
	in.total += n
	in.change.Broadcast()
	return true
}

// end tells that a connection has ended.
func (in *inbox) end(conn uint32, number uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.room() {
		return
	}
	last := in.tail(wire.LabelSize)
	*last = wire.Label{What: wire.End, Conn: conn, Number: number}.Append(*last)
	in.total += wire.LabelSize
	in.change.Broadcast()
}

// room waits until a frame may be added. Under the lock.
func (in *inbox) room() bool {
	for in.total >= inboxLimit && !in.closed {
		in.change.Wait()
	}
	return !in.closed
}

// tail returns a chunk with room for n bytes. Under the lock.
func (in *inbox) tail(n int) *[]byte {
	if k := len(in.chunks) - 1; k < 0 || cap(in.chunks[k])-len(in.chunks[k]) < n {
		in.chunks = append(in.chunks, make([]byte, 0, max(chunkSize, n)))
	}
	return &in.chunks[len(in.chunks)-1]
}

// finish ends the stream behind what waits.
func (in *inbox) finish(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = err
	}
	in.change.Broadcast()
}

// close drops what waits.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.chunks, in.total, in.err = true, nil, 0, net.ErrClosed
	in.change.Broadcast()
}

// read waits for something and takes as much as there is.
func (in *inbox) read(p []byte) (int, error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for in.total == 0 && in.err == nil {
		in.change.Wait()
	}
	if in.total == 0 {
		return 0, in.err
	}
	n := 0
	for n < len(p) && in.total > 0 {
		got := copy(p[n:], in.chunks[0][in.off:])
		n += got
		in.off += got
		in.total -= got
		if in.off < len(in.chunks[0]) {
			break
		}
		in.off = 0
		if first := in.chunks[0]; len(in.chunks) == 1 && cap(first) == chunkSize {
			in.chunks[0] = first[:0] // the only one, and of the usual size: used again
			break
		}
		in.chunks[0] = nil
		in.chunks = in.chunks[1:]
	}
	in.change.Broadcast()
	return n, nil
}
