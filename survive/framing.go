package survive

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// framing finds where the messages of a stream end. It does not check them: the codec does.
type framing interface {
	// scan takes the next bytes, and returns how many bytes of the stream are whole messages.
	scan(p []byte) uint64
}

// framings are those of the protocols with which a host can survive.
var framings = map[string]func(codec.Limits) framing{
	"hostsup":         func(codec.Limits) framing { return new(prefixed) },
	"jsonrpc-headers": func(codec.Limits) framing { return new(headed) },
	"jsonrpc-lines":   func(codec.Limits) framing { return new(lined) },
	"msgpack-rpc":     func(l codec.Limits) framing { return &packed{scanner: mpack.NewScanner(l)} },
}

// lined has a message in each line, and text in others.
type lined struct{ read, whole uint64 }

func (f *lined) scan(p []byte) uint64 {
	if i := bytes.LastIndexByte(p, '\n'); i >= 0 {
		f.whole = f.read + uint64(i) + 1
	}
	f.read += uint64(len(p))
	return f.whole
}

// body skips the body of a message whose length is known, and counts.
type body struct {
	read, whole uint64
	missing     uint64 // bytes of the body
}

// skip takes what p has of the body.
func (b *body) skip(p []byte) []byte {
	n := min(b.missing, uint64(len(p)))
	b.missing -= n
	b.read += n
	if b.missing == 0 && n > 0 {
		b.whole = b.read
	}
	return p[n:]
}

// prefixed has messages with their length before them, in four bytes.
type prefixed struct {
	body
	head []byte
}

func (f *prefixed) scan(p []byte) uint64 {
	for {
		if p = f.skip(p); len(p) == 0 {
			return f.whole
		}
		n := min(4-len(f.head), len(p))
		f.head, p = append(f.head, p[:n]...), p[n:]
		f.read += uint64(n)
		if len(f.head) == 4 {
			f.missing, f.head = uint64(binary.BigEndian.Uint32(f.head)), f.head[:0]
		}
	}
}

// headed has messages behind headers, of which one tells the length.
type headed struct {
	body
	line   []byte
	length uint64
}

// lineKept is how much of a line of a header is looked at.
const lineKept = 128

func (f *headed) scan(p []byte) uint64 {
	for {
		if p = f.skip(p); len(p) == 0 {
			return f.whole
		}
		i := bytes.IndexByte(p, '\n')
		n := i + 1
		if i < 0 {
			n = len(p)
		}
		f.line = append(f.line, p[:min(n, lineKept-len(f.line))]...)
		p, f.read = p[n:], f.read+uint64(n)
		if i < 0 {
			continue
		}
		name, value, _ := strings.Cut(string(f.line), ":")
		switch name = strings.TrimSpace(name); {
		case name == "":
			f.missing, f.length = f.length, 0
		case strings.EqualFold(name, "content-length"):
			f.length, _ = strconv.ParseUint(strings.TrimSpace(value), 10, 32) // the codec refuses another one
		}
		f.line = f.line[:0]
	}
}

// packed has messages that are a value of MessagePack each.
type packed struct {
	scanner mpack.Scanner
	rest    []byte // of a value that is not whole
	whole   uint64
	bad     bool
}

func (f *packed) scan(p []byte) uint64 {
	f.rest = append(f.rest, p...)
	for !f.bad && len(f.rest) > 0 {
		n, err := f.scanner.Scan(f.rest)
		if f.bad = err != nil; n == 0 || f.bad { // the codec refuses what is bad
			break
		}
		f.scanner.Reset()
		f.whole += uint64(n)
		f.rest = f.rest[n:]
	}
	if len(f.rest) == 0 || f.bad {
		f.rest = nil
	}
	return f.whole
}
