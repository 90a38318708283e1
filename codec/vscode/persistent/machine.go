package persistent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// The timings of the protocol.
const (
	AckAfter       = 2 * time.Second        // from a regular frame's arrival to the ack frame, when nothing else was sent
	KeepAliveEvery = 5 * time.Second        // between two keep-alives
	ReplayEvery    = 10 * time.Second       // between two replay requests
	TimeoutAfter   = 20 * time.Second       // of silence, see the package
	LookAgain      = 500 * time.Millisecond // at the least between two looks for a time-out that is put off
)

// What can be wrong with a frame, or with this side. Test with errors.Is.
var (
	ErrType  = errors.New("unknown type of frame")
	ErrID    = errors.New("id out of order")
	ErrShape = errors.New("frame with data that its type has none of")
	ErrIDs   = errors.New("no ids are left: 4294967295 frames were sent")
)

// Effect is what a frame, or the time, means for who drives the machine.
type Effect uint8

// The effects.
const (
	None         Effect = iota // nothing; the frame's data is to be passed over
	Deliver                    // the frame's data is the next message, see [Machine.Done]
	Disconnected               // the other side has said that it will not come back
	TimedOut                   // the socket is dead: let go of it and attach another
)

// Machine is one side of a conversation. Make it with [New].
type Machine struct {
	attached bool
	paused   bool // by the other side

	kept    []message // regular frames without ack, oldest first
	written int       // how many of kept were written to this socket
	bytes   int       // of kept, with their headers
	unsent  int       // of kept from written on
	lastOut uint32    // id of the last of kept, or of the last that there was
	acked   uint32    // up to here the other side has them

	lastIn  uint32    // id of the last frame that was delivered
	told    uint32    // the ack that was last sent
	untold  time.Time // since when lastIn is ahead of told; zero: it is not
	replay  bool      // a replay is to be asked for
	asked   time.Time // when one was asked for last
	ack     bool      // an ack frame is due
	fresh   bool      // the socket is new, and begins with an ack
	bye     bool      // a disconnect frame is due
	alive   bool      // a keep-alive is due
	aliveAt time.Time // when there was one last

	silent  time.Time // since when somebody waits for the socket to say something; zero: nobody does
	timeout time.Time // when the socket timed out last, or was attached
	looks   looks
	lookAt  time.Time // when to look for a time-out; zero: not
}

// message is a regular frame that may have to be sent again.
type message struct {
	data []byte
	at   time.Time // when it was written last; zero: not to this socket
}

// New returns a machine that has a socket already.
func New(now time.Time) *Machine {
	return &Machine{attached: true, aliveAt: now, timeout: now}
}

// Send takes the next message, which the machine keeps: nobody may change it
// any more. It is an error when the ids are used up.
func (m *Machine) Send(data []byte) error {
	if m.lastOut == math.MaxUint32 {
		return ErrIDs
	}
	m.lastOut++
	m.kept = append(m.kept, message{data: data})
	m.bytes += HeaderSize + len(data)
	m.unsent += HeaderSize + len(data)
	return nil
}

// Kept returns how many bytes are kept for being sent again, Unsent how many of
// them have not been written to this socket.
func (m *Machine) Kept() int { return m.bytes }

// Unsent is described at Kept.
func (m *Machine) Unsent() int { return m.unsent }

// Unacked returns how many messages are not acknowledged.
func (m *Machine) Unacked() int { return len(m.kept) }

// Sent returns the id of the last message that was given to Send, and Acked
// that of the last one which the other side has.
func (m *Machine) Sent() uint32 { return m.lastOut }

// Acked is described at Sent.
func (m *Machine) Acked() uint32 { return m.acked }

// Received returns the id of the last message that was delivered.
func (m *Machine) Received() uint32 { return m.lastIn }

// Disconnect tells the other side that this one will not come back.
func (m *Machine) Disconnect() { m.bye = true }

// Pull appends frames behind dst that are to be written to the socket now, until
// there are at least most bytes of them, and returns the longer slice. What it
// has returned counts as written.
func (m *Machine) Pull(now time.Time, dst []byte, most int) []byte {
	if !m.attached || m.paused {
		return dst
	}
	start := len(dst)
	if m.fresh {
		m.fresh = false
		dst = m.append(dst, Ack, 0, nil)
	}
	if m.replay {
		m.replay = false
		dst = m.append(dst, ReplayRequest, 0, nil)
	}
	for m.written < len(m.kept) && len(dst)-start < most {
		k := &m.kept[m.written]
		k.at = now
		id := m.acked + uint32(m.written) + 1
		dst = m.append(dst, Regular, id, k.data)
		m.written++
		m.unsent -= HeaderSize + len(k.data)
	}
	if m.lookAt.IsZero() && m.written > 0 {
		m.looks.begin(now)
		m.lookAt = now.Add(time.Second)
	}
	switch {
	case m.alive:
		dst = m.append(dst, KeepAlive, 0, nil)
	case m.ack && m.told < m.lastIn:
		dst = m.append(dst, Ack, 0, nil)
	}
	m.alive, m.ack = false, false
	if m.bye && m.written == len(m.kept) {
		m.bye = false
		dst = m.append(dst, Disconnect, 0, nil)
	}
	return dst
}

