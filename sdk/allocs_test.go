package sdk_test

import (
	"context"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// TestAllocationsOfARequest freezes what the host's side and its bare caller set
// aside for an echo of 100 bytes. What the runtime does beside it can only add, so
// that the least of some tries is exact.
func TestAllocationsOfARequest(t *testing.T) {
	if testing.CoverMode() != "" || leaktest.Race {
		t.Skip("coverage and the race detector set memory aside as well")
	}
	for _, row := range []struct {
		method string
		want   float64
	}{{"inline", 2}, {"goroutine", 5}} {
		mine, theirs := counterpart.Pair(t)
		done := counterpart.Serve(context.Background(), benchServer(), theirs)
		p := counterpart.Open(t, mine)
		p.LeaveAtEnd(done)
		params := p.Raw(make([]byte, 100))
		sess := native.Open(codec.Limits{})
		var buf []byte
		id := uint32(1)
		echo := func() {
			id++
			buf, _ = sess.Append(buf[:0], &codec.Message{Kind: codec.Request, ID: id, Method: row.method, Params: params})
			p.Write(buf)
			for p.Take().Kind != codec.Response {
			}
		}
		least := testing.AllocsPerRun(500, echo)
		for range 20 {
			if least <= row.want {
				break
			}
			least = min(least, testing.AllocsPerRun(500, echo))
		}
		if least != row.want {
			t.Errorf("%s: %v allocations a request, want %v", row.method, least, row.want)
		}
	}
}
