package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// ErrTarget means that what was given to [Encoding.Unmarshal] cannot be
// decoded into: it is no pointer, or a nil one.
var ErrTarget = errors.New("decode target is not a pointer")

// maxDecoded bounds, in bytes, what a value that is decoded into anys may take
// in memory, by an estimate.
const maxDecoded = 256 << 20

// Encoding is JSON as a [codec.Encoding], by the rules of encoding/json for Go
// values. The zero value is ready and safe for concurrent use.
type Encoding struct{}

var _ codec.Encoding = Encoding{}

var null = codec.Raw("null")

// Marshal encodes v, compact, without the escapes that are meant for HTML. A
// [codec.Raw] is checked and returned as it is, not copied; an empty one is
// null. To put encoded JSON inside of a value use [json.RawMessage]. The result
// is checked against the default limits, so that whatever Marshal returns a
// peer with the same limits takes.
func (Encoding) Marshal(v any) (codec.Raw, error) {
	switch v := v.(type) {
	case nil:
		return bytes.Clone(null), nil
	case codec.Raw:
		if len(v) == 0 {
			return bytes.Clone(null), nil
		}
		if err := Check(v, codec.Limits{}); err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		return v, nil
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	raw := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	if err := Check(raw, codec.Limits{}); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return raw, nil
}

// Unmarshal decodes raw into the pointer out. A nil or empty raw is null. Raw
// is checked against the default limits before anything is decoded; a nil out
// is all that this does. A *[codec.Raw] gets a copy.
//
// A value that may take more than 256 MiB once decoded into an any, a
// map[string]any or a []any is [codec.ErrElements].
func (Encoding) Unmarshal(raw codec.Raw, out any) error {
	if len(raw) == 0 {
		raw = null
	}
	s := newScanner(raw, codec.Limits{})
	s.Space()
	if f := s.Value(0); f != jsonwalk.OK {
		return fmt.Errorf("decode: %w", s.err(f))
	}
	if err := s.end(); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *codec.Raw:
		if out == nil {
			return ErrTarget
		}
		*out = bytes.Clone(raw)
		return nil
	case *any, *map[string]any, *[]any:
		// An object of few keys takes one group of a map, an element an any.
		if size := s.Maps*320 + (s.max-s.Left)*32; size > maxDecoded {
			return &codec.FrameError{
				Err: codec.ErrElements, Offset: -1, Bytes: evidence(raw),
				Detail: fmt.Sprintf("about %d MiB once decoded, limit %d", size>>20, maxDecoded>>20),
			}
		}
	}
	err := json.Unmarshal(raw, out)
	var invalid *json.InvalidUnmarshalError
	if errors.As(err, &invalid) {
		return fmt.Errorf("%w: %T", ErrTarget, out)
	}
	if err != nil {
		return fmt.Errorf("decode into %T: %w", out, err)
	}
	return nil
}

// ToJSON returns raw without the white space around its values. Raw is checked
// against the default limits first.
func (Encoding) ToJSON(raw codec.Raw) ([]byte, error) {
	if len(raw) == 0 {
		return bytes.Clone(null), nil
	}
	out, err := compact(raw)
	if err != nil {
		return nil, fmt.Errorf("render as JSON: %w", err)
	}
	return out, nil
}

// FromJSON is ToJSON the other way round: one JSON value, checked and without
// white space; empty text is null.
func (Encoding) FromJSON(text []byte) (codec.Raw, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return bytes.Clone(null), nil
	}
	out, err := compact(text)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return out, nil
}

func compact(text []byte) ([]byte, error) {
	s := newScanner(text, codec.Limits{})
	s.Space()
	if f := s.Value(0); f != jsonwalk.OK {
		return nil, s.err(f)
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	if s.Blanks == 0 {
		return bytes.Clone(text), nil
	}
	var out bytes.Buffer
	out.Grow(len(text) - s.Blanks)
	if err := json.Compact(&out, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Walk implements [codec.Encoding]. Bytes of a string that are not UTF-8 are told
// as they stand there; a surrogate without its partner is told in three bytes,
// which are not UTF-8 either.
func (Encoding) Walk(raw codec.Raw, v codec.Visitor) error {
	if len(raw) == 0 {
		return nil
	}
	if err := Check(raw, codec.Limits{}); err != nil {
		return fmt.Errorf("walk: %w", err)
	}
	jsonwalk.Visit(raw, v)
	return nil
}
