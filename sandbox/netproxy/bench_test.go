package netproxy

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"
)

// BenchmarkThrough sends 1 GiB to a client, alternately over loopback and through
// the proxy, and reports the medians and their ratio. It needs an idle machine,
// because the proxy keeps more processors busy.
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
	var direct, through, ratio []float64
	for b.Loop() {
		straight := take(dial(b, l.Addr().String()))
		c, status, _ := g.connectVia("public.example:1")
		if status != 200 {
			b.Fatal(status)
		}
		detour := take(c)
		direct = append(direct, 1/straight.Seconds())
		through = append(through, 1/detour.Seconds())
		ratio = append(ratio, straight.Seconds()/detour.Seconds())
	}
	median := func(list []float64) float64 {
		slices.Sort(list)
		return list[len(list)/2]
	}
	b.ReportMetric(median(direct), "direct-GiB/s")
	b.ReportMetric(median(through), "proxy-GiB/s")
	b.ReportMetric(median(ratio), "of-direct")
}
