package metrics_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/metrics"
	"github.com/hostsup/hostsup/supervisor"
)

// start starts a tree and waits for the first try of each host.
func start(t testing.TB, spec supervisor.Spec) *supervisor.Supervisor {
	t.Helper()
	sup, err := supervisor.Start(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := sup.Ready(context.Background()); err != nil {
		t.Fatal(err)
	}
	return sup
}

// demoHost is a host that speaks a protocol, and has something of everything.
func demoHost(name string) supervisor.HostSpec {
	s := supervisor.HostSpec{
		Name: name, Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
		Throttle: []throttle.Rule{{Method: "changed", Every: time.Minute}},
	}
	s.Restart.Policy = lifecycle.OnCrash
	return s
}

// everything is a tree in which every family has a metric, and its figures.
func everything(t *testing.T) (*supervisor.Supervisor, *metrics.Metrics) {
	t.Helper()
	down := supervisor.HostSpec{Name: "down.by_default-1", Command: []string{"/bin/sleep", "1000"}}
	down.Start.Lazy = true
	sup := start(t, supervisor.Spec{
		Groups: []supervisor.GroupSpec{{Name: "editor", Hosts: []supervisor.HostSpec{demoHost("ts"), down}}},
		Parts:  []supervisor.Part{part.Spec{Name: "agents", Options: server.Options{Listen: "ws://127.0.0.1:0"}}},
	})
	return sup, metrics.New(sup, metrics.Options{
		Version: "v1.2.3",
		Usage: func(host string, life uint64) (int64, time.Duration, bool) {
			return 5 << 20, time.Duration(life) * time.Second, host == "ts"
		},
		Spans: func() (exported, dropped uint64) { return 7, 2 },
		Configuration: func() *supervisor.ConfigStatus {
			return &supervisor.ConfigStatus{Loaded: time.Unix(1772366400, 0), Refused: &supervisor.ConfigRefusal{}}
		},
	})
}

// scrape returns what the handler serves to whoever accepts the media types.
func scrape(t testing.TB, m *metrics.Metrics, accept string) (text, media string) {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "gzip")
	res := httptest.NewRecorder()
	m.ServeHTTP(res, req)
	if res.Code != http.StatusOK {
		t.Fatalf("%d %s", res.Code, res.Body)
	}
	return res.Body.String(), res.Header().Get("Content-Type")
}

