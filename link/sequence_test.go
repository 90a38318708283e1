package link

import (
	"fmt"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/mpack"
)

// sequence answers "sequence" with the numbers below the parameter.
func sequence(m *codec.Message) Handler {
	var n int
	if m.Method != "sequence" || (mpack.Encoding{}).Unmarshal(m.Params, &n) != nil {
		return nil
	}
	return HandlerFunc(func(r *Incoming) (codec.Raw, *codec.Error) {
		raw, err := r.Sequence(mpack.Encoding{}, func(yield func(any, error) bool) {
			for i := 0; i < n && yield(i, nil); i++ {
			}
		})
		if err != nil {
			return nil, &codec.Error{Name: "Stopped", Message: err.Error()}
		}
		return raw, nil
	})
}

// A caller that allows no items gets a list, which may be empty.
func TestSequenceWithoutCreditIsAList(t *testing.T) {
	a, _ := pair(t)
	for n, want := range []string{"[]", "[0]", "[0 1]"} {
		var got []int
		raw, err := a.call(t, "sequence", mpack.AppendUint(nil, uint64(n))).Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := (mpack.Encoding{}).Unmarshal(raw, &got); err != nil || got == nil || fmt.Sprint(got) != want {
			t.Errorf("%x: %v, %v; want %s", raw, got, err, want)
		}
	}
}
