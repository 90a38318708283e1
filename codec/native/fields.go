package native

import (
	"fmt"
	"math"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// fields walks over a map of the handshake. The first value that does not fit
// its key ends the walk and is kept in err; nil stands for a key that is
// absent.
type fields struct {
	c    mpack.Cursor
	left int
	key  string
	err  error
	of   string
}

func readFields(raw codec.Raw, lim codec.Limits, of string) (*fields, error) {
	f := &fields{c: mpack.NewCursor(raw, lim), of: of}
	if len(raw) == 0 || f.c.Nil() {
		return f, nil
	}
	n, valid := f.c.Map()
	if !valid {
		return nil, f.c.Err(of)
	}
	f.left = n
	return f, nil
}

// next moves to the next key.
func (f *fields) next() bool {
	if f.left == 0 || f.err != nil {
		return false
	}
	f.left--
	key, valid := f.c.Str(math.MaxInt32)
	if !valid {
		f.err = f.c.Err(f.of + ": key")
		return false
	}
	f.key = string(key)
	return true
}

func (f *fields) fail() {
	if f.err == nil {
		f.err = f.c.Err(fmt.Sprintf("%s: %.64s", f.of, f.key))
	}
}

func (f *fields) skip() {
	if !f.c.Skip() {
		f.fail()
	}
}

func (f *fields) raw() codec.Raw {
	raw, valid := f.c.Value()
	if !valid {
		f.fail()
	}
	return raw
}

func (f *fields) text() string {
	if f.c.Nil() {
		return ""
	}
	if f.c.Peek() != "str" {
		if _, valid := f.c.Str(0); !valid {
			f.fail()
		}
		return ""
	}
	return text(&f.c, maxName)
}

func (f *fields) uint() uint64 {
	if f.c.Nil() {
		return 0
	}
	v, valid := f.c.Uint(math.MaxUint64)
	if !valid {
		f.fail()
	}
	return v
}

// caps takes an array of names; those not known here are ignored.
func (f *fields) caps() codec.Caps {
	if f.c.Nil() {
		return 0
	}
	n, valid := f.c.Array()
	if !valid {
		f.fail()
		return 0
	}
	var caps codec.Caps
	for range n {
		name, valid := f.c.Str(math.MaxInt32)
		if !valid {
			f.fail()
			return 0
		}
		for i, known := range capabilities {
			if known == string(name) {
				caps |= 1 << i
			}
		}
	}
	f.c.Close()
	return caps
}
