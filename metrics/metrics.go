package metrics

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"github.com/hostsup/hostsup/supervisor"
)

// Options configures a Metrics. The zero value is usable.
type Options struct {
	Version string       // of hostsup_build_info
	Logger  hclog.Logger // of what goes wrong during a scrape; nil: none

	// Usage returns the memory in bytes and the processor time of a host's process tree,
	// unless ok is false. It should not read the system for each of many hosts; a sampler
	// does that at its own pace. nil: there are no such figures.
	Usage func(host string, life uint64) (memory int64, cpu time.Duration, ok bool)
	// Configuration returns how the configuration was loaded; nil: it never is.
	Configuration func() *supervisor.ConfigStatus
	// Spans returns how many spans of traces were sent, and how many dropped; nil: none are
	// made.
	Spans func() (exported, dropped uint64)
	// Registry has figures besides those of the tree. nil: those of the Go runtime and of
	// this process.
	Registry *prometheus.Registry
}

// Metrics serves the figures of a tree over HTTP. Safe for concurrent use.
type Metrics struct {
	sup *supervisor.Supervisor
	opt Options

	sheets sync.Pool // several MiB for 1,000 hosts, which would be garbage at each scrape
}

// New returns the figures of a tree. It starts nothing.
func New(sup *supervisor.Supervisor, opt Options) *Metrics {
	if opt.Logger == nil {
		opt.Logger = hclog.NewNullLogger()
	}
	if opt.Registry == nil {
		opt.Registry = prometheus.NewRegistry()
		opt.Registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	return &Metrics{sup: sup, opt: opt, sheets: sync.Pool{New: func() any { return newSheet() }}}
}

// ServeHTTP serves the figures in the format that a caller accepts, text or OpenMetrics.
// They are not compressed: that takes longer than everything else.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	format := expfmt.NegotiateIncludingOpenMetrics(r.Header)
	open := strings.HasPrefix(string(format), expfmt.OpenMetricsType)
	if !open {
		format = expfmt.FmtText // not Prometheus's binary one
	}
	others, err := m.opt.Registry.Gather()
	if err != nil { // of what could not be read; the rest is there
		m.opt.Logger.Error("metrics", "error", err)
	}
	w.Header().Set("Content-Type", string(format))
	s := m.sheets.Get().(*sheet)
	defer m.sheets.Put(s)
	s.reset(open)
	m.fill(s)
	if s.writeTo(w) != nil {
		return // the caller is gone
	}
	enc := expfmt.NewEncoder(w, format)
	for _, f := range others {
		if err := enc.Encode(f); err != nil {
			return
		}
	}
	if c, ok := enc.(expfmt.Closer); ok {
		_ = c.Close() // it writes the last line
	}
}

// fill adds the figures of the tree.
func (m *Metrics) fill(s *sheet) {
	s.add("hostsup_build_info", 1, label("goversion", runtime.Version())+","+label("version", m.opt.Version))
	written, missed := m.sup.EventCounts()
	s.add("hostsup_events_total", float64(written), "")
	s.add("hostsup_events_missed_total", float64(missed), "")
	if m.opt.Configuration != nil {
		m.configuration(s, m.opt.Configuration())
	}
	if m.opt.Spans != nil {
		exported, dropped := m.opt.Spans()
		s.add("hostsup_trace_spans_exported_total", float64(exported), "")
		s.add("hostsup_trace_spans_dropped_total", float64(dropped), "")
	}
	m.hosts(s)
	m.execServers(s)
}

func (m *Metrics) configuration(s *sheet, st *supervisor.ConfigStatus) {
	if st == nil {
		return
	}
	ok := 1.0
	if st.Refused != nil {
		ok = 0
	}
	s.add("hostsup_config_last_reload_successful", ok, "")
	s.add("hostsup_config_last_reload_success_timestamp_seconds", seconds(st.Loaded), "")
}

func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
