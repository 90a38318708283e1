package dscode

import "encoding/binary"

// LabelSize is the size of a label. A stream carries the frames of all sockets of
// one host. In front of each stands a label that says which connection it belongs to:
//
//	byte  what     frame, head or end
//	u32   conn     0: the one that we opened to the host; from 1: those of the host, in the order in which they came, never used again
//	u64   number   see below
//
// frame: a frame follows as it is on the socket, its length in front. Towards
// the host number counts the frames of connection 0 from 1; else it is 0.
//
// head, from the host only: a frame has begun that is large or none at all;
// u32 n and its first n bytes follow, at most 64, the length in front. The
// frame itself follows in a label of its own when it is whole. It lets a reader
// refuse what is over its limit before any of that is held.
//
// end, from the host only: the connection has ended. Of connection 0: it was
// made again, and the frames up to number had been written to the one before,
// so that an answer that has not come yet will never come.
const LabelSize = 1 + 4 + 8

// What stands behind a label.
const (
	Frame byte = 'f'
	Head  byte = 'h'
	End   byte = 'e'
)

// Header is the length in front of every frame.
const Header = 4

// Evidence is how many of the first bytes of a bad frame are shown.
const Evidence = 64

// Label says to which connection the frame belongs that follows.
type Label struct {
	What   byte
	Conn   uint32
	Number uint64
}

// Append appends the bytes of the label.
func (l Label) Append(dst []byte) []byte {
	dst = append(dst, l.What)
	dst = binary.BigEndian.AppendUint32(dst, l.Conn)
	return binary.BigEndian.AppendUint64(dst, l.Number)
}

// ReadLabel reads the label that b begins with.
func ReadLabel(b []byte) Label {
	return Label{b[0], binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint64(b[5:])}
}
