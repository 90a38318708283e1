package actors

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/link"
)

// connEnded follows the end of the byte stream.
func (a *Life) connEnded(ctx actor.Context, err error) {
	if a.failing != nil || a.stopping {
		a.ladder.Talks = false
		a.drained(ctx) // nothing is answered any more
		return         // our own doing
	}
	f := a.broken(err)
	switch {
	case a.exit != nil, f.Cause == lifecycle.CauseClosed, errors.Is(err, codec.ErrTruncated):
		// Most often a sign of an exit, which says more: a host that is killed
		// while it writes leaves a torn frame, too.
		a.suspect = f
		if a.exit == nil {
			a.set(ctx, closedGrace, closedTimer)
		}
	default:
		a.end(ctx, f)
	}
}

// deaf follows the end of the half of the byte stream that the host reads. The
// end of the other half mostly comes right behind it, and says more.
func (a *Life) deaf(ctx actor.Context) {
	if a.failing != nil || a.stopping || a.closed || a.exit != nil {
		return
	}
	detail := "reads no more from its connection and lived on"
	if a.ref.spec.transport() == TransportStdio {
		detail = "closed its standard input and lived on"
	}
	a.suspect = &Failure{Cause: lifecycle.CauseClosed, Detail: detail}
	a.set(ctx, closedGrace, closedTimer)
}

// broken says what the end of the byte stream means by itself.
func (a *Life) broken(err error) *Failure {
	var (
		frame   *codec.FrameError
		refused *codec.Error
		d       *link.PanicError
	)
	switch {
	case errors.Is(err, codec.ErrVersion):
		return &Failure{Cause: lifecycle.CauseVersion, Detail: err.Error()}
	case errors.As(err, &frame):
		f := &Failure{Cause: lifecycle.CauseProtocol, Detail: err.Error(), Bad: frame.Bytes}
		if text, ok := noise(a.ref.world.Redactor.Last(frame.Bytes)); ok && a.ref.spec.transport() == TransportStdio {
			hint := "print to stderr"
			if a.ref.spec.Protocol.Defaults().Transport == string(TransportFD) {
				hint += ", or use transport fd"
			}
			f.Detail = fmt.Sprintf("text on stdout, where frames belong: %q (%s)", text, hint)
		}
		return f
	case errors.As(err, &refused):
		return &Failure{Cause: lifecycle.CauseProtocol, Detail: "it refused the handshake: " + refused.Error()}
	case errors.As(err, &d):
		a.log.Error("defect: the read loop failed", "panic", d.Value, "stack", string(d.Stack))
		return &Failure{Cause: lifecycle.CauseInternal, Detail: d.Error()}
	case errors.Is(err, io.EOF):
		return &Failure{Cause: lifecycle.CauseClosed, Detail: "closed its connection and lived on"}
	}
	return &Failure{Cause: lifecycle.CauseClosed, Detail: "connection broke: " + err.Error()}
}

// noise returns the text that somebody printed where frames belong, if that is
// what broke the protocol. Frames may follow it.
func noise(b []byte) (string, bool) {
	end := bytes.IndexFunc(b, func(r rune) bool {
		return r == unicode.ReplacementChar || !unicode.IsPrint(r) && !unicode.IsSpace(r)
	})
	if end >= 0 {
		b = b[:end]
	}
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 && end >= 0 {
		b = b[:i]
	}
	// Four printable bytes may well be the length of a frame.
	text := strings.TrimSpace(string(b))
	return text, len(text) > 4
}
