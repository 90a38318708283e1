package actors

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/link/linktest"
)

// mirror is a wire whose peer answers every request within the write, on the
// goroutine that writes: no scheduler, timer or kernel has a part in a call. Ids are
// given in order.
type mirror struct {
	*linktest.Wire
	c      *conn
	answer codec.Message
	tried  func() // at each write
}

func (w *mirror) TryWrite(p []byte) (int, error) {
	w.answer.ID++
	if w.tried != nil {
		w.tried()
	}
	return len(p), w.c.Receive(&w.answer)
}

// mirrored returns the handle of a host that runs and answers result at once.
func mirrored(t testing.TB, result codec.Raw) (*Ref, *mirror) {
	t.Helper()
	ref := fakeRef()
	session := native.Open(codec.Limits{})
	linktest.Shake(t, session)
	w := &mirror{Wire: linktest.NewWire(), answer: codec.Message{Kind: codec.Response, ID: 1, Result: result, Size: len(result) + 4}}
	w.c = opened(t, ref, session, w, codec.CapAll)
	ref.conn.Store(w.c)
	return ref, w
}

// TestAllocationsOfACall freezes what a call sets aside between the caller and
// the wire, and back: a change of the way of a call must not add to it.
func TestAllocationsOfACall(t *testing.T) {
	if testing.CoverMode() != "" || leaktest.Race {
		t.Skip("coverage and the race detector set memory aside as well")
	}
	params := make([]byte, 100)
	raw := append(codec.Raw{0xc4, 100}, params...)
	ref, _ := mirrored(t, raw)
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

// TestWayOfACall holds which functions of this module lie between a caller and the
// write. With supervisor.Host.Call before them, and behind them TryWrite of a real wire,
// which the mirror stands for, they are eight.
func TestWayOfACall(t *testing.T) {
	ref, w := mirrored(t, nil)
	var way []string
	w.tried = func() {
		pcs := make([]uintptr, 50)
		frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)]) // without this one and the wire
		for more := true; more; {
			var f runtime.Frame
			f, more = frames.Next()
			if name, ours := strings.CutPrefix(f.Function, "github.com/hostsup/hostsup/"); ours && !strings.Contains(name, ".Test") {
				way = append(way, name)
			}
		}
	}
	if err := ref.Call(t.Context(), "echo", nil, nil); err != nil {
		t.Fatal(err)
	}
	slices.Reverse(way)
	const want = "actors.(*Ref).Call actors.(*Ref).open actors.(*Ref).route actors.(*conn).send link.(*Conn).Send link.(*outbox).write"
	if got := strings.Join(way, " "); got != want {
		t.Errorf("the way of a call is\n%s\nwant\n%s", got, want)
	}
}

// BenchmarkCallMirrored is the way of a call without a kernel or another goroutine.
func BenchmarkCallMirrored(b *testing.B) {
	params := make([]byte, 100)
	raw := append(codec.Raw{0xc4, 100}, params...)
	ref, _ := mirrored(b, raw)
	b.ReportAllocs()
	for b.Loop() {
		if err := ref.Call(context.Background(), "echo", raw, nil); err != nil {
			b.Fatal(err)
		}
	}
}
