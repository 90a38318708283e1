package link

import (
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/link/linktest"
)

// pouring is a wire that always has more to read.
type pouring struct{ *linktest.Wire }

func (pouring) Read(p []byte) (int, error) { return len(p), nil }

// TestSignsOfLife says which messages are such, and from where on the bytes of
// one are.
func TestSignsOfLife(t *testing.T) {
	for _, m := range []codec.Message{{Kind: codec.Response, ID: 7}, {Kind: codec.Ack, ID: 7}, {Kind: codec.Item, ID: 7}, {Kind: codec.Notification, ID: 7}} {
		if !isSign(&m) {
			t.Errorf("%v of a request is no sign of life", m.Kind)
		}
	}
	for _, m := range []codec.Message{{Kind: codec.Notification}, {Kind: codec.Request, ID: 7}, {Kind: codec.Cancel, ID: 7}, {Kind: codec.Credit, ID: 7}} {
		if isSign(&m) {
			t.Errorf("%v of a host's own is a sign of life", m.Kind)
		}
	}
	c := newTest(new(owner), native.Open(codec.Limits{}), pouring{linktest.NewWire()}, 0)
	in := &input{c: c}
	read := func(n int) bool {
		t.Helper()
		before := c.sign.Load()
		if _, err := in.Read(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		return c.sign.Load() != before
	}
	for i, row := range []struct {
		bytes int
		sign  bool
	}{{longMessage - 1, false}, {1, false}, {1, true}, {1, true}} {
		if got := read(row.bytes); got != row.sign {
			t.Errorf("read %d: a sign of life: %v", i, got)
		}
	}
	in.partial = 0 // a whole message was read
	if read(longMessage) {
		t.Error("the first bytes of a message are a sign of life")
	}
}
