package samples_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/intercept/meter"
	"github.com/hostsup/hostsup/lifecycle"
)

var begin = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns the time of a sample.
func at(number int) time.Time { return begin.Add(time.Duration(number) * samples.Interval) }

// answers makes a histogram in which n answers took at most a bound each.
func answers(n uint64, bound time.Duration) (h meter.Histogram) {
	h.Buckets[slices.Index(meter.Bounds(), bound)] = n
	h.Count = n
	return h
}

func history(t *testing.T, s *samples.Store, q samples.Query) samples.History {
	t.Helper()
	h, err := s.History(q)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func ptr[T any](v T) *T { return &v }

func TestFiguresAreThoseOfTheInterval(t *testing.T) {
	first := samples.Reading{
		Host: "ts", State: lifecycle.Running, Life: 3, Restarts: 2, Calls: 100, Responses: answers(90, time.Second),
		Pending: 4, Memory: 5000, CPU: 10 * time.Second,
	}
	type want struct {
		calls, p50, p99, cpu *float64
		memory               *int64
	}
	for _, tt := range []struct {
		name   string
		change func(*samples.Reading)
		want   want
	}{
		{"nothing happened", func(*samples.Reading) {}, want{calls: ptr(0.), cpu: ptr(0.), memory: ptr[int64](5000)}},
		{"calls", func(r *samples.Reading) { r.Calls += 50 }, want{calls: ptr(10.), cpu: ptr(0.), memory: ptr[int64](5000)}},
		{"answers", func(r *samples.Reading) {
			more := answers(100, time.Millisecond)
			for i := range r.Responses.Buckets {
				r.Responses.Buckets[i] += more.Buckets[i]
			}
			r.Responses.Count += 100
		}, want{calls: ptr(0.), p50: ptr(0.00075), p99: ptr(0.000995), cpu: ptr(0.), memory: ptr[int64](5000)}},
		{"work", func(r *samples.Reading) { r.CPU += 10 * time.Second }, want{calls: ptr(0.), cpu: ptr(2.), memory: ptr[int64](5000)}},
		{"another life", func(r *samples.Reading) { r.Life, r.CPU = 4, 5*time.Second }, want{calls: ptr(0.), cpu: ptr(1.), memory: ptr[int64](5000)}},
		{"no process", func(r *samples.Reading) { r.Memory, r.CPU = -1, -1 }, want{calls: ptr(0.)}},
		{"another host of the name", func(r *samples.Reading) {
			r.Life, r.Calls, r.Responses, r.CPU = 1, 10, answers(1, 10*time.Millisecond), 0
		}, want{calls: ptr(2.), p50: ptr(0.0075), p99: ptr(0.00995), cpu: ptr(0.), memory: ptr[int64](5000)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := samples.NewStore()
			s.Add(at(0), []samples.Reading{first})
			second := first
			tt.change(&second)
			s.Add(at(1), []samples.Reading{second})
			got := history(t, s, samples.Query{}).Hosts[0]
			w := tt.want
			if diff := cmp.Diff(samples.Series{
				Name: "ts", State: []lifecycle.State{lifecycle.Running, lifecycle.Running}, Restarts: []uint64{2, 2}, Pending: []int{4, 4},
				Calls: []*float64{nil, w.calls}, P50: []*float64{nil, w.p50}, P99: []*float64{nil, w.p99},
				Memory: []*int64{ptr[int64](5000), w.memory}, CPU: []*float64{nil, w.cpu},
			}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestUsageIsThatOfTheNewestSample(t *testing.T) {
	s := samples.NewStore()
	s.Add(at(1), []samples.Reading{{Host: "a", Life: 2, Memory: 100, CPU: time.Second}, {Host: "b", Life: 1, Memory: -1, CPU: -1}})
	s.Add(at(2), []samples.Reading{{Host: "a", Life: 2, Memory: 200, CPU: 2 * time.Second}, {Host: "b", Life: 1, Memory: -1, CPU: -1}})
	if memory, cpu, ok := s.Usage("a", 2); memory != 200 || cpu != 2*time.Second || !ok {
		t.Errorf("%d %v %v", memory, cpu, ok)
	}
	for host, life := range map[string]uint64{"a": 3, "b": 1, "c": 1} {
		if _, _, ok := s.Usage(host, life); ok {
			t.Errorf("there is no figure of life %d of %s", life, host)
		}
	}
}

func TestHistoryIsThatOfTheQuery(t *testing.T) {
	s := samples.NewStore()
	if h := history(t, s, samples.Query{}); h.Last != 0 || len(h.Times) != 0 || len(h.Hosts) != 0 {
		t.Errorf("before the first sample: %+v", h)
	}
	// b comes with the third sample, and goes for the sixth.
	const n = 8
	for i := 1; i <= n; i++ {
		list := []samples.Reading{{Host: "a", State: lifecycle.Running, Restarts: uint64(i)}}
		if i >= 3 && i != 6 {
			list = append(list, samples.Reading{Host: "b", State: lifecycle.Running, Restarts: uint64(100 + i)})
		}
		s.Add(at(i), list)
	}
	upTo := func(from uint64) (out []uint64) {
		for i := from; i <= n; i++ {
			out = append(out, i)
		}
		return out
	}
	for _, tt := range []struct {
		q     samples.Query
		first int
		hosts []string
		skip  int // of b
	}{
		{samples.Query{}, 1, []string{"a", "b"}, 6},
		{samples.Query{Hosts: []string{"a"}}, 1, []string{"a"}, 0},
		{samples.Query{Hosts: []string{"b", "unknown"}, N: 1}, 8, []string{"b"}, 0},
		{samples.Query{Since: 5}, 6, []string{"a", "b"}, 1},
		{samples.Query{Since: 5, N: 100}, 6, []string{"a", "b"}, 1},
		{samples.Query{Since: 2, N: 2}, 7, []string{"a", "b"}, 0},
	} {
		h := history(t, s, tt.q)
		if h.Last != n || h.Interval != 5 || !h.Times[0].Equal(at(tt.first)) || len(h.Times) != n-tt.first+1 {
			t.Errorf("%+v: last %d, %d times from %v", tt.q, h.Last, len(h.Times), h.Times[0])
		}
		var names []string
		for _, x := range h.Hosts {
			names = append(names, x.Name)
			want := upTo(uint64(tt.first))
			if x.Name == "b" {
				want = want[tt.skip:]
				for i := range want {
					want[i] += 100
				}
				if x.Skip != tt.skip {
					t.Errorf("%+v: skip %d, want %d", tt.q, x.Skip, tt.skip)
				}
			}
			if !slices.Equal(x.Restarts, want) || len(x.CPU) != len(want) {
				t.Errorf("%+v: %s has %v, want %v", tt.q, x.Name, x.Restarts, want)
			}
		}
		if !slices.Equal(names, tt.hosts) {
			t.Errorf("%+v: hosts %v, want %v", tt.q, names, tt.hosts)
		}
	}
	if h := history(t, s, samples.Query{Since: n}); h.Last != n || len(h.Times) != 0 || len(h.Hosts) != 0 {
		t.Errorf("nothing new: %+v", h)
	}
	if h := history(t, s, samples.Query{Since: 1 << 40}); h.Last != n || len(h.Times) != 0 {
		t.Errorf("a number of another supervisor: %+v", h)
	}
}

// An hour of 1,000 hosts takes at most 64 MiB, however long the supervisor runs.
func TestAnHourIsKeptInBoundedMemory(t *testing.T) {
	const hosts, limit = 1000, 64 << 20
	s := samples.NewStore()
	list := make([]samples.Reading, hosts)
	before := heap()
	rounds := 2*samples.Kept + 7
	for i := 1; i <= rounds; i++ {
		for k := range list {
			list[k] = samples.Reading{Host: fmt.Sprintf("host-%d", k), State: lifecycle.Running, Restarts: uint64(i), Memory: int64(k)}
		}
		s.Add(at(i), list)
	}
	used := heap() - before
	t.Logf("an hour of %d hosts takes %.1f MiB", hosts, float64(used)/(1<<20))
	if used > limit {
		t.Errorf("%d bytes, more than %d", used, limit)
	}
	one := history(t, s, samples.Query{Hosts: []string{"host-7"}})
	x := one.Hosts[0]
	if len(one.Times) != samples.Kept || !one.Times[0].Equal(at(rounds-samples.Kept+1)) || x.Restarts[0] != uint64(rounds-samples.Kept+1) || x.Restarts[samples.Kept-1] != uint64(rounds) || *x.Memory[0] != 7 {
		t.Errorf("%d samples from %v, restarts from %d", len(one.Times), one.Times[0], x.Restarts[0])
	}
	if _, err := s.History(samples.Query{}); !errors.Is(err, samples.ErrTooMany) {
		t.Errorf("all of it: %v", err)
	}
	if h := history(t, s, samples.Query{N: 100}); len(h.Hosts) != hosts || len(h.Times) != 100 {
		t.Errorf("%d samples of %d hosts", len(h.Times), len(h.Hosts))
	}
	s.Add(at(rounds+1), nil)
	if left := heap() - before; left > limit/32 {
		t.Errorf("when the hosts were removed, %d bytes are left", left)
	}
	runtime.KeepAlive(list)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
