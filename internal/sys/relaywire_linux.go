package sys

import "encoding/binary"

// RelayVersion is the version of the messages between a [Relay] and its client. A
// relay and a client of different versions must not be connected.
const RelayVersion = 1

// Messages to a Relay begin with a head of RelayOrderSize bytes: the kind, the stream (0
// stdout, 1 stderr), two zeros, the length of what follows (uint32), a value (uint64), in
// little-endian order. Only RelayInput has something that follows.
const (
	RelayInput   = 'i' // bytes for stdin that belong together
	RelayEnd     = 'e' // stdin is closed after the bytes that came before
	RelayAck     = 'a' // the bytes of a stream before the offset value are not needed any more
	RelayRoom    = 'r' // value bytes of a stream are to be kept until they are acknowledged
	RelayAsk     = 'q' // the relay is to tell when it has written all input
	RelaySurvive = 's' // with value 1 the processes survive the end of the connection, with 0 they do not
	RelaySignal  = 'g' // the command is to get the signal value
	RelayKill    = 'k' // all processes are to be killed
	RelayRelease = 'x' // likewise, and then the relay is to end
)

// RelayOrderSize is the size of the head of a message to a Relay, in bytes.
const RelayOrderSize = 16

// Messages from a Relay begin with a head of RelayReportSize bytes: the kind, the stream,
// two zeros, the length of what follows (uint32), an offset in the stream (uint64), and how
// many bytes of the input were written to stdin (uint64), in little-endian order.
const (
	RelayHello = 'h' // the first message; a RelayState follows
	RelayBusy  = 'o' // another client is connected; the connection ends
	RelayData  = 'd' // bytes of a stream
	RelayEOF   = 'f' // a stream has ended at the offset
	RelayExit  = 'x' // the command has ended; an ExitRecord follows
	RelayGone  = 'n' // no process is left
	RelayTaken = 't' // only the head is of interest
)

// RelayReportSize is the size of the head of a message from a Relay, in bytes.
const RelayReportSize = 24

// RelayState is what a Relay tells a client that connects.
type RelayState struct {
	Version uint32
	PID     uint32    // of the command; 0 once it has ended
	Input   uint64    // bytes that came in whole messages, from all clients
	From    [2]uint64 // offset of the first byte of each stream that is not acknowledged
	Window  [3]uint32 // bytes that are held of stdin, stdout and stderr
	Most    uint64    // Relay.Most
}

// RelayStateSize is the size of a RelayState in a message, in bytes.
const RelayStateSize = 56

// DecodeRelayState decodes what follows a RelayHello, which is RelayStateSize bytes.
func DecodeRelayState(b []byte) (s RelayState) {
	_ = b[RelayStateSize-1]
	le := binary.LittleEndian
	s.Version, s.PID = le.Uint32(b), le.Uint32(b[4:])
	s.Input, s.From = le.Uint64(b[8:]), [2]uint64{le.Uint64(b[16:]), le.Uint64(b[24:])}
	s.Window = [3]uint32{le.Uint32(b[32:]), le.Uint32(b[36:]), le.Uint32(b[40:])}
	s.Most = le.Uint64(b[48:])
	return s
}
