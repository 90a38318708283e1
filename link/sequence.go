package link

import (
	"iter"

	"github.com/hostsup/hostsup/codec"
)

// Sequence sends a sequence as the result: item by item if the peer takes items, else as
// the list of all. It returns the answer that ends them.
func (r *Incoming) Sequence(e codec.Encoding, items iter.Seq2[any, error]) (codec.Raw, error) {
	if !r.Streams() {
		all := []any{}
		for v, err := range items {
			if err != nil {
				return nil, err
			}
			all = append(all, v)
		}
		return e.Marshal(all)
	}
	var failed error
	send := func(v any, err error) error {
		var raw codec.Raw
		if err == nil {
			raw, err = e.Marshal(v)
		}
		if err != nil {
			return err
		}
		return r.Send(raw)
	}
	list := func(all []codec.Raw) (raw codec.Raw) {
		if all == nil {
			all = []codec.Raw{} // an empty list; nil is encoded as the encoding's nil
		}
		raw, failed = e.Marshal(all)
		return raw
	}
	result, _ := r.Items(list, func() *codec.Error {
		for v, err := range items {
			if failed = send(v, err); failed != nil {
				return new(codec.Error) // failed says it
			}
		}
		return nil
	})
	return result, failed
}
