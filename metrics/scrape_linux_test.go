package metrics_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/metrics"
	"github.com/hostsup/hostsup/supervisor"
)

// answering is a host that answers everything, and takes little memory.
const answering = `while read -r line; do
	case $line in
	*'"id":'*) id=${line#*'"id":'}; printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"sh","version":"1"}}}\n' "${id%%[,\}]*}" ;;
	esac
done`

// BenchmarkScrape is a scrape of 1,000 hosts that run and have answered a call, from the
// request to the last byte of the response, over a socket of this machine.
func BenchmarkScrape(b *testing.B) {
	const hosts = 1000
	var groups []supervisor.GroupSpec
	for i := range hosts {
		s := supervisor.HostSpec{Name: fmt.Sprintf("host-%d", i), Command: []string{"/bin/sh", "-c", answering}, Protocol: jsonrpc.Lines(jsonrpc.Options{})}
		s.Liveness.Ping = time.Hour
		groups = append(groups, supervisor.Alone(s))
	}
	sup := start(b, supervisor.Spec{Groups: groups})
	var wg sync.WaitGroup
	for _, h := range sup.Hosts() {
		wg.Go(func() {
			if err := h.Call(b.Context(), "x", nil, nil); err != nil || h.State() != lifecycle.Running {
				b.Error(h.State(), err)
			}
		})
	}
	wg.Wait()
	m := metrics.New(sup, metrics.Options{Usage: func(string, uint64) (int64, time.Duration, bool) { return 1 << 20, time.Second, true }})
	srv := httptest.NewServer(m)
	defer srv.Close()
	var size int64
	before := used(b)
	for b.Loop() {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, srv.URL, nil)
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
		res, err := srv.Client().Do(req)
		if err != nil {
			b.Fatal(err)
		}
		size, err = io.Copy(io.Discard, res.Body)
		if err != nil || res.StatusCode != http.StatusOK || res.Body.Close() != nil {
			b.Fatal(res.StatusCode, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1e3/float64(b.N), "ms/scrape")
	b.ReportMetric(float64((used(b)-before).Microseconds())/1e3/float64(b.N), "cpu-ms/scrape")
	b.ReportMetric(float64(size), "bytes")
}

// used returns the processor time of this process, client included.
func used(b *testing.B) time.Duration {
	b.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