func parse(t *testing.T, text string) map[string]*dto.MetricFamily {
	t.Helper()
	var p expfmt.TextParser
	all, err := p.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// value returns the metric of a family whose labels include the pairs, and whether there
// is one.
func value(all map[string]*dto.MetricFamily, name string, pairs ...string) (v float64, ok bool) {
	for _, m := range all[name].GetMetric() {
		has := 0
		for _, l := range m.Label {
			for i := 0; i < len(pairs); i += 2 {
				if l.GetName() == pairs[i] && l.GetValue() == pairs[i+1] {
					has++
				}
			}
		}
		if 2*has != len(pairs) {
			continue
		}
		switch {
		case m.Counter != nil:
			return m.Counter.GetValue(), true
		case m.Gauge != nil:
			return m.Gauge.GetValue(), true
		default:
			return float64(m.Histogram.GetSampleCount()), true
		}
	}
	return 0, false
}

func TestFiguresAreThoseOfTheTree(t *testing.T) {
	sup, m := everything(t)
	ts, err := sup.Host("ts")
	if err != nil {
		t.Fatal(err)
	}
	text, media := scrape(t, m, "")
	if !strings.HasPrefix(media, "text/plain; version=0.0.4") {
		t.Errorf("media type %q", media)
	}
	if _, ok := value(parse(t, text), "hostsup_host_response_seconds", "host", "ts"); ok {
		t.Error("the host has answered nothing yet")
	}
	for range 3 {
		if err := ts.Call(t.Context(), "echo", 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	_ = ts.Call(t.Context(), "crash", nil, nil) // it crashes of it
	poll.Until(t, time.Minute, "it runs again", func() bool { return ts.Peek().Crashes == 1 && ts.State() == lifecycle.Running })
	text, _ = scrape(t, m, "")
	all := parse(t, text)
	down := "down.by_default-1"
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"hostsup_build_info", []string{"version", "v1.2.3"}, 1},
		{"hostsup_config_last_reload_successful", nil, 0},
		{"hostsup_config_last_reload_success_timestamp_seconds", nil, 1772366400},
		{"hostsup_events_missed_total", nil, 0},
		{"hostsup_trace_spans_exported_total", nil, 7},
		{"hostsup_trace_spans_dropped_total", nil, 2},
		{"hostsup_host_info", []string{"host", "ts", "group", "editor", "protocol", "hostsup", "sandbox", "none"}, 1},
		{"hostsup_host_state", []string{"host", "ts", "group", "editor", "state", "running"}, 1},
		{"hostsup_host_state", []string{"host", "ts", "state", "failed"}, 0},
		{"hostsup_host_state", []string{"host", down, "state", "stopped"}, 1},
		{"hostsup_host_calls_total", []string{"host", "ts"}, 4},
		{"hostsup_host_response_seconds", []string{"host", "ts"}, 3},
		{"hostsup_host_crashes_total", []string{"host", "ts"}, 1},
		{"hostsup_host_restarts_total", []string{"host", "ts"}, 1},
		{"hostsup_host_crashes_total", []string{"host", down}, 0},
		{"hostsup_host_pending_requests", []string{"host", "ts"}, 0},
		{"hostsup_host_memory_bytes", []string{"host", "ts"}, 5 << 20},
		{"hostsup_host_cpu_seconds_total", []string{"host", "ts"}, 2},
		{"hostsup_host_notifications_dropped_total", []string{"host", "ts"}, 0},
		{"hostsup_exec_server_up", []string{"server", "agents"}, 1},
		{"hostsup_exec_server_sessions", []string{"server", "agents"}, 0},
	} {
		if v, ok := value(all, tt.name, tt.labels...); !ok || v != tt.want {
			t.Errorf("%s%q: %v, %v; want %v", tt.name, tt.labels, v, ok, tt.want)
		}
	}
	for _, name := range []string{"hostsup_host_start_time_seconds", "hostsup_host_memory_bytes", "hostsup_host_response_seconds"} {
		if _, ok := value(all, name, "host", down); ok {
			t.Errorf("%s of a host that was never started", name)
		}
	}
	if v, _ := value(all, "hostsup_events_total"); v < 5 {
		t.Errorf("%v events", v)
	}
	if v, _ := value(all, "hostsup_host_start_time_seconds", "host", "ts"); time.Since(time.Unix(int64(v), 0)) > time.Hour {
		t.Errorf("started at %v", v)
	}
	if _, ok := value(all, "go_goroutines"); !ok {
		t.Error("no figures of the Go runtime")
	}

	t.Run("every family is served, as it is described", func(t *testing.T) {
		for _, f := range metrics.Families() {
			got := all[f.Name]
			if got == nil {
				t.Errorf("no %s", f.Name)
				continue
			}
			if kind := strings.ToLower(got.GetType().String()); kind != f.Type || got.GetHelp() != f.Help {
				t.Errorf("%s is a %s: %s", f.Name, kind, got.GetHelp())
			}
			for _, m := range got.Metric {
				var names []string
				for _, l := range m.Label {
					names = append(names, l.GetName())
				}
				if !slices.Equal(names, f.Labels) {
					t.Errorf("%s has the labels %q, want %q", f.Name, names, f.Labels)
				}
			}
		}
		for name := range all {
			if strings.HasPrefix(name, "hostsup_") && !slices.ContainsFunc(metrics.Families(), func(f metrics.Family) bool { return f.Name == name }) {
				t.Errorf("%s is not described", name)
			}
		}
	})
	t.Run("names are conventional", func(t *testing.T) {
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	})
	t.Run("OpenMetrics", func(t *testing.T) {
		text, media := scrape(t, m, "application/openmetrics-text; version=1.0.0")
		if !strings.HasPrefix(media, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") || !strings.Contains(text, "# TYPE hostsup_host_crashes counter\n") ||
			!strings.Contains(text, "\nhostsup_host_crashes_total{group=\"editor\",host=\"ts\"} 1\n") || !strings.Contains(text, "le=\"1.0\"} 3\n") {
			t.Errorf("%q: …%s", media, text[max(0, len(text)-200):])
		}
	})
	t.Run("no metric comes twice", func(t *testing.T) {
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			key, _, _ := strings.Cut(line, "} ")
			if seen[key] && !strings.HasPrefix(line, "#") {
				t.Error(line)
			}
			seen[key] = true
		}
	})
	t.Run("buckets add up", func(t *testing.T) {
		for _, m := range all["hostsup_host_response_seconds"].Metric {
			last := uint64(0)
			for _, b := range m.Histogram.Bucket {
				if b.GetCumulativeCount() < last {
					t.Errorf("%v", m)
				}
				last = b.GetCumulativeCount()
			}
			if last != m.Histogram.GetSampleCount() || len(m.Histogram.Bucket) != len(supervisor.ResponseBounds())+1 || m.Histogram.GetSampleSum() <= 0 {
				t.Errorf("%v", m)
			}
		}
	})
}
