package sdk

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// invalidParams is the answer to params that do not decode as a t: where they
// do not fit and what would, or failing that what the decoder said.
func invalidParams(enc codec.Encoding, params codec.Raw, t reflect.Type, cause error) *codec.Error {
	e := &codec.Error{Name: codec.NameInvalidParams}
	var v any
	if enc.Unmarshal(params, &v) == nil {
		e.Message = misfit("params", v, t, 0)
	}
	if e.Message == "" {
		e.Message = fmt.Sprintf("params: want %v: %v", t, cause)
	}
	return e
}

// maxTypeDepth bounds the walks through types that may be recursive.
const maxTypeDepth = 32

// misfit finds the first place in v that cannot be decoded as a t, as
// "params.list[2]: want int, got the string \"x\""; "" when it sees none.
func misfit(path string, v any, t reflect.Type, depth int) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if v == nil || depth > maxTypeDepth || decodesItself(t) {
		return ""
	}
	got := reflect.ValueOf(v)
	fits := true
	switch {
	case isIntegerKind(t):
		fits = isInteger(got) && inRange(got, t)
	case isBytes(t):
		fits = isBytes(got.Type()) || got.Kind() == reflect.String || got.Kind() == reflect.Slice
	}
	switch t.Kind() {
	case reflect.Bool:
		fits = got.Kind() == reflect.Bool
	case reflect.Float32, reflect.Float64:
		fits = isInteger(got) || got.CanFloat()
	case reflect.String:
		fits = got.Kind() == reflect.String || isBytes(got.Type())
	case reflect.Slice, reflect.Array:
		if isBytes(t) {
			break
		}
		if fits = got.Kind() == reflect.Slice && !isBytes(got.Type()); fits {
			for i := range got.Len() {
				if m := misfit(path+"["+strconv.Itoa(i)+"]", got.Index(i).Interface(), t.Elem(), depth+1); m != "" {
					return m
				}
			}
		}
	case reflect.Map:
		if fits = got.Kind() == reflect.Map; fits {
			for it := got.MapRange(); it.Next(); {
				if m := misfit(path+"."+fmt.Sprint(it.Key()), it.Value().Interface(), t.Elem(), depth+1); m != "" {
					return m
				}
			}
		}
	case reflect.Struct:
		// A list may stand for the fields in order; that is left to the decoder.
		if fits = got.Kind() == reflect.Map || got.Kind() == reflect.Slice && !isBytes(got.Type()); fits && got.Kind() == reflect.Map {
			return misfitField(path, got, t, depth)
		}
	}
	if fits {
		return ""
	}
	return fmt.Sprintf("%s: want %v, got %s", path, t, describe(got))
}

// cutsIntegers says whether the decoder would cut an integer on the wire to
// fit somewhere in a t, which it does without a word.
func cutsIntegers(t reflect.Type, depth int) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if depth > maxTypeDepth || decodesItself(t) || isBytes(t) {
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return cutsIntegers(t.Elem(), depth+1)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.IsExported() && !f.Anonymous && cutsIntegers(f.Type, depth+1) {
				return true
			}
		}
		return false
	}
	// What comes is 64 bits wide and signed, but for numbers nobody uses.
	return isIntegerKind(t) && t.Kind() != reflect.Int64 && (t.Kind() != reflect.Int || t.Bits() < 64)
}

func misfitField(path string, m reflect.Value, t reflect.Type, depth int) string {
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name := f.Name
		for _, tag := range []string{"json", "msgpack"} { // the latter wins
			if n, _, _ := strings.Cut(f.Tag.Get(tag), ","); n != "" && n != "-" {
				name = n
			}
		}
		if m.Type().Key().Kind() != reflect.String {
			return ""
		}
		v := m.MapIndex(reflect.ValueOf(name).Convert(m.Type().Key()))
		if !v.IsValid() {
			continue
		}
		if s := misfit(path+"."+name, v.Interface(), f.Type, depth+1); s != "" {
			return s
		}
	}
	return ""
}

// decodesItself says whether values of t choose their own shape on the wire.
func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t == reflect.TypeFor[codec.Raw]() || t.Kind() == reflect.Interface ||
		p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) ||
		p.Implements(reflect.TypeFor[encoding.BinaryUnmarshaler]()) ||
		hasDecodeMsgpack(p) || p.Implements(reflect.TypeFor[interface{ UnmarshalMsgpack([]byte) error }]())
}

func hasDecodeMsgpack(t reflect.Type) bool {
	_, ok := t.MethodByName("DecodeMsgpack")
	return ok
}

func isBytes(t reflect.Type) bool {
	return (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
}

func isIntegerKind(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr
}

func isInteger(v reflect.Value) bool { return v.CanInt() || v.CanUint() }

// inRange says whether the integer v can be kept in a t.
func inRange(v reflect.Value, t reflect.Type) bool {
	to := reflect.Zero(t)
	switch {
	case v.CanInt() && to.CanInt():
		return !to.OverflowInt(v.Int())
	case v.CanUint() && to.CanUint():
		return !to.OverflowUint(v.Uint())
	case v.CanInt():
		return v.Int() >= 0 && !to.OverflowUint(uint64(v.Int()))
	default:
		return v.Uint() <= 1<<63-1 && !to.OverflowInt(int64(v.Uint()))
	}
}

// describe names a value from the wire for a person, without quoting much.
func describe(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Bool:
		return fmt.Sprintf("the boolean %v", v)
	case isInteger(v), v.CanFloat():
		return fmt.Sprintf("the number %v", v)
	case v.Kind() == reflect.String:
		s := v.String()
		if len(s) > 32 {
			return fmt.Sprintf("a string of %d bytes", len(s))
		}
		return fmt.Sprintf("the string %q", s)
	case isBytes(v.Type()):
		return fmt.Sprintf("%d bytes", v.Len())
	case v.Kind() == reflect.Slice:
		return fmt.Sprintf("a list of %d", v.Len())
	case v.Kind() == reflect.Map:
		return fmt.Sprintf("a map of %d", v.Len())
	}
	return v.Type().String()
}
