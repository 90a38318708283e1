package mpack

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
)

// Walk implements [codec.Encoding]. A str and a bin are texts, as either may be
// decoded into a string; an extension is not.
func (Encoding) Walk(raw codec.Raw, v codec.Visitor) error {
	if len(raw) == 0 {
		return nil
	}
	c := NewCursor(raw, codec.Limits{})
	if !c.Skip() || !c.End() {
		return fmt.Errorf("walk: %w", c.Err(""))
	}
	w := walker{b: raw}
	w.tell(v)
	return nil
}

// tell tells v of the next value. It recurses, within the depth that was
// checked.
func (w *walker) tell(v codec.Visitor) {
	switch kinds[w.b[w.pos]] {
	case kindStr, kindBin:
		_, payload := w.payload()
		v.Text(payload)
	case kindArray:
		v.Open(false)
		for range w.open() {
			w.tell(v)
		}
		v.Close()
	case kindMap:
		v.Open(true)
		for range w.open() {
			if k := kinds[w.b[w.pos]]; k == kindStr || k == kindBin {
				_, payload := w.payload()
				v.Key(payload)
			} else {
				w.tell(v)
				v.Key(nil)
			}
			w.tell(v)
		}
		v.Close()
	default:
		w.skip()
		v.Other()
	}
}
