package msgpackrpc

import (
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/internal/envelope"
	"github.com/hostsup/hostsup/codec/mpack"
)

// What stands in front of a message's id or method: the array and its type.
const (
	requestHead      = "\x94\x00"
	responseHead     = "\x94\x01"
	notificationHead = "\x93\x02"
)

// Append encodes m behind dst. It allocates only when dst has to grow. Params
// that are no array become one. The id of a Response is the one that the Reader
// gave the request; once its answer is appended it is forgotten.
//
// A message without id or with a method that is empty, too long or not UTF-8, a
// response to a request that is not open, and a kind that the protocol does not
// have are a *[codec.FrameError]; a trace is left out.
func (s *Session) Append(dst []byte, m *codec.Message) ([]byte, error) {
	if len(m.Params) > s.lim.Frame || len(m.Result) > s.lim.Frame {
		return dst, envelope.TooLarge(max(len(m.Params), len(m.Result)), s.lim)
	}
	start := len(dst)
	switch m.Kind {
	case codec.Request, codec.Notification:
		if err := envelope.CheckMethod(m.Method, MaxMethod); err != nil {
			return dst, err
		}
		if m.Kind == codec.Notification {
			dst = append(dst, notificationHead...)
		} else {
			if m.ID == 0 {
				return dst, codec.Faultf(codec.ErrShape, -1, nil, "request without an id")
			}
			dst = append(dst, requestHead...)
			dst = mpack.AppendUint(dst, uint64(m.ID))
		}
		dst = mpack.AppendString(dst, m.Method)
		dst = appendParams(dst, m.Params)
	case codec.Response:
		id, open := s.asks.id(m.ID)
		if !open {
			return dst, codec.Faultf(codec.ErrID, -1, nil, "response to request %d, which is not open", m.ID)
		}
		dst = append(dst, responseHead...)
		dst = mpack.AppendUint(dst, uint64(id))
		if m.Err != nil {
			dst = mpack.AppendNil(appendError(dst, m.Err))
		} else {
			dst = envelope.AppendRaw(mpack.AppendNil(dst), m.Result)
		}
	default:
		return dst, codec.Faultf(codec.ErrShape, -1, nil, "the protocol has no %s", m.Kind)
	}
	if n := len(dst) - start; n > s.lim.Frame {
		return dst[:start], envelope.TooLarge(n, s.lim)
	}
	switch m.Kind {
	case codec.Request:
		s.question(m)
	case codec.Response:
		s.asks.answered(m.ID)
	}
	return dst, nil
}

// appendParams writes params as the array that they have to be.
func appendParams(dst []byte, raw codec.Raw) []byte {
	switch {
	case len(raw) == 0, raw[0] == 0xc0:
		return mpack.AppendArray(dst, 0)
	case !isArray(raw[0]):
		dst = mpack.AppendArray(dst, 1)
	}
	return append(dst, raw...)
}

// isArray says whether a value's first byte makes it an array.
func isArray(first byte) bool { return first&0xf0 == 0x90 || first == 0xdc || first == 0xdd }
