package files

import (
	"bytes"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FuzzFrame: no frame ends a worker or the server, and what is read is what was
// written.
func FuzzFrame(f *testing.F) {
	var b bytes.Buffer
	if err := writeFrame(&b, 7, frameRequest, []byte(wire.MethodFSClose), []byte{0}, []byte(`{"handleId":"h"}`)); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte("\x01\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xffr"))
	f.Add(b.Bytes()[:frameHead+2])
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.NewReader(b)
		n, kind, body, err := readFrame(in)
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := writeFrame(&again, n, kind, body); err != nil {
			t.Fatal(err)
		}
		if got := b[:len(b)-in.Len()]; !bytes.Equal(got, again.Bytes()) {
			t.Errorf("%q became %q", got, again.Bytes())
		}
		_, _ = frame{kind, body}.result()
		for _, name := range Methods() {
			_, _ = Decode(name, body, false)
		}
	})
}
