package wire

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD.
func AppendString(b []byte, s string) []byte { return jsonwalk.AppendText(b, s) }

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
	return fmt.Appendf(b, `{"method":"process/exited","params":{"processId":%s,"seq":%d,"exitCode":%d,"sandboxDenied":%t}}`, id, seq, code, denied)
}

// AppendClosed appends a process/closed notification.
func AppendClosed(b, id []byte, seq uint64) []byte {
	return fmt.Appendf(b, `{"method":"process/closed","params":{"processId":%s,"seq":%d}}`, id, seq)
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
	b = fmt.Appendf(b, `{"method":"http/request/bodyDelta","params":{"requestId":%s,"seq":%d,"deltaBase64":"`, AppendString(nil, d.RequestID), d.Seq)
	b = AppendBase64(b, d.Delta)
	failure := []byte("null")
	if d.Error != nil {
		failure = AppendString(nil, *d.Error)
	}
	return fmt.Appendf(b, `","done":%t,"error":%s}}`, d.Done, failure)
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
