package dscode

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
)

// readSize is how much is read at once.
const readSize = 64 << 10

// reader takes messages off a Stream.
type reader struct {
	s     *session
	src   *bufio.Reader
	queue []codec.Message // messages that no frame stands for
	err   error
}

func newReader(s *session, src io.Reader) *reader {
	return &reader{s: s, src: bufio.NewReaderSize(src, readSize)}
}

// Next fills m with the next message.
func (r *reader) Next(m *codec.Message) error {
	for {
		if len(r.queue) > 0 {
			*m = r.queue[0]
			r.queue = r.queue[1:]
			return nil
		}
		if r.err != nil {
			return r.err
		}
		found, err := r.record(m)
		if r.err = err; found {
			return nil
		}
	}
}

// Buffered says whether Next can return without waiting for the stream.
func (r *reader) Buffered() bool {
	if r.err != nil || len(r.queue) > 0 {
		return true
	}
	have := r.src.Buffered()
	if have < LabelSize+Header {
		return false
	}
	b, err := r.src.Peek(LabelSize + Header)
	return err == nil && b[0] == Frame && uint64(have) >= LabelSize+Header+uint64(binary.BigEndian.Uint32(b[LabelSize:]))
}

// record takes one labelled record; found: it was a message.
func (r *reader) record(m *codec.Message) (found bool, err error) {
	b, err := r.src.Peek(LabelSize)
	if err != nil {
		if errors.Is(err, io.EOF) && len(b) > 0 {
			err = r.truncated("a label", b)
		}
		return false, err
	}
	l := ReadLabel(b)
	_, _ = r.src.Discard(LabelSize) // it was just seen
	switch l.What {
	case End:
		r.ended(l)
		return false, nil
	case Head:
		return false, r.head()
	case Frame:
		body, err := r.frame()
		if err != nil {
			return false, err
		}
		return r.message(l.Conn, body, m)
	}
	return false, &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: fmt.Sprintf("label %q", l.What)}
}

// ended makes the messages that follow from the end of a connection.
func (r *reader) ended(l Label) {
	var made []codec.Message
	if l.Conn == 0 {
		for _, id := range r.s.lost(l.Number) {
			made = append(made, codec.Message{Kind: codec.Response, ID: id, Err: &codec.Error{
				Name: NameConnectionLost, Message: "the connection on which this was asked has ended without an answer",
			}})
		}
	} else {
		for _, id := range r.s.gone(l.Conn) {
			made = append(made, codec.Message{Kind: codec.Cancel, ID: id})
		}
	}
	r.queue = made
}

// head looks at the beginning of a frame that is large or none.
func (r *reader) head() error {
	n, err := r.length("a label")
	if err != nil {
		return err
	}
	if n < Header || n > Evidence {
		return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: fmt.Sprintf("label with %d bytes", n)}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r.src, b); err != nil {
		return r.cut(err, "a label", nil)
	}
	return r.allowed(binary.BigEndian.Uint32(b), b)
}

// frame returns the body of a frame.
func (r *reader) frame() ([]byte, error) {
	n, err := r.length("the length of a frame")
	if err != nil {
		return nil, err
	}
	if n == 0 || uint64(n) > uint64(r.s.lim.Frame) {
		b := binary.BigEndian.AppendUint32(nil, n)
		rest, _ := r.src.Peek(min(r.src.Buffered(), Evidence-Header))
		return nil, r.allowed(n, append(b, rest...))
	}
	body, err := codec.ReadBody(r.src, int(n))
	if err != nil {
		return nil, r.cut(err, fmt.Sprintf("%d of a frame's %d bytes", len(body), n), body)
	}
	return body, nil
}

func (r *reader) length(what string) (uint32, error) {
	var b [4]byte
	if n, err := io.ReadFull(r.src, b[:]); err != nil {
		return 0, r.cut(err, what, b[:n])
	}
	return binary.BigEndian.Uint32(b[:]), nil
}

// allowed judges the length of a frame that begins with b.
func (r *reader) allowed(n uint32, b []byte) error {
	b = slices.Clone(b[:min(len(b), Evidence)])
	switch {
	case n == 0:
		return &codec.FrameError{Err: codec.ErrEmpty, Offset: -1, Detail: "length 0", Bytes: b}
	case uint64(n) > uint64(r.s.lim.Frame):
		return &codec.FrameError{Err: codec.ErrTooLarge, Offset: -1, Detail: fmt.Sprintf("%d bytes, limit %d", n, r.s.lim.Frame), Bytes: b}
	}
	return nil
}

func (r *reader) cut(err error, what string, b []byte) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return r.truncated(what, b)
	}
	return err
}

func (r *reader) truncated(what string, b []byte) error {
	return &codec.FrameError{Err: codec.ErrTruncated, Offset: -1, Detail: "the stream ended within " + what, Bytes: slices.Clone(b[:min(len(b), Evidence)])}
}

// message takes a frame's body apart. found is false for one that means nothing.
func (r *reader) message(conn uint32, body []byte, m *codec.Message) (found bool, err error) {
	f, err := takeApart(body, r.s.lim)
	if err != nil {
		return false, err
	}
	*m = codec.Message{Size: Header + len(body)}
	if conn == 0 {
		return r.reply(f, body, m)
	}
	m.Method, m.Params = f.kind, f.payload
	if strings.HasPrefix(f.id, "msg_") {
		m.Kind = codec.Notification
		return true, nil
	}
	m.Kind = codec.Request
	if m.ID, err = r.s.enter(conn, f.id, f.kind); err != nil {
		return false, &codec.FrameError{Err: codec.ErrElements, Offset: -1, Detail: err.Error(), Bytes: start(body)}
	}
	return true, nil
}

// reply is a message of the connection that we opened.
func (r *reader) reply(f fields, body []byte, m *codec.Message) (found bool, err error) {
	digits, ours := strings.CutPrefix(f.id, "req_")
	if !ours && strings.HasPrefix(f.id, "msg_") {
		// A host that answers everything also answers one-way messages.
		return false, nil
	}
	n, perr := strconv.ParseUint(digits, 10, 32)
	if !ours || perr != nil || n == 0 || strconv.FormatUint(n, 10) != digits {
		return false, &codec.FrameError{
			Err: codec.ErrID, Offset: -1, Bytes: start(body),
			Detail: fmt.Sprintf("message %.64q with the id %.64q on the connection for answers; req_<n> expected", f.kind, f.id),
		}
	}
	m.Kind, m.ID = codec.Response, uint32(n)
	r.s.answered(m.ID)
	if !strings.HasSuffix(f.kind, "-error") {
		m.Result = f.payload
		return true, nil
	}
	m.Err = &codec.Error{Message: "unknown error", Data: f.payload}
	var p struct {
		Error *string `json:"error"`
	}
	if err := (jsonrpc.Encoding{}).Unmarshal(f.payload, &p); err == nil && p.Error != nil {
		m.Err = &codec.Error{Message: *p.Error}
	}
	return true, nil
}

func start(body []byte) []byte { return slices.Clone(body[:min(len(body), Evidence)]) }
