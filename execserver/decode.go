package execserver

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/hostsup/hostsup/execserver/wire"
)

// output is the message of which there are many.
type output struct {
	process []byte // within the message
	event   Event
}

// shortString bounds the names in a message that scanOutput reads.
const shortString = 128

// scanOutput reads a process/output as servers write it: its members in their
// usual order, without spaces and escapes. Anything else, whether it is valid or
// not, is left to [wire.Decode], which is slower and strict.
func scanOutput(msg []byte) (o output, ok bool) {
	rest, ok := bytes.CutPrefix(msg, []byte(`{"method":"process/output","params":{"processId":"`))
	if !ok {
		return o, false
	}
	o.process, rest, ok = bytes.Cut(rest, []byte(`","seq":`))
	if !ok || !isPlain(o.process) {
		return o, false
	}
	seq, rest, ok := bytes.Cut(rest, []byte(`,"stream":"`))
	if !ok || len(seq) == 0 || seq[0] < '0' || seq[0] == '0' && len(seq) > 1 {
		return o, false
	}
	n, err := strconv.ParseUint(string(seq), 10, 64)
	if err != nil {
		return o, false
	}
	stream, rest, ok := bytes.Cut(rest, []byte(`","chunk":"`))
	if !ok || !isPlain(stream) {
		return o, false
	}
	chunk, ok := bytes.CutSuffix(rest, []byte(`"}}`))
	if !ok || bytes.IndexByte(chunk, '\n') >= 0 || bytes.IndexByte(chunk, '\r') >= 0 { // which base64 ignores
		return o, false
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(chunk)))
	size, err := base64.StdEncoding.Decode(data, chunk)
	if err != nil {
		return o, false
	}
	o.event = Event{Kind: Output, Seq: n, Stream: streamName(stream), Data: data[:size]}
	return o, true
}

// isPlain reports whether s is short, and the text between the quotes of a JSON
// string that stands for itself.
func isPlain(s []byte) bool {
	for _, c := range s {
		if c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return len(s) <= shortString
}

// streamName returns the name of a stream without an allocation for those that
// exist.
func streamName(b []byte) wire.Stream {
	switch string(b) {
	case string(wire.Stdout):
		return wire.Stdout
	case string(wire.Stderr):
		return wire.Stderr
	case string(wire.PTY):
		return wire.PTY
	}
	return wire.Stream(b)
}
