package control

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"time"
)

// timed bounds how long a caller may take to send the body of a request, and to take the
// answer.
type timed struct {
	http.ResponseWriter
	control  *http.ResponseController
	patience time.Duration
	lull     time.Duration // how long the reader of a stream may take nothing; 0: any time

	body   time.Time // by when the rest of the request's body must arrive; zero: it has
	stream bool      // each piece has a deadline of its own only, because the answer may last for days
	begun  time.Time // when the first piece of an answer was written, or the time that is counted from
	taken  int64     // bytes of an answer before the piece that is being written
	late   string    // what the caller did too slowly; "" if nothing

	upgraded bool // the handler has the connection, without a deadline
}

const (
	// piece is how many bytes are written with one deadline.
	piece = 64 << 10
	// slowest is how many bytes of a long answer a caller must take in a second.
	slowest = 64 << 10
)

// newTimed bounds the request r, whose body it replaces, and the answer to it.
func newTimed(w http.ResponseWriter, r *http.Request, patience, lull time.Duration) *timed {
	t := &timed{ResponseWriter: w, control: http.NewResponseController(w), patience: patience, lull: lull}
	now := time.Now()
	// Of a connection that has ended, deadlines do not matter.
	_ = t.control.SetWriteDeadline(now.Add(patience))
	if r.ContentLength != 0 && r.Body != nil {
		// Also for a body that no handler reads: the server reads it before it answers.
		t.body = now.Add(patience)
		_ = t.control.SetReadDeadline(t.body)
		r.Body = &timedBody{r.Body, t}
	}
	return t
}

// unreadBody is how many bytes of a body that no operation wants are read, as many as the
// server of net/http reads of its own.
const unreadBody = 256 << 10

// endBody reads what is left of the body of r, for whoever asked that the connection is
// closed afterwards. The server reads it of others only, and a caller that is still
// sending when the connection is closed loses the answer.
func (t *timed) endBody(r *http.Request) {
	if r.Close && !t.body.IsZero() && t.late == "" && r.Header.Get("Expect") == "" {
		_, _ = io.CopyN(io.Discard, r.Body, unreadBody) // as far as it comes
	}
}

// beginStream makes the answer a stream: only a reader that takes nothing for a time is cut
// off.
func (t *timed) beginStream() { t.stream = true }

// beginDuplex makes the request's body a stream too. At the control socket its reader may
// take nothing for any time: whoever serves such a request has a rule of its own.
func (t *timed) beginDuplex(forever bool) {
	t.stream, t.body = true, time.Time{}
	_ = t.control.SetReadDeadline(t.body)
	if forever {
		t.lull = 0
		_ = t.control.SetWriteDeadline(time.Time{})
	}
}

// renew sets the deadline before a piece is written.
func (t *timed) renew() {
	now := time.Now()
	if now.Before(t.body) {
		now = t.body // the server waits for the rest of a body before it sends anything
	}
	if t.begun.IsZero() {
		t.begun = now
	}
	switch until := t.begun.Add(t.patience + time.Duration(t.taken)*time.Second/slowest); {
	case !t.stream && until.Before(now.Add(t.patience)):
		_ = t.control.SetWriteDeadline(until)
	case !t.stream:
		_ = t.control.SetWriteDeadline(now.Add(t.patience))
	case t.lull > 0:
		_ = t.control.SetWriteDeadline(now.Add(t.lull))
	}
}

// wrote returns err, and notes a deadline that has passed.
func (t *timed) wrote(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		t.late = "it did not take the answer in time"
	}
	return err
}

// Unwrap lets a ResponseController find the connection.
func (t *timed) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Hijack implements http.Hijacker.
func (t *timed) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := t.control.Hijack()
	t.upgraded = err == nil
	return c, rw, err
}

func (t *timed) Write(b []byte) (n int, err error) {
	for p := range slices.Chunk(b, piece) {
		t.renew()
		k, err := t.ResponseWriter.Write(p)
		n, t.taken = n+k, t.taken+int64(k)
		if err != nil {
			return n, t.wrote(err)
		}
	}
	return n, nil
}

// FlushError implements what a ResponseController looks for.
func (t *timed) FlushError() error {
	t.renew()
	return t.wrote(t.control.Flush())
}

// timedBody is the body of a request that must arrive in time.
type timedBody struct {
	io.ReadCloser
	t *timed
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.t.stream { // attach ends reading by a deadline
		return n, err
	}
	switch {
	case errors.Is(err, io.EOF):
		b.t.body = time.Time{}
		_ = b.t.control.SetReadDeadline(b.t.body) // the server now looks whether the caller is there
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.t.late = "it did not send the request in time"
	}
	return n, err
}