// append encodes a frame with the ack that is due.
func (m *Machine) append(dst []byte, t Type, id uint32, data []byte) []byte {
	h := Header{Type: t, ID: id, Length: uint32(len(data))}
	switch t {
	case Regular, Ack, KeepAlive:
		h.Ack = m.lastIn
		m.told, m.untold = m.lastIn, time.Time{}
	}
	return append(h.Append(dst), data...)
}

// Receive takes the header of a frame and says what becomes of its data. After
// an error, which wraps one of this package's, the machine is of no use any more.
func (m *Machine) Receive(now time.Time, h Header) (Effect, error) {
	switch h.Type {
	case Regular, Control:
	case Ack, Disconnect, ReplayRequest, Pause, Resume, KeepAlive:
		if h.Length != 0 {
			return None, fmt.Errorf("%w: %s, %d bytes", ErrShape, h.Type, h.Length)
		}
	default:
		return None, fmt.Errorf("%w: %d", ErrType, uint8(h.Type))
	}
	if h.Type == Regular && h.ID == 0 {
		return None, fmt.Errorf("%w: a regular frame without one", ErrID)
	}
	if h.Ack > m.lastOut {
		return None, fmt.Errorf("%w: ack of frame %d, the last that was sent is %d", ErrID, h.Ack, m.lastOut)
	}
	m.acknowledged(h.Ack)
	switch h.Type {
	case Regular:
		return m.regular(now, h.ID), nil
	case Disconnect:
		return Disconnected, nil
	case ReplayRequest:
		m.rewind()
	case Pause:
		m.paused = true
	case Resume:
		m.paused = false
	}
	return None, nil
}

func (m *Machine) regular(now time.Time, id uint32) Effect {
	switch {
	case id <= m.lastIn:
		return None // once more
	case id > m.lastIn+1:
		if m.asked.IsZero() || now.Sub(m.asked) > ReplayEvery {
			m.asked, m.replay = now, true
		}
		return None
	}
	return Deliver
}

// Done says that all the data of the frame has come that was to be delivered.
// Until then it counts as lost when the socket is.
func (m *Machine) Done(now time.Time) {
	m.lastIn++
	if m.untold.IsZero() {
		m.untold = now
	}
}

// acknowledged lets go of what the other side has.
func (m *Machine) acknowledged(ack uint32) {
	if ack <= m.acked {
		return
	}
	n := int(ack - m.acked)
	for i := range n {
		size := HeaderSize + len(m.kept[i].data)
		m.bytes -= size
		if i >= m.written { // an ack of what was written to the socket before
			m.unsent -= size
		}
		m.kept[i] = message{}
	}
	m.kept = m.kept[n:]
	m.written = max(0, m.written-n)
	m.acked = ack
	if len(m.kept) == 0 {
		m.kept = slices.Clip(m.kept)[:0]
		m.lookAt = time.Time{}
	}
}

// rewind has everything that is kept written again.
func (m *Machine) rewind() {
	for i := range m.written { // the others were not written
		m.kept[i].at = time.Time{}
	}
	m.written, m.unsent = 0, m.bytes
}

// Wait says that somebody waits from now on for the socket to say something,
// Heard that it has, or that nobody waits any more: a time-out is only ever
// found in a silence that was listened to.
func (m *Machine) Wait(now time.Time) { m.silent = now }

// Heard is described at Wait.
func (m *Machine) Heard() { m.silent = time.Time{} }

// Detach says that the socket is gone. Messages are taken and kept until the
// next one.
func (m *Machine) Detach() {
	m.attached = false
	m.silent, m.lookAt = time.Time{}, time.Time{}
}

// Attach says that there is a new socket, on both sides. It begins with an ack,
// and everything that is kept follows.
func (m *Machine) Attach(now time.Time) {
	m.attached, m.paused, m.replay = true, false, false
	m.asked = time.Time{}
	m.timeout, m.aliveAt = now, now
	m.silent, m.lookAt = time.Time{}, time.Time{}
	m.fresh = true
	m.rewind()
}
