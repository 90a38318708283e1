package sdk

import (
	"fmt"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
	"github.com/hostsup/hostsup/link"
)

// itemRoom is more than a message puts around an item or a list of them.
const itemRoom = 64

// send is what a handler sends items with.
func (h *handler) send(r *link.Incoming, item any) error {
	raw, err := encode(h.s.enc, item)
	if err != nil {
		return err
	}
	if len(raw) > h.s.opt.limits.Frame-itemRoom {
		return fmt.Errorf("item of %d bytes: %w", len(raw), codec.ErrTooLarge)
	}
	return r.Send(raw)
}

// list makes one array of items that are encoded already.
func list(items []codec.Raw) codec.Raw {
	size := 5
	for _, it := range items {
		size += max(len(it), 1)
	}
	out := mpack.AppendArray(make([]byte, 0, size), len(items))
	for _, it := range items {
		if len(it) == 0 {
			out = mpack.AppendNil(out)
			continue
		}
		out = append(out, it...)
	}
	return out
}
