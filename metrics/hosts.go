package metrics

import (
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// figure is a metric of each host that is one number.
type figure struct {
	name  string
	value func(h *record.HostStatus) (v float64, ok bool)
}

// counted is a figure that all hosts have.
func counted[N int | uint64](name string, value func(h *record.HostStatus) N) figure {
	return figure{name, func(h *record.HostStatus) (float64, bool) { return float64(value(h)), true }}
}

// throttled is the sum over the rules of a host that has some.
func throttled(name string, value func(t *record.ThrottleStatus) uint64) figure {
	return figure{name, func(h *record.HostStatus) (v float64, ok bool) {
		for i := range h.Throttle {
			v += float64(value(&h.Throttle[i]))
		}
		return v, len(h.Throttle) > 0
	}}
}

var figures = []figure{
	counted("hostsup_host_crashes_total", func(h *record.HostStatus) uint64 { return h.Crashes }),
	counted("hostsup_host_restarts_total", func(h *record.HostStatus) uint64 { return h.Restarts }),
	counted("hostsup_host_calls_total", func(h *record.HostStatus) uint64 { return h.Calls }),
	counted("hostsup_host_pending_requests", func(h *record.HostStatus) int { return h.Pending }),
	counted("hostsup_host_noise_lines_total", func(h *record.HostStatus) uint64 { return h.Noise }),
	counted("hostsup_host_log_bytes_total", func(h *record.HostStatus) uint64 { return h.Log.WrittenBytes }),
	counted("hostsup_host_log_lost_lines_total", func(h *record.HostStatus) uint64 { return h.Log.Lost }),
	throttled("hostsup_host_notifications_coalesced_total", func(t *record.ThrottleStatus) uint64 { return t.Coalesced }),
	throttled("hostsup_host_notifications_dropped_total", func(t *record.ThrottleStatus) uint64 { return t.Dropped }),
	{"hostsup_host_start_time_seconds", func(h *record.HostStatus) (float64, bool) {
		if h.Started == nil {
			return 0, false
		}
		return seconds(*h.Started), true
	}},
	{"hostsup_host_memory_bytes", func(h *record.HostStatus) (float64, bool) {
		if h.RSSBytes == nil {
			return 0, false
		}
		return float64(*h.RSSBytes), true
	}},
	{"hostsup_host_cpu_seconds_total", func(h *record.HostStatus) (float64, bool) {
		if h.CPUSeconds == nil {
			return 0, false
		}
		return *h.CPUSeconds, true
	}},
}

// hosts adds the figures of all hosts.
func (m *Metrics) hosts(s *sheet) {
	columns := make([]*column, len(figures))
	for i, f := range figures {
		columns[i] = s.byName[f.name]
	}
	info, state, response := s.byName["hostsup_host_info"], s.byName["hostsup_host_state"], s.byName["hostsup_host_response_seconds"]
	states := lifecycle.States()
	inState := make([]string, len(states))
	for i, name := range states {
		inState[i] = label("state", string(name))
	}
	var buckets []string
	for _, d := range supervisor.ResponseBounds() {
		buckets = append(buckets, bound(d.Seconds(), s.open))
	}
	var protocol, sandbox, about string // the last ones, which most hosts share
	var st record.HostStatus            // of all, one after the other: figures have a pointer to it
	for _, h := range m.sup.Hosts() {
		st = h.Peek()
		if m.opt.Usage != nil && st.Started != nil {
			if memory, cpu, ok := m.opt.Usage(st.Name, st.Life); ok {
				spent := cpu.Seconds()
				st.RSSBytes, st.CPUSeconds = &memory, &spent
			}
		}
		labels := label("group", st.Group) + "," + label("host", st.Name)
		for i := range figures {
			if v, ok := figures[i].value(&st); ok {
				columns[i].add("", v, labels, "")
			}
		}
		if st.Protocol != protocol || st.Sandbox.Level != sandbox || about == "" {
			protocol, sandbox = st.Protocol, st.Sandbox.Level
			about = label("protocol", protocol) + "," + label("sandbox", sandbox)
		}
		info.add("", 1, labels, about)
		for i, name := range states {
			in := 0.0
			if name == st.State {
				in = 1
			}
			state.add("", in, labels, inState[i])
		}
		if r := h.Responses(); r.Count > 0 {
			response.distribution(&r, labels, buckets)
		}
	}
}

// distribution adds response times as Prometheus has them: buckets include those below.
func (c *column) distribution(r *supervisor.ResponseTimes, labels string, buckets []string) {
	var upTo uint64
	for i, le := range buckets {
		upTo += r.Buckets[i]
		c.add("_bucket", float64(upTo), labels, le)
	}
	c.add("_bucket", float64(r.Count), labels, `le="+Inf"`)
	c.add("_sum", r.Sum.Seconds(), labels, "")
	c.add("_count", float64(r.Count), labels, "")
}
