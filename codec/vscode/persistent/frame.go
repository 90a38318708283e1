package persistent

import (
	"encoding/binary"
	"fmt"
)

// Type is the type of a frame.
type Type uint8

// The types of frames.
const (
	Regular       Type = 1 // a message; the only one that is numbered and kept
	Control       Type = 2 // data outside of the order; nobody here sends any
	Ack           Type = 3 // nothing but its ack
	Disconnect    Type = 5 // the sender will not come back
	ReplayRequest Type = 6 // everything unacknowledged is to be sent again
	Pause         Type = 7 // nothing more is to be written
	Resume        Type = 8 // until now
	KeepAlive     Type = 9 // nothing but its ack, now and then
)

// String returns the type's name, "regular", "ack", ….
func (t Type) String() string {
	switch t {
	case Regular:
		return "regular"
	case Control:
		return "control"
	case Ack:
		return "ack"
	case Disconnect:
		return "disconnect"
	case ReplayRequest:
		return "replay request"
	case Pause:
		return "pause"
	case Resume:
		return "resume"
	case KeepAlive:
		return "keep-alive"
	}
	return fmt.Sprintf("type %d", uint8(t))
}

// HeaderSize is the size of a frame's header in bytes.
const HeaderSize = 13

// Header is what stands in front of a frame's data.
type Header struct {
	Type   Type
	ID     uint32
	Ack    uint32
	Length uint32 // of the data, in bytes
}

// ParseHeader reads the first [HeaderSize] bytes of b, which has to be at least
// as long. Nothing is judged; see [Machine.Receive].
func ParseHeader(b []byte) Header {
	return Header{
		Type:   Type(b[0]),
		ID:     binary.BigEndian.Uint32(b[1:]),
		Ack:    binary.BigEndian.Uint32(b[5:]),
		Length: binary.BigEndian.Uint32(b[9:]),
	}
}

// Append encodes h behind dst.
func (h Header) Append(dst []byte) []byte {
	dst = append(dst, byte(h.Type))
	dst = binary.BigEndian.AppendUint32(dst, h.ID)
	dst = binary.BigEndian.AppendUint32(dst, h.Ack)
	return binary.BigEndian.AppendUint32(dst, h.Length)
}
