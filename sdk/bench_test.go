package sdk_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/sdk"
	"github.com/hostsup/hostsup/sdk/internal/counterpart"
)

// BenchmarkEcho measures 100-byte echoes through a host in this process and in
// another, whose handler is inline or on a goroutine, one at a time and 64 in
// flight. The caller is bare: it neither keeps a table nor wakes callers.
func BenchmarkEcho(b *testing.B) {
	for _, where := range []string{"here", "process"} {
		for _, method := range []string{"inline", "goroutine"} {
			for _, flight := range []struct {
				name string
				n    int
			}{{"one", 1}, {"64", 64}} {
				b.Run(where+"/"+method+"/"+flight.name, func(b *testing.B) {
					p := benchHost(b, where)
					exchange(b, p, method, flight.n)
				})
			}
		}
	}
}

// benchServer is the host of the benchmarks.
func benchServer() *sdk.Server {
	s := newServer()
	s.HandleRaw("inline", echo, sdk.Inline())
	s.HandleRaw("goroutine", echo)
	return s
}

func benchHost(b *testing.B, where string) *counterpart.Peer {
	mine, theirs := counterpart.Pair(b)
	if where == "here" {
		done := counterpart.Serve(context.Background(), benchServer(), theirs)
		p := counterpart.Open(b, mine)
		b.Cleanup(func() {
			p.Goodbye()
			<-done
		})
		return p
	}
	f, err := theirs.File()
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	theirs.Close()
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envHost+"=bench", sdk.EnvFD+"=3")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	p := counterpart.Open(b, mine)
	b.Cleanup(func() {
		p.Goodbye()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	})
	return p
}

// exchange keeps n requests in flight until b.N are answered.
func exchange(b *testing.B, p *counterpart.Peer, method string, n int) {
	params := p.Raw(make([]byte, 100))
	sess := native.Open(codec.Limits{})
	var buf []byte
	var next uint32 = 1
	ask := func(k int) {
		buf = buf[:0]
		for range k {
			next++
			buf, _ = sess.Append(buf, &codec.Message{Kind: codec.Request, ID: next, Method: method, Params: params})
		}
		p.Write(buf)
	}
	b.ReportAllocs()
	b.ResetTimer()
	asked, answered := min(n, b.N), 0
	ask(asked)
	for answered < b.N {
		got := 0
		for more := true; more; more = p.Buffered() {
			if p.Take().Kind == codec.Response {
				got++
			}
		}
		answered += got
		if k := min(got, b.N-asked); k > 0 {
			asked += k
			ask(k)
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}
