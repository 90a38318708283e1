package mpack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// FromJSON encodes one JSON value; empty text is nil. Objects keep their
// order and their duplicate keys. A number without fraction and exponent that
// fits 64 bits is an integer, any other a float; one that no float can hold
// is an error. Strings stay strings: what [Encoding.ToJSON] wrote for a bin or
// a timestamp does not turn back into one.
func (Encoding) FromJSON(text []byte) (codec.Raw, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return AppendNil(nil), nil
	}
	raw, err := fromJSON(text)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	if err := CheckAll(raw, codec.Limits{}); err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return raw, nil
}

// open is an array or object whose end has not come.
type open struct {
	at     int // of its header, one byte until the count is known
	values int // elements, or keys and values
	object bool
}

func fromJSON(text []byte) (codec.Raw, error) {
	lim := codec.Limits{}.WithDefaults()
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	out := make([]byte, 0, len(text))
	var stack []open
	for first := true; first || len(stack) > 0; first = false {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, err
		}
		if d, is := tok.(json.Delim); is && (d == ']' || d == '}') {
			o := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			out = setCount(out, o)
			continue
		}
		if n := len(stack); n > 0 {
			stack[n-1].values++
		}
		switch v := tok.(type) {
		case nil:
			out = AppendNil(out)
		case bool:
			out = AppendBool(out, v)
		case string:
			out = AppendString(out, v)
		case json.Number:
			if out, err = appendNumber(out, v.String()); err != nil {
				return nil, err
			}
		case json.Delim:
			if len(stack) == lim.Depth {
				return nil, fmt.Errorf("%w: limit %d", codec.ErrDepth, lim.Depth)
			}
			stack = append(stack, open{at: len(out), object: v == '{'})
			out = append(out, 0)
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: more text after the value", codec.ErrTrailing)
	}
	return out, nil
}

// setCount writes the header of a closed container over its one-byte place,
// shifting what follows when the count needs more.
func setCount(out []byte, o open) []byte {
	var header []byte
	var room [5]byte
	if o.object {
		header = AppendMap(room[:0], o.values/2)
	} else {
		header = AppendArray(room[:0], o.values)
	}
	if extra := len(header) - 1; extra > 0 {
		out = append(out, room[:extra]...)
		copy(out[o.at+len(header):], out[o.at+1:len(out)-extra])
	}
	copy(out[o.at:], header)
	return out
}

func appendNumber(out []byte, text string) ([]byte, error) {
	if !strings.ContainsAny(text, ".eE") {
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return AppendInt(out, v), nil
		}
		if v, err := strconv.ParseUint(text, 10, 64); err == nil {
			return AppendUint(out, v), nil
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(v, 0) {
		return nil, fmt.Errorf("number %.40s… does not fit", text)
	}
	return AppendFloat(out, v), nil
}
