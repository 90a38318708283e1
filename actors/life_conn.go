package actors

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/link"
	"github.com/hostsup/hostsup/sandbox"
)

// connect makes the actor of the connection, which has the wire from then on.
func (a *Life) connect(ctx actor.Context, w link.Wire) lifecycle.LifeEvent {
	spec := &a.ref.spec().HostSpec
	session := spec.Protocol.Open(spec.Limits)
	hello, opening := a.given.Hello, a.given.Opening
	a.given = nil
	if opening == nil && spec.Sandbox == nil && a.ref.world.Launcher.Kill() != sandbox.KillPidns {
		hello.PID = os.Getpid() // elsewhere it could not see us, and would take us for gone
	}
	c, hs := newConn(a.ref, a.number, session, w), session.Handshake(hello)
	if opening != nil {
		hs = opening(c.Conn, hs)
	}
	props := safeactor.Props(a.log, func() actor.Actor {
		return &Connection{log: a.log, ref: a.ref, life: a.number, host: a.host, c: c, hs: hs}
	})
	pid, err := ctx.SpawnNamed(props, "connection")
	if err != nil {
		_ = w.Close()
		return lifecycle.MustEnd{Fault: lifecycle.Fault{Cause: lifecycle.CauseInternal, Detail: err.Error()}}
	}
	a.connection, a.conn = pid, c
	safeactor.Tell(ctx, pid, &openConn{})
	return lifecycle.Connected
}

// deaf says what it means by itself that the host reads no more.
func (a *Life) deaf() lifecycle.Fault {
	detail := "reads no more from its connection and lived on"
	if a.ref.spec().TransportInForce() == hostspec.TransportStdio {
		detail = "closed its standard input and lived on"
	}
	return lifecycle.Fault{Cause: lifecycle.CauseClosed, Detail: detail}
}

// broken says what the end of the byte stream means by itself.
func (a *Life) broken(err error) lifecycle.Fault {
	var (
		frame   *codec.FrameError
		refused *codec.Error
		d       *link.PanicError
	)
	switch {
	case errors.Is(err, codec.ErrVersion):
		return lifecycle.Fault{Cause: lifecycle.CauseVersion, Detail: err.Error()}
	case errors.As(err, &frame):
		f := lifecycle.Fault{Cause: lifecycle.CauseProtocol, Detail: err.Error(), Bad: frame.Bytes}
		if errors.Is(err, codec.ErrTooLarge) && frame.InMessage {
			f.Detail += " (messages { max_size } of the host sets it)"
		}
		if text, ok := codec.Printed(a.ref.world.redactor().Last(frame.Bytes)); ok && !frame.InMessage && a.ref.spec().TransportInForce() == hostspec.TransportStdio {
			hint := "print to stderr"
			if a.ref.spec().Protocol.Defaults().Transport == string(hostspec.TransportFD) {
				hint += ", or use transport fd"
			}
			f.Detail = fmt.Sprintf("text on stdout, where frames belong: %q (%s)", text, hint)
		}
		return f
	case errors.As(err, &refused):
		return lifecycle.Fault{Cause: lifecycle.CauseProtocol, Detail: "it refused the handshake: " + refused.Error()}
	case errors.As(err, &d):
		a.log.Error("defect: the read loop failed", "panic", d.Value, "stack", string(d.Stack))
		return lifecycle.Fault{Cause: lifecycle.CauseInternal, Detail: d.Error()}
	case errors.Is(err, io.EOF):
		return lifecycle.Fault{Cause: lifecycle.CauseClosed, Detail: "closed its connection and lived on"}
	}
	return lifecycle.Fault{Cause: lifecycle.CauseClosed, Detail: "connection broke: " + err.Error()}
}
