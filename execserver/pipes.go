package execserver

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/hostsup/hostsup/execserver/wire"
)

var errNotStarted = errors.New("the command has not been started")

// stdinPipe is what Cmd.StdinPipe returns.
type stdinPipe struct{ w io.WriteCloser }

func (p *stdinPipe) Write(data []byte) (int, error) {
	if p.w == nil {
		return 0, errNotStarted
	}
	return p.w.Write(data)
}

func (p *stdinPipe) Close() error {
	if p.w == nil {
		return errNotStarted
	}
	return p.w.Close()
}

// outputPipe is what Cmd.StdoutPipe and StderrPipe return: the output of one
// stream.
type outputPipe struct {
	sub  *Subscription
	rest []byte // of the event that is being read
	err  error  // after it
}

// from makes the pipe one of a process that is being started. p may be nil.
func (o *outputPipe) from(p *Process, stream wire.Stream) {
	if o != nil {
		o.sub = p.subscribe(Keep, stream)
	}
}

func (o *outputPipe) Read(into []byte) (int, error) {
	if o.sub == nil {
		return 0, errNotStarted
	}
	for len(o.rest) == 0 && o.err == nil {
		// The process ends, or is given up: there is an end to wait for.
		e, err := o.sub.Next(context.Background())
		switch {
		case errors.Is(err, ErrLagged):
			return 0, err
		case err != nil:
			o.err = err
		case e.Kind == Output:
			o.rest = e.Data
		case e.Kind == Closed:
			o.err = io.EOF
		case e.Kind == Failed:
			o.err = e.Err
		}
	}
	n := copy(into, o.rest)
	o.rest = o.rest[n:]
	if n == 0 && len(into) > 0 {
		return 0, o.err
	}
	return n, nil
}

func (o *outputPipe) Close() error {
	o.close()
	return nil
}

func (o *outputPipe) close() {
	if o != nil && o.sub != nil {
		o.sub.Close()
	}
}

// endsSize is how much ends keeps of each end.
const endsSize = 32 << 10

// ends is a writer that keeps the beginning and the end of its input.
type ends struct {
	first, last []byte
	skipped     int64
}

func (e *ends) Write(p []byte) (int, error) {
	n := len(p)
	if room := endsSize - len(e.first); room > 0 {
		take := min(room, len(p))
		e.first, p = append(e.first, p[:take]...), p[take:]
	}
	e.last = append(e.last, p...)
	if over := len(e.last) - endsSize; over > 0 {
		e.skipped += int64(over)
		e.last = append(e.last[:0], e.last[over:]...)
	}
	return n, nil
}

func (e *ends) bytes() []byte {
	if e.skipped == 0 {
		return append(e.first, e.last...)
	}
	return append(fmt.Appendf(e.first, "\n... omitting %d bytes ...\n", e.skipped), e.last...)
}
