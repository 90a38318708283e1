//go:build !hostsup_posix

package sandbox

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/hostsup/hostsup/internal/sys"
)

func TestReportsCrossTheWire(t *testing.T) {
	for _, r := range []report{
		{kind: reportReady},
		{kind: reportFailed, errno: 2},
		{kind: reportExit, exit: sys.Exit{Code: 255}},
		{kind: reportExit, exit: sys.Exit{Code: -1, Signal: 11, Core: true, Usage: sys.Usage{User: 1 << 40, System: 3, MaxRSS: 1 << 35}}},
	} {
		b := r.encode()
		if len(b) != reportSize || decodeReport(b) != r {
			t.Errorf("%+v became %+v", r, decodeReport(b))
		}
	}
}

var orders = []order{
	{},
	{path: "/bin/sh", dir: "/tmp", args: []string{"sh", "-c", ""}, env: []string{"A=ä", ""}, files: 3, terminal: true},
}

func TestOrdersCrossTheWire(t *testing.T) {
	for _, o := range orders {
		b := o.encode()
		got, err := decodeOrder(b)
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
		for n := range b {
			if _, err := decodeOrder(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are enough", n, len(b))
			}
		}
		if _, err := decodeOrder(append(b, 0)); err == nil {
			t.Error("one byte more does not matter")
		}
	}
}

func FuzzDecodeOrder(f *testing.F) {
	for _, o := range orders {
		f.Add(o.encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeOrder(b)
		if err == nil && !bytes.Equal(o.encode(), b) {
			t.Errorf("%x is not %+v", b, o)
		}
	})
}
