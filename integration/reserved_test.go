//go:build linux

package integration

import (
	"errors"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// TestFarewellIsTheSupervisorsOwn calls the methods by which a connection is
// opened and ended. A host that was told to shut down would refuse everybody
// while it runs.
func TestFarewellIsTheSupervisorsOwn(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts"))
	for _, method := range []string{"shutdown", "initialize", "initialized"} {
		_, gone := h.Go(ctx(t), method, nil)
		var streamed error
		for _, err := range h.Stream(ctx(t), method, nil) {
			streamed = err
		}
		for what, err := range map[string]error{
			"call": h.Call(ctx(t), method, nil, nil), "notify": h.Notify(ctx(t), method, nil), "go": gone, "stream": streamed,
		} {
			if !errors.Is(err, supervisor.ErrReserved) {
				t.Errorf("%s %s: %v", what, method, err)
			}
		}
		echoes(t, h)
	}
	if s := h.Status(); s.Life != 1 {
		t.Errorf("it is in life %d", s.Life)
	}
}

// TestMessagesThatTheWireCannotCarry says so to the caller and leaves the host
// alone.
func TestMessagesThatTheWireCannotCarry(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("ts", func(s *supervisor.HostSpec) { s.Limits.Frame = 64 << 10 }))
	for name, row := range map[string]struct {
		method string
		in     any
		is     error
	}{
		"a method of 1,025 bytes":   {strings.Repeat("m", 1025), nil, codec.ErrString},
		"a method that is no UTF-8": {"m\xff", nil, codec.ErrShape},
		"a method without a name":   {"", nil, codec.ErrShape},
		"params over the limit":     {"echo", strings.Repeat("x", 65<<10), codec.ErrTooLarge},
	} {
		for what, err := range map[string]error{
			"call": h.Call(ctx(t), row.method, row.in, nil), "notify": h.Notify(ctx(t), row.method, row.in),
		} {
			if !errors.Is(err, supervisor.ErrUnsendable) || !errors.Is(err, row.is) || len(err.Error()) > 512 {
				t.Errorf("%s of %s: %v", what, name, err)
			}
		}
	}
	echoes(t, h)
}
