package wire

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Bytes that are no UTF-8 become
// U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hexLower[c>>4], hexLower[c&15])
			}
			i++
			start = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(b, s[start:i]...)
			b = append(b, "\ufffd"...)
			start = i + 1
		}
		i += n
	}
	b = append(b, s[start:]...)
	return append(b, '"')
}

const hexLower = "0123456789abcdef"

// AppendOutput appends a process/output notification. id is the process id as
// a JSON string.
func AppendOutput(b, id []byte, seq uint64, stream Stream, data []byte) []byte {
	b = slices.Grow(b, 96+len(id)+base64.StdEncoding.EncodedLen(len(data)))
	b = append(b, `{"method":"process/output","params":{"processId":`...)
	b = append(b, id...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"stream":"`...)
	b = append(b, stream...)
	b = append(b, `","chunk":"`...)
	b = AppendBase64(b, data)
	return append(b, `"}}`...)
}

// AppendExited appends a process/exited notification.
func AppendExited(b, id []byte, seq uint64, code int32, denied bool) []byte {
	b = append(b, `{"method":"process/exited","params":{"processId":`...)
	b = append(b, id...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"exitCode":`...)
	b = strconv.AppendInt(b, int64(code), 10)
	b = append(b, `,"sandboxDenied":`...)
	b = strconv.AppendBool(b, denied)
	return append(b, `}}`...)
}

// AppendClosed appends a process/closed notification.
func AppendClosed(b, id []byte, seq uint64) []byte {
	b = append(b, `{"method":"process/closed","params":{"processId":`...)
	b = append(b, id...)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	return append(b, `}}`...)
}

// AppendChunk appends an OutputChunk of a ProcessReadResult.
func AppendChunk(b []byte, seq uint64, stream Stream, data []byte) []byte {
	b = slices.Grow(b, 64+base64.StdEncoding.EncodedLen(len(data)))
	b = append(b, `{"seq":`...)
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, `,"stream":"`...)
	b = append(b, stream...)
	b = append(b, `","chunk":"`...)
	b = AppendBase64(b, data)
	return append(b, `"}`...)
}

// AppendBodyDelta appends an http/request/bodyDelta notification.
func AppendBodyDelta(b []byte, d *HTTPBodyDelta) []byte {
	b = slices.Grow(b, 128+base64.StdEncoding.EncodedLen(len(d.Delta)))
	b = append(b, `{"method":"http/request/bodyDelta","params":{"requestId":`...)
	b = AppendString(b, d.RequestID)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, d.Seq, 10)
	b = append(b, `,"deltaBase64":"`...)
	b = AppendBase64(b, d.Delta)
	b = append(b, `","done":`...)
	b = strconv.AppendBool(b, d.Done)
	b = append(b, `,"error":`...)
	if d.Error == nil {
		b = append(b, "null"...)
	} else {
		b = AppendString(b, *d.Error)
	}
	return append(b, `}}`...)
}

// AppendRequest appends a request; without params they are null.
func AppendRequest(b []byte, id ID, method string, params any) ([]byte, error) {
	b = append(b, `{"id":`...)
	b = id.AppendJSON(b)
	b = append(b, `,"method":`...)
	b = AppendString(b, method)
	return appendParams(b, params)
}

// AppendNotification appends a notification.
func AppendNotification(b []byte, method string, params any) ([]byte, error) {
	b = append(b, `{"method":`...)
	b = AppendString(b, method)
	return appendParams(b, params)
}

func appendParams(b []byte, params any) ([]byte, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return nil, err
	}
	b = append(b, `,"params":`...)
	b = append(b, raw...)
	return append(b, '}'), nil
}

// AppendResult appends the answer result to request id.
func AppendResult(b []byte, id ID, result any) ([]byte, error) {
	b = append(b, `{"id":`...)
	b = id.AppendJSON(b)
	b = append(b, `,"result":`...)
	switch r := result.(type) {
	case Empty, *Empty, nil:
		b = append(b, "{}"...)
	case json.RawMessage:
		b = append(b, r...)
	case *FSReadFileResult: // the large ones, without reflection
		b = append(b, `{"dataBase64":"`...)
		b = AppendBase64(b, r.Data)
		b = append(b, `"}`...)
	case *FSReadBlockResult:
		b = append(b, `{"chunk":"`...)
		b = AppendBase64(b, r.Chunk)
		b = append(b, `","eof":`...)
		b = strconv.AppendBool(b, r.EOF)
		b = append(b, '}')
	default:
		raw, err := json.Marshal(result)
		if err != nil {
			return nil, err
		}
		b = append(b, raw...)
	}
	return append(b, '}'), nil
}

// AppendError appends the error that answers request id.
func AppendError(b []byte, id ID, e *Error) []byte {
	b = append(b, `{"error":{"code":`...)
	b = strconv.AppendInt(b, int64(e.Code), 10)
	b = append(b, `,"message":`...)
	b = AppendString(b, e.Message)
	if e.Data != nil {
		b = append(b, `,"data":`...)
		b = append(b, e.Data...)
	}
	b = append(b, `},"id":`...)
	b = id.AppendJSON(b)
	return append(b, '}')
}
