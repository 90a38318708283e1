package execserver

import (
	"encoding/binary"
	"os"
	"slices"

	"github.com/hostsup/hostsup/execserver/wire"
)

const (
	// backlogMemory is how much unread output stays in memory; see cost.
	backlogMemory = 1 << 20
	// eventCost is what an event takes besides its output.
	eventCost = 96
)

// backlog is a queue of events that were not read yet. The first ones are in
// memory. With a limit, what follows is in a temporary file of at most that many
// bytes, which is a ring: room that was read is used again. Output has to fit;
// other events are few and always do. It is not safe for concurrent use.
type backlog struct {
	limit int64 // of the file in bytes; 0 keeps everything in memory

	mem  []Event
	cost int // of mem

	file       *os.File // nil until something is written
	head, tail int64    // what is in the file, as offsets that only grow
	errs       []error  // Err of the events in the file that have one

	last []Event // what follows the file: events without output that did not fit
}

// cost returns what an event takes of backlogMemory.
func cost(e *Event) int { return eventCost + len(e.Data) }

// empty reports whether nothing is queued.
func (b *backlog) empty() bool { return len(b.mem) == 0 && b.head == b.tail && len(b.last) == 0 }

// slow reports whether more is queued than stays in memory.
func (b *backlog) slow() bool { return b.cost > backlogMemory || b.head < b.tail }

// inMemory reports whether the next event stays in memory.
func (b *backlog) inMemory() bool {
	return b.limit <= 0 || b.head == b.tail && len(b.last) == 0 && b.cost <= backlogMemory
}

// fits reports whether there is room for an event and a mark before it.
func (b *backlog) fits(e *Event) bool {
	return e.Kind != Output || b.inMemory() || len(b.last) == 0 && b.tail-b.head+int64(2*recordHead+len(e.Data)) <= b.limit
}

// push appends an event. It returns false, and leaves the queue as it was, when
// there is no room for output, or the file cannot be written.
func (b *backlog) push(e Event) bool {
	switch {
	case b.inMemory():
		b.mem = append(b.mem, e)
		b.cost += cost(&e)
	case len(b.last) == 0 && b.spill(&e):
	case e.Kind == Output:
		return false
	default:
		b.last = append(b.last, e)
	}
	return true
}

// pop removes the first event.
func (b *backlog) pop() (Event, bool) {
	switch {
	case len(b.mem) > 0:
		e := b.mem[0]
		b.mem[0] = Event{}
		b.mem = b.mem[1:]
		b.cost -= cost(&e)
		return e, true
	case b.head < b.tail:
		return b.fetch(), true
	case len(b.last) > 0:
		e := b.last[0]
		b.last = b.last[1:]
		return e, true
	}
	return Event{}, false
}

// popMemory appends all events that are in memory to into.
func (b *backlog) popMemory(into []Event) []Event {
	into = append(into, b.mem...)
	clear(b.mem)
	b.mem, b.cost = b.mem[:0], 0
	return into
}

// close drops what is queued and removes the file. The backlog is empty and may
// be used again.
func (b *backlog) close() {
	b.mem, b.cost, b.errs, b.last = nil, 0, nil, nil
	b.head, b.tail = 0, 0
	if b.file != nil {
		b.file.Close()
		_ = os.Remove(b.file.Name()) // gone already but on systems that keep the name of an open file
		b.file = nil
	}
}

// record is what the file has of an event, before its output.
type record struct {
	Kind     Kind
	Stream   uint8 // index in recordStreams
	Denied   bool
	Seq      uint64
	ExitCode int32
	Size     uint32 // of the output
}

const recordHead = 3 + 8 + 4 + 4 // bytes of an encoded record

var recordStreams = [...]wire.Stream{"", wire.Stdout, wire.Stderr, wire.PTY}

// spill appends an event to the file.
func (b *backlog) spill(e *Event) bool {
	if b.tail-b.head+int64(recordHead+len(e.Data)) > b.limit || !b.open() {
		return false
	}
	stream := max(0, slices.Index(recordStreams[:], e.Stream))
	head, err := binary.Append(nil, binary.LittleEndian, record{e.Kind, uint8(stream), e.SandboxDenied, e.Seq, int32(e.ExitCode), uint32(len(e.Data))})
	if err != nil || !b.at(b.tail, head, b.file.WriteAt) || !b.at(b.tail+recordHead, e.Data, b.file.WriteAt) {
		return false
	}
	b.tail += int64(recordHead + len(e.Data))
	if e.Err != nil {
		b.errs = append(b.errs, e.Err)
	}
	return true
}

// fetch removes the first event in the file. One that cannot be read any more
// shows as Failed, and is the last.
func (b *backlog) fetch() Event {
	var r record
	head := make([]byte, recordHead)
	if !b.at(b.head, head, b.file.ReadAt) {
		return b.broken()
	}
	_, err := binary.Decode(head, binary.LittleEndian, &r)
	size := int64(r.Size)
	if err != nil || size > b.tail-b.head {
		return b.broken()
	}
	e := Event{Kind: r.Kind, Stream: recordStreams[min(int(r.Stream), len(recordStreams)-1)], SandboxDenied: r.Denied, Seq: r.Seq, ExitCode: int(r.ExitCode)}
	if size > 0 {
		e.Data = make([]byte, size)
		if !b.at(b.head+recordHead, e.Data, b.file.ReadAt) {
			return b.broken()
		}
	}
	if (e.Kind == gapHere || e.Kind == Failed) && len(b.errs) > 0 {
		e.Err, b.errs = b.errs[0], b.errs[1:]
	}
	b.head += recordHead + size
	return e
}

// broken drops the queue, whose file cannot be read, and returns the last event.
func (b *backlog) broken() Event {
	b.close()
	return Event{Kind: Failed, Err: ErrSpill}
}

// open makes the file, which has no name where the system can do without.
func (b *backlog) open() bool {
	if b.file != nil {
		return true
	}
	f, err := os.CreateTemp("", "hostsup-output-")
	if err != nil {
		return false
	}
	_ = os.Remove(f.Name()) // close does it where an open file cannot be removed
	b.file = f
	return true
}

// at reads or writes data at an offset of the ring.
func (b *backlog) at(off int64, data []byte, do func([]byte, int64) (int, error)) bool {
	for len(data) > 0 {
		off %= b.limit
		n := min(int64(len(data)), b.limit-off)
		if _, err := do(data[:n], off); err != nil {
			return false
		}
		data, off = data[n:], off+n
	}
	return true
}
