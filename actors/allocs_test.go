package actors

import (
	"context"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/link/pending"
)

// mirror is a wire whose peer answers every request within the write, on the
// goroutine that writes: no scheduler, timer or kernel has a part in a call.
type mirror struct {
	*fakeWire
	c      *conn
	answer codec.Message
}

func (w *mirror) TryWrite(p []byte) (int, error) {
	w.c.received(&w.answer)
	return len(p), w.c.answer(&w.answer)
}

// mirrored returns the handle of a host that runs and answers result at once.
func mirrored(t testing.TB, result codec.Raw) *Ref {
	t.Helper()
	ref := fakeRef()
	session := native.Open(codec.Limits{})
	shake(t, session)
	w := &mirror{fakeWire: newFakeWire(), answer: codec.Message{Kind: codec.Response, Result: result, Size: len(result) + 4}}
	w.c = newConn(ref, 1, session, w, 2)
	w.c.agree(codec.CapAll, true)
	taken := w.c.out.taken
	w.c.out.taken = func(m *codec.Message) pending.Effect {
		w.answer.ID = m.ID
		return taken(m)
	}
	ref.conn.Store(w.c)
	return ref
}

// TestAllocationsOfACall freezes what a call sets aside between the caller and
// the wire, and back: a change of the way of a call must not add to it.
func TestAllocationsOfACall(t *testing.T) {
	if testing.CoverMode() != "" || leaktest.Race {
		t.Skip("coverage and the race detector set memory aside as well")
	}
	params := make([]byte, 100)
	raw := append(codec.Raw{0xc4, 100}, params...)
	ref := mirrored(t, raw)
	ctx := context.Background()
	for _, row := range []struct {
		name string
		call func() error
		want float64
	}{
		{"raw", func() error { var out codec.Raw; return ref.Call(ctx, "echo", raw, &out) }, 5},
		{"bytes", func() error { var out []byte; return ref.Call(ctx, "echo", params, &out) }, 9},
		{"nothing", func() error { return ref.Call(ctx, "echo", nil, nil) }, 4},
		{"idempotent", func() error { return ref.Call(ctx, "echo", raw, nil, Idempotent()) }, 4},
		{"pending", func() error {
			p, err := ref.Go(ctx, "echo", raw)
			if err != nil {
				return err
			}
			return p.Result(nil)
		}, 5},
	} {
		var err error
		got := testing.AllocsPerRun(1000, func() { err = row.call() })
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if got != row.want {
			t.Errorf("%s: %v allocations a call, want %v", row.name, got, row.want)
		}
	}
	if n := ref.pending.Load(); n != 0 {
		t.Errorf("%d calls are pending", n)
	}
}

// BenchmarkCallMirrored is the way of a call without a kernel or another goroutine.
func BenchmarkCallMirrored(b *testing.B) {
	params := make([]byte, 100)
	raw := append(codec.Raw{0xc4, 100}, params...)
	ref := mirrored(b, raw)
	b.ReportAllocs()
	for b.Loop() {
		if err := ref.Call(context.Background(), "echo", raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}
