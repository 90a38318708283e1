package dscode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// encoding is JSON as a [codec.Encoding].
type encoding struct{}

// check passes one value with nothing behind it, within the default limits.
func check(raw []byte) error {
	s := scanner{b: raw, lim: codec.Limits{}.WithDefaults()}
	if err := s.utf8(); err != nil {
		return err
	}
	s.space()
	if err := s.value(0); err != nil {
		return err
	}
	return s.end()
}

func (encoding) Marshal(v any) (codec.Raw, error) {
	switch v := v.(type) {
	case nil:
		return codec.Raw("null"), nil
	case codec.Raw:
		if len(v) == 0 {
			return codec.Raw("null"), nil
		}
		if err := check(v); err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		return v, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	raw := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if err := check(raw); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	return raw, nil
}

func (encoding) Unmarshal(raw codec.Raw, out any) error {
	if len(raw) == 0 {
		raw = codec.Raw("null")
	}
	if err := check(raw); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *codec.Raw:
		if out == nil {
			return errTarget
		}
		*out = bytes.Clone(raw)
		return nil
	}
	if err := json.Unmarshal(raw, out); err != nil {
		return fmt.Errorf("decode into %T: %w", out, err)
	}
	return nil
}

var errTarget = errors.New("decode target is a nil pointer")

func (encoding) ToJSON(raw codec.Raw) ([]byte, error) {
	if len(raw) == 0 {
		return []byte("null"), nil
	}
	if err := check(raw); err != nil {
		return nil, err
	}
	return bytes.Clone(raw), nil
}

func (encoding) FromJSON(text []byte) (codec.Raw, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSpace(text)), nil
}
