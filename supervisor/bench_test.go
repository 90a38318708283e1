package supervisor_test

import (
	"context"
	"os"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/supervisor"
)

func startDemo(b testing.TB) *supervisor.Host {
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "demo", Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
	})}})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = sup.Stop(context.Background()) })
	if err := sup.Ready(context.Background()); err != nil {
		b.Fatal(err)
	}
	h, err := sup.Host("demo")
	if err != nil {
		b.Fatal(err)
	}
	return h
}

// BenchmarkCall is the echo of 100 bytes, one at a time and 64 at once.
func BenchmarkCall(b *testing.B) {
	h := startDemo(b)
	in := make([]byte, 100)
	b.Run("sequential", func(b *testing.B) {
		b.ReportAllocs()
		var out codec.Raw
		for b.Loop() {
			if err := h.Call(context.Background(), "echo", in, &out); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("inflight=64", func(b *testing.B) {
		b.ReportAllocs()
		var wg sync.WaitGroup
		next := make(chan int, 1024)
		for range 64 {
			wg.Go(func() {
				var out codec.Raw
				for n := range next {
					for range n {
						if err := h.Call(context.Background(), "echo", in, &out); err != nil {
							b.Error(err)
							return
						}
					}
				}
			})
		}
		for left := b.N; left > 0; left -= 100 {
			next <- min(left, 100)
		}
		close(next)
		wg.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
	})
}
