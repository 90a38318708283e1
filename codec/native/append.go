package native

import (
	"encoding/binary"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// header is the length in front of every frame.
const header = 4

// Append encodes m as one frame behind dst. It allocates only when dst has to
// grow. Params and Result are taken as they are: what [mpack.Encoding.Marshal]
// or a Reader returned has been checked.
//
// An ack, cancel, item or credit whose capability is not in force, a message
// without id or with a method that the other side would refuse is a
// *[codec.FrameError]; a trace that is not in force is left out.
func (s *Session) Append(dst []byte, m *codec.Message) ([]byte, error) {
	if m.ID == 0 && m.Kind != codec.Notification {
		return dst, codec.Faultf(codec.ErrShape, -1, nil, "%s without an id", m.Kind)
	}
	if len(m.Params) > s.lim.Frame || len(m.Result) > s.lim.Frame {
		return dst, envelope.TooLarge(max(len(m.Params), len(m.Result)), s.lim)
	}
	start := len(dst)
	switch m.Kind {
	case codec.Request, codec.Notification:
		if err := envelope.CheckMethod(m.Method, MaxMethod); err != nil {
			return dst, err
		}
		traced := m.Trace != (codec.Trace{}) && s.Caps().Has(codec.CapTrace)
		n := byte(0x93)
		if m.Kind == codec.Request {
			n++
		}
		if traced {
			n++
		}
		dst = append(dst, 0, 0, 0, 0, n, byte(m.Kind))
		if m.Kind == codec.Request {
			dst = mpack.AppendUint(dst, uint64(m.ID))
		}
		dst = mpack.AppendString(dst, m.Method)
		dst = envelope.AppendRaw(dst, m.Params)
		if traced {
			dst = appendTrace(dst, m.Trace)
		}
	case codec.Response:
		dst = append(dst, 0, 0, 0, 0, 0x94, byte(codec.Response))
		dst = mpack.AppendUint(dst, uint64(m.ID))
		if m.Err != nil {
			dst = appendError(dst, m.Err)
			dst = append(dst, 0xc0)
		} else {
			dst = append(dst, 0xc0)
			dst = envelope.AppendRaw(dst, m.Result)
		}
	case codec.Ack, codec.Cancel, codec.Item, codec.Credit:
		if need := needs[m.Kind]; !s.Caps().Has(need) {
			return dst, codec.Faultf(codec.ErrShape, -1, nil, "%s: capability %s is not in force", m.Kind, capNames(need)[0])
		}
		dst = append(dst, 0, 0, 0, 0, shape.Arity[m.Kind]|0x90, byte(m.Kind))
		dst = mpack.AppendUint(dst, uint64(m.ID))
		switch m.Kind {
		case codec.Item:
			dst = mpack.AppendUint(dst, uint64(m.Seq))
			dst = envelope.AppendRaw(dst, m.Result)
		case codec.Credit:
			dst = mpack.AppendUint(dst, uint64(m.Credit))
		}
	default:
		return dst, codec.Faultf(codec.ErrShape, -1, nil, "%s", m.Kind)
	}
	n := len(dst) - start - header
	if n > s.lim.Frame {
		return dst[:start], envelope.TooLarge(n, s.lim)
	}
	binary.BigEndian.PutUint32(dst[start:], uint32(n))
	return dst, nil
}

// needs is the capability that a kind takes.
var needs = [...]codec.Caps{
	codec.Ack:    codec.CapAck,
	codec.Cancel: codec.CapCancel,
	codec.Item:   codec.CapStream,
	codec.Credit: codec.CapStream,
}

func appendTrace(dst []byte, t codec.Trace) []byte {
	n := 1
	if t.State != "" {
		n = 2
	}
	dst = mpack.AppendMap(dst, n)
	dst = mpack.AppendString(dst, "traceparent")
	dst = mpack.AppendString(dst, t.Parent)
	if t.State != "" {
		dst = mpack.AppendString(dst, "tracestate")
		dst = mpack.AppendString(dst, t.State)
	}
	return dst
}
