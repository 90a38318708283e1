package execserver

import (
	"bytes"
	"encoding/base64"

	"github.com/hostsup/hostsup/execserver/wire"
)

// output is the message of which there are many.
type output struct {
	process []byte // within the message
	event   Event
}

var outputStart = []byte(`{"method":"process/output","params":{`)

// scanOutput reads a process/output as servers write it: without spaces and
// with nothing that is escaped. Anything else, whether it is valid or not, is
// left to [wire.Decode]: that is slower and strict.
func scanOutput(msg []byte) (output, bool) {
	var o output
	rest, ok := bytes.CutPrefix(msg, outputStart)
	if !ok {
		return o, false
	}
	var chunk []byte
	seen := 0
	for {
		var name, value []byte
		if name, rest, ok = scanString(rest); !ok || len(rest) == 0 || rest[0] != ':' {
			return o, false
		}
		rest = rest[1:]
		if string(name) == "seq" {
			n := 0
			for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
				if n == 19 {
					return o, false
				}
				o.event.Seq = o.event.Seq*10 + uint64(rest[n]-'0')
				n++
			}
			if n == 0 || n > 1 && rest[0] == '0' || seen&1 != 0 {
				return o, false
			}
			rest, seen = rest[n:], seen|1
		} else {
			if value, rest, ok = scanString(rest); !ok {
				return o, false
			}
			bit := 0
			switch string(name) {
			case "processId":
				o.process, bit = value, 2
			case "stream":
				o.event.Stream, bit = streamName(value), 4
			case "chunk":
				chunk, bit = value, 8
			}
			if bit == 0 || seen&bit != 0 || bit != 8 && len(value) > shortString {
				return o, false
			}
			seen |= bit
		}
		if len(rest) == 0 {
			return o, false
		}
		if rest[0] == '}' {
			break
		}
		if rest[0] != ',' {
			return o, false
		}
		rest = rest[1:]
	}
	if string(rest) != "}}" || seen != 15 {
		return o, false
	}
	data := make([]byte, base64.StdEncoding.DecodedLen(len(chunk)))
	n, err := base64.StdEncoding.Decode(data, chunk)
	if err != nil {
		return o, false
	}
	o.event.Kind, o.event.Data = Output, data[:n]
	return o, true
}

// shortString is up to how many bytes scanString looks at each one. What is
// longer is taken for base64 alone, whose decoder is stricter.
const shortString = 128

// scanString takes a string without escapes and control characters off b.
func scanString(b []byte) (s, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '"' {
		return nil, nil, false
	}
	end := bytes.IndexByte(b[1:], '"')
	if end < 0 {
		return nil, nil, false
	}
	s, rest = b[1:1+end], b[end+2:]
	if len(s) <= shortString {
		for _, c := range s {
			if c < ' ' || c == '\\' || c >= 0x7f {
				return nil, nil, false
			}
		}
	} else if bytes.IndexByte(s, '\\') >= 0 || bytes.IndexByte(s, '\n') >= 0 || bytes.IndexByte(s, '\r') >= 0 {
		return nil, nil, false
	}
	return s, rest, true
}

// streamName saves an allocation for the names there are.
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
