package jsonrpc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// What the headers of one message may take.
const (
	maxHeader      = 8 << 10
	maxHeaderLines = 32
)

// headerReader reads messages behind headers.
type headerReader struct{ reader }

// Next fills m with the next message.
func (r *headerReader) Next(m *codec.Message) error { return r.next(m, r.frame) }

// Buffered says whether Next can return without waiting for the stream.
func (r *headerReader) Buffered() bool {
	if r.err != nil || r.open {
		return true
	}
	var h header
	rest := r.block[r.from:r.to]
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return h.bytes+len(rest) > maxHeader
		}
		done, err := h.line(rest[:i])
		rest = rest[i+1:]
		if err != nil || done {
			return err != nil || h.length > r.s.lim.Frame || len(rest) >= h.length
		}
	}
}

// frame reads the headers and the body of the next message.
func (r *headerReader) frame() error {
	var h header
	for done := false; !done; {
		line, err := r.line(&h)
		if err == nil {
			done, err = h.line(line)
		}
		if err != nil {
			return err
		}
	}
	n := h.length
	if n > r.s.lim.Frame {
		return &codec.FrameError{
			Err: codec.ErrTooLarge, Offset: -1, Bytes: evidence(h.first), InMessage: true,
			Detail: fmt.Sprintf("Content-Length: %d, limit %d", n, r.s.lim.Frame),
		}
	}
	if n > maxBlock {
		return r.large(n, h.bytes)
	}
	for r.to-r.from < n {
		if r.from > 0 && r.from+n > len(r.block) { // make room for all of it
			r.to = copy(r.block, r.block[r.from:r.to])
			r.from = 0
		}
		if err := r.fill(); err != nil {
			return bodyEnd(err, r.block[r.from:r.to], n)
		}
	}
	body := r.block[r.from : r.from+n : r.from+n]
	r.from += n
	return r.begin(body, false, h.bytes, 0)
}

// large reads a body into memory of its own, which grows as its bytes arrive.
func (r *headerReader) large(n, head int) error {
	body := grown(nil, n)
	have := copy(body[:cap(body)], r.block[r.from:r.to])
	body = body[:have]
	r.from += have
	for len(body) < n {
		body = grown(body, n)
		got, err := r.read(body[len(body):cap(body)])
		body = body[:len(body)+got]
		if err != nil {
			return bodyEnd(err, body, n)
		}
	}
	return r.begin(body, true, head, 0)
}

func bodyEnd(err error, seen []byte, n int) error {
	if errors.Is(err, io.EOF) {
		return cutShort(fmt.Sprintf("the stream ended after %d of a message's %d bytes", len(seen), n), seen)
	}
	return err
}

// line takes the next line of a header off the stream, without its end.
func (r *headerReader) line(h *header) ([]byte, error) {
	for scanned := 0; ; {
		rest := r.block[r.from:r.to]
		if i := bytes.IndexByte(rest[scanned:], '\n'); i >= 0 {
			r.from += scanned + i + 1
			return rest[:scanned+i], nil
		}
		scanned = len(rest)
		if h.bytes+scanned > maxHeader {
			return nil, h.fault(codec.ErrTooLarge, fmt.Sprintf("header of more than %d bytes", maxHeader), rest)
		}
		if scanned > 0 && !token(rest[0]) && rest[0] != '\r' {
			// It will not get any better; whoever wrote this may wait now.
			return nil, h.strange(rest)
		}
		switch err := r.fill(); {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, err
		case h.lines == 0 && scanned == 0:
			return nil, io.EOF
		default:
			return nil, cutShort("the stream ended within a header"+h.seen(rest), rest)
		}
	}
}

// header is what is known of a message's headers.
type header struct {
	length int // of Content-Length
	known  bool
	lines  int
	bytes  int
	first  []byte // the first line
}

