//go:build !hostsup_posix

package helper

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/hostsup/hostsup/internal/sys"
)

func TestReportsCrossTheWire(t *testing.T) {
	for _, r := range []Report{
		{Kind: ReportReady},
		{Kind: ReportFailed, Errno: 2},
		{Kind: ReportExit, Exit: sys.Exit{Code: 255}},
		{Kind: ReportExit, Exit: sys.Exit{Code: -1, Signal: 11, Core: true, Usage: sys.Usage{User: 1 << 40, System: 3, MaxRSS: 1 << 35}}},
	} {
		b := r.Encode()
		if len(b) != ReportSize || DecodeReport(b) != r {
			t.Errorf("%+v became %+v", r, DecodeReport(b))
		}
	}
}

var orders = []Order{
	{},
	{Path: "/bin/sh", Dir: "/tmp", Args: []string{"sh", "-c", ""}, Env: []string{"A=ä", ""}, Files: 3, Terminal: true},
}

func TestOrdersCrossTheWire(t *testing.T) {
	for _, o := range orders {
		b := o.Encode()
		got, err := DecodeOrder(b)
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Errorf("%+v became %+v, %v", o, got, err)
		}
		for n := range b {
			if _, err := DecodeOrder(b[:n]); err == nil {
				t.Errorf("%d of %d bytes were accepted", n, len(b))
			}
		}
		if _, err := DecodeOrder(append(b, 0)); err == nil {
			t.Error("an extra byte was accepted")
		}
	}
}

func FuzzDecodeOrder(f *testing.F) {
	for _, o := range orders {
		f.Add(o.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := DecodeOrder(b)
		if err == nil && !bytes.Equal(o.Encode(), b) {
			t.Errorf("%x is not %+v", b, o)
		}
	})
}
