package mpack

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec"
)

// maxDecoded bounds, in bytes, what a value that is decoded into anys or maps
// may take in memory, by an estimate: the worst bytes blow up a hundredfold.
const maxDecoded = 256 << 20

// ErrTarget means that what was given to [Encoding.Unmarshal] cannot be
// decoded into: it is no pointer, or a nil one.
var ErrTarget = errors.New("decode target is not a pointer")

// ErrUndecodable means that decoding a well-formed value into its target
// panicked, in the library or in a decoding method of the target's type. The
// library does that for a map that names a field of type any twice.
var ErrUndecodable = errors.New("value cannot be decoded")

// Encoding is MessagePack as a [codec.Encoding]; see the package's doc for
// how Go values map onto it. The zero value is ready and safe for concurrent
// use.
type Encoding struct{}

var _ codec.Encoding = Encoding{}

// Marshal encodes v. A [codec.Raw] is checked and returned as it is, not
// copied; an empty one is nil. The result is checked against the default
// limits, so that whatever Marshal returns a peer with the same limits takes.
func (Encoding) Marshal(v any) (codec.Raw, error) {
	switch v := v.(type) {
	case nil:
		return AppendNil(nil), nil
	case codec.Raw:
		if len(v) == 0 {
			return AppendNil(nil), nil
		}
		if err := CheckAll(v, codec.Limits{}); err != nil {
			return nil, fmt.Errorf("encode: %w", err)
		}
		return v, nil
	case bool:
		return AppendBool(nil, v), nil
	case int:
		return AppendInt(nil, int64(v)), nil
	}
	e := encoders.Get().(*encoder)
	e.out = e.out[:0]
	e.enc.ResetWriter(e)
	if err := e.enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err) // e is thrown away
	}
	if err := CheckAll(e.out, codec.Limits{}); err != nil {
		return nil, fmt.Errorf("encode %T: %w", v, err)
	}
	raw := bytes.Clone(e.out)
	if cap(e.out) <= 64<<10 {
		encoders.Put(e)
	}
	return raw, nil
}

// Unmarshal decodes raw into the pointer out. A nil or empty raw is nil. Raw
// is checked against the default limits before anything is decoded; a nil out
// is all that this does. A *[codec.Raw] gets a copy.
//
// A value of so many elements and maps that it may take more than 256 MiB
// once decoded is [codec.ErrElements] for a target that holds an any or a map.
// Other targets are bounded by the default number of elements times the size
// of their Go type.
func (Encoding) Unmarshal(raw codec.Raw, out any) error {
	if len(raw) == 0 {
		raw = nilRaw
	}
	c := NewCursor(raw, codec.Limits{})
	if !c.Skip() || !c.End() {
		return fmt.Errorf("decode: %w", c.Err(""))
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
	case *any:
		if out == nil {
			return ErrTarget
		}
		if *out == nil { // else the library decodes into what it points to
			v, err := c.generic()
			*out = v
			return err
		}
	case *map[string]any:
		if out == nil {
			return ErrTarget
		}
		return genericInto(&c, out)
	case *[]any:
		if out == nil {
			return ErrTarget
		}
		return genericInto(&c, out)
	}
	v := reflect.ValueOf(out)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%w: %T", ErrTarget, out)
	}
	if heavy(v.Type()) {
		if err := c.affordable(); err != nil {
			return err
		}
	}
	d := decoders.Get().(*decoder)
	d.reset(raw, c.exts > 0)
	if err := d.decode(out); err != nil {
		// The library may keep recording into its buffer after an error, so
		// this decoder is not used again.
		return fmt.Errorf("decode into %T: %w", out, err)
	}
	d.reset(nil, false)
	decoders.Put(d)
	return nil
}

var nilRaw = codec.Raw{0xc0}

func genericInto[T any](c *Cursor, out *T) error {
	v, err := c.generic()
	if err != nil {
		return err
	}
	if v == nil {
		var zero T
		*out = zero
		return nil
	}
	t, is := v.(T)
	if !is {
		return fmt.Errorf("decode into %T: %T found", out, v)
	}
	*out = t
	return nil
}

// encoder is the library's encoder with the slice it writes to.
type encoder struct {
	enc *msgpack.Encoder
	out []byte
}

func (e *encoder) Write(p []byte) (int, error) {
	e.out = append(e.out, p...)
	return len(p), nil
}

func (e *encoder) WriteByte(c byte) error {
	e.out = append(e.out, c)
	return nil
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = msgpack.NewEncoder(e)
	e.enc.UseCompactInts(true)
	e.enc.SetCustomStructTag("json")
	return e
}}

// decoder is the library's decoder with the source it reads from.
type decoder struct {
	dec *msgpack.Decoder
	src source
}

var decoders = sync.Pool{New: func() any {
	d := new(decoder)
	d.dec = msgpack.NewDecoder(&d.src)
	d.dec.SetCustomStructTag("json")
	return d
}}

func (d *decoder) decode(out any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrUndecodable, r)
		}
	}()
	return d.dec.Decode(out)
}

func (d *decoder) reset(raw []byte, exts bool) {
	d.src = source{b: raw, guard: exts}
	d.dec.ResetReader(&d.src)
	d.dec.SetMapDecoder(d.decodeMap)
}

// decodeMap is called by the library for a map decoded into an any.
func (d *decoder) decodeMap(*msgpack.Decoder) (any, error) {
	w := walker{b: d.src.b, pos: d.src.pos}
	v := w.build()
	d.src.pos = w.pos
	return v, nil
}
