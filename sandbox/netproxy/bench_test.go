package netproxy

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// BenchmarkThrough moves 1 GiB to a client, once straight over loopback and
// once through the proxy, and reports what part of the speed is left.
func BenchmarkThrough(b *testing.B) {
	const size = 1 << 30
	l := listen(b)
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, 256<<10)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for left := size; left > 0; {
				n, err := c.Write(buf[:min(left, len(buf))])
				if err != nil {
					break
				}
				left -= n
			}
			_ = c.Close()
		}
	})
	defer wg.Wait()
	defer l.Close()
	g := newRig(b, l.Addr().String(), names, "public.example:1").serve()
	take := func(c net.Conn) time.Duration {
		defer c.Close()
		_ = c.SetDeadline(time.Time{})
		buf := make([]byte, 256<<10)
		start, n := time.Now(), 0
		for {
			m, err := c.Read(buf)
			n += m
			if err == io.EOF {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
		if n != size {
			b.Fatal(n)
		}
		return time.Since(start)
	}
	b.SetBytes(size)
	var direct, through time.Duration
	for b.Loop() {
		direct += take(dial(b, l.Addr().String()))
		c, status, _ := g.connectVia("public.example:1")
		if status != 200 {
			b.Fatal(status)
		}
		through += take(c)
	}
	gib := func(d time.Duration) float64 { return float64(b.N) / d.Seconds() }
	b.ReportMetric(gib(direct), "direct-GiB/s")
	b.ReportMetric(gib(through), "proxy-GiB/s")
	b.ReportMetric(direct.Seconds()/through.Seconds(), "of-direct")
}
