package dscode

import (
	"encoding/binary"
	"net"
	"sync"

	wire "github.com/hostsup/hostsup/codec/dscode"
)

// inboxLimit bounds the bytes of all connections that wait for the reader. While it is
// reached, connections are not read. A larger frame is queued alone.
const inboxLimit = 1 << 20

// chunkSize is the size of the blocks that small frames are copied to.
const chunkSize = 64 << 10

// inbox is a bounded queue for the frames of all connections.
type inbox struct {
	mu     sync.Mutex
	change *sync.Cond // signaled when data was added or removed
	chunks [][]byte   // the queue; data may be appended to the last one
	off    int        // bytes of the first chunk that were read
	total  int        // bytes in the queue
	err    error      // read returns it when the queue is empty
	closed bool
}

func newInbox() *inbox {
	in := &inbox{}
	in.change = sync.NewCond(&in.mu)
	return in
}

// addFrames adds a sequence of complete frames. It waits for room and returns false if
// the inbox is closed.
func (in *inbox) addFrames(conn uint32, run []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.waitForRoom() {
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

// addLarge adds one frame without copying it; the inbox owns it afterwards. It waits like
// addFrames.
func (in *inbox) addLarge(conn uint32, frame []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.waitForRoom() {
		return false
	}
	in.chunks = append(in.chunks, wire.Label{What: wire.Frame, Conn: conn}.Append(nil), frame[:len(frame):len(frame)])
	in.total += wire.LabelSize + len(frame)
	in.change.Broadcast()
	return true
}

// addHead adds the beginning of a frame that is large or malformed. It waits like
// addFrames.
func (in *inbox) addHead(conn uint32, begin []byte) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.waitForRoom() {
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

// addEnd adds the end of a connection. number is that of the last frame written to it.
func (in *inbox) addEnd(conn uint32, number uint64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.waitForRoom() {
		return
	}
	last := in.tail(wire.LabelSize)
	*last = wire.Label{What: wire.End, Conn: conn, Number: number}.Append(*last)
	in.total += wire.LabelSize
	in.change.Broadcast()
}

// waitForRoom waits until a frame may be added and returns false if the inbox is closed.
// The caller must hold mu.
func (in *inbox) waitForRoom() bool {
	for in.total >= inboxLimit && !in.closed {
		in.change.Wait()
	}
	return !in.closed
}

// tail returns a chunk with room for n bytes. The caller must hold mu.
func (in *inbox) tail(n int) *[]byte {
	if k := len(in.chunks) - 1; k < 0 || cap(in.chunks[k])-len(in.chunks[k]) < n {
		in.chunks = append(in.chunks, make([]byte, 0, max(chunkSize, n)))
	}
	return &in.chunks[len(in.chunks)-1]
}

// finish makes read return err after the data in the queue.
func (in *inbox) finish(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.err == nil {
		in.err = err
	}
	in.change.Broadcast()
}

// close drops the data in the queue.
func (in *inbox) close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.closed, in.chunks, in.total, in.err = true, nil, 0, net.ErrClosed
	in.change.Broadcast()
}

// read waits for data and copies as much as there is to p.
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
			in.chunks[0] = first[:0] // reuse the only chunk, unless its size is unusual
			break
		}
		in.chunks[0] = nil
		in.chunks = in.chunks[1:]
	}
	in.change.Broadcast()
	return n, nil
}