// line takes one line, of which the line feed is gone. done: it was the empty one.
func (h *header) line(b []byte) (done bool, err error) {
	h.bytes += len(b) + 1
	h.lines++
	if len(b) > 0 && b[len(b)-1] == '\r' {
		b = b[:len(b)-1]
	}
	if h.lines == 1 {
		h.first = append(h.first, b[:min(len(b), 128)]...)
	}
	if len(b) == 0 {
		if !h.known {
			return false, h.fault(codec.ErrShape, "header without Content-Length"+h.seen(nil), h.first)
		}
		if h.length == 0 {
			return false, h.wrong(codec.ErrEmpty, "Content-Length: 0", h.first)
		}
		return true, nil
	}
	if h.lines > maxHeaderLines || h.bytes > maxHeader {
		return false, h.fault(codec.ErrTooLarge, fmt.Sprintf("header of more than %d lines or %d bytes", maxHeaderLines, maxHeader), b)
	}
	colon := bytes.IndexByte(b, ':')
	if colon < 1 {
		return false, h.strange(b)
	}
	for _, c := range b[:colon] {
		if !token(c) {
			return false, h.strange(b)
		}
	}
	value := strings.Trim(string(b[colon+1:]), " \t")
	switch strings.ToLower(string(b[:colon])) {
	case "content-length":
		return false, h.contentLength(value)
	case "content-type":
		return false, h.contentType(value)
	}
	return false, nil // LSP has no others; they hurt nobody
}

func (h *header) contentLength(value string) error {
	n := 0
	for _, c := range []byte(value) {
		if c < '0' || c > '9' {
			return h.wrong(codec.ErrShape, fmt.Sprintf("Content-Length: %s, a number of bytes expected", quote([]byte(value), 32)), []byte(value))
		}
		if n > (math.MaxInt-9)/10 {
			return h.wrong(codec.ErrTooLarge, fmt.Sprintf("Content-Length: %.32s", value), []byte(value))
		}
		n = 10*n + int(c-'0')
	}
	if value == "" {
		return h.wrong(codec.ErrShape, "Content-Length without a number", h.first)
	}
	if h.known && n != h.length {
		return h.wrong(codec.ErrShape, fmt.Sprintf("Content-Length twice: %d and %d", h.length, n), h.first)
	}
	h.length, h.known = n, true
	return nil
}

// contentType takes UTF-8 only, which the first versions of LSP called utf8.
func (h *header) contentType(value string) error {
	for _, p := range strings.Split(value, ";")[1:] {
		name, charset, _ := strings.Cut(strings.TrimSpace(p), "=")
		if !strings.EqualFold(name, "charset") {
			continue
		}
		charset = strings.Trim(charset, `"`)
		if !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
			return h.wrong(codec.ErrShape, fmt.Sprintf("Content-Type with charset %s, utf-8 expected", quote([]byte(charset), 32)), []byte(value))
		}
	}
	return nil
}

// strange is a line that belongs to no header: most often something other than
// the protocol was printed.
func (h *header) strange(b []byte) error {
	hint := ""
	if b[0] == '{' {
		hint = " (jsonrpc-lines is the protocol of hosts that write no headers)"
	}
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return h.fault(codec.ErrShape, "a header such as \"Content-Length: 52\" expected, "+quote(b, 64)+hint, b)
}

// seen quotes the header's first line, or what there is of it.
func (h *header) seen(rest []byte) string {
	if h.lines > 0 && len(h.first) > 0 {
		rest = h.first
	}
	if len(rest) == 0 {
		return ""
	}
	return ": " + quote(rest, 64)
}

func (h *header) fault(err error, detail string, seen []byte) error {
	return &codec.FrameError{Err: err, Offset: -1, Detail: detail, Bytes: evidence(seen)}
}

// wrong is a fault of a line that is a header.
func (h *header) wrong(err error, detail string, seen []byte) error {
	return &codec.FrameError{Err: err, Offset: -1, Detail: detail, Bytes: evidence(seen), InMessage: true}
}

// token says whether c may be in the name of a header.
func token(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || strings.IndexByte("!#$%&'*+-.^_`|~", c) >= 0
}
