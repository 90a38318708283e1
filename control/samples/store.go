package samples

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

const (
	// Interval is the time between two samples.
	Interval = 5 * time.Second
	// Kept is how many samples of a host are kept: those of an hour.
	Kept = int(time.Hour / Interval)
	// MaxSamples bounds the samples in one [History], over all its hosts.
	MaxSamples = 100_000
)

// ErrTooMany means that a query matches more than [MaxSamples] samples.
var ErrTooMany = errors.New("too many samples")

// Reading is what is known of a host at one moment. Counts are those since the start of
// the supervisor, over all lives.
type Reading struct {
	Host      string
	State     lifecycle.State
	Life      uint64
	Restarts  uint64
	Calls     uint64                   // made to the host
	Responses supervisor.ResponseTimes // of the answers
	Pending   int
	Memory    int64         // bytes of the whole process tree; negative: unknown
	CPU       time.Duration // of the whole process tree in this life; negative: unknown
}

// Store keeps samples. The zero value is not usable; see [NewStore]. Safe for concurrent
// use.
type Store struct {
	mu    sync.Mutex
	last  uint64      // number of the newest sample; 0: none
	times []time.Time // of the samples by number modulo Kept
	hosts map[string]*series
	order []string // of the hosts, as in the newest readings
}

// NewStore returns an empty store.
func NewStore() *Store { return &Store{hosts: map[string]*series{}} }

// series are the samples of one host, one for each number from first on.
type series struct {
	first  uint64
	last   uint64
	points []point // by number minus first, modulo its length once that is Kept
	before Reading
}

// point is one sample. Unknown figures are NaN, and memory -1.
type point struct {
	memory   int64
	calls    float32 // a second
	p50, p99 float32 // seconds
	cpu      float32 // cores
	pending  uint32
	restarts uint32
	state    int8 // index in states
}

var states = lifecycle.States()

// Add adds a sample of each host, taken at now. Hosts that are not among the readings are
// forgotten.
func (s *Store) Add(now time.Time, readings []Reading) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var since time.Duration
	if s.last > 0 {
		since = now.Sub(s.times[(s.last-1)%uint64(Kept)])
	}
	s.last++
	if len(s.times) < Kept {
		s.times = append(s.times, now)
	} else {
		s.times[(s.last-1)%uint64(Kept)] = now
	}
	s.order = s.order[:0]
	for _, r := range readings {
		h := s.hosts[r.Host]
		if h == nil {
			h = &series{first: s.last}
			s.hosts[r.Host] = h
		}
		if h.last == s.last { // named twice
			continue
		}
		h.add(s.last, sample(h.before, r, since))
		h.before = r
		s.order = append(s.order, r.Host)
	}
	if len(s.order) < len(s.hosts) {
		maps.DeleteFunc(s.hosts, func(_ string, h *series) bool { return h.last != s.last })
	}
}

// add keeps a sample. Its memory doubles until it holds Kept samples, so that a host that
// was just added takes little.
func (h *series) add(number uint64, p point) {
	h.last = number
	if len(h.points) == Kept {
		h.points[(number-h.first)%uint64(Kept)] = p
		return
	}
	if len(h.points) == cap(h.points) {
		grown := make([]point, len(h.points), min(Kept, max(Kept/16, 2*len(h.points))))
		copy(grown, h.points)
		h.points = grown
	}
	h.points = append(h.points, p)
}

// sample returns what became of a host between two readings, which were taken since apart.
// before is the zero Reading for the first sample of a host.
func sample(before, r Reading, since time.Duration) point {
	nan := float32(math.NaN())
	p := point{
		memory: max(-1, r.Memory), calls: nan, p50: nan, p99: nan, cpu: nan,
		pending: uint32(max(0, r.Pending)), restarts: uint32(r.Restarts), state: int8(max(0, slices.Index(states, r.State))),
	}
	if before.Host == "" || since <= 0 {
		return p
	}
	if r.Calls < before.Calls || r.Responses.Count < before.Responses.Count { // another host of the name
		before.Calls, before.Responses = 0, supervisor.ResponseTimes{}
	}
	p.calls = float32(float64(r.Calls-before.Calls) / since.Seconds())
	took := r.Responses.Sub(before.Responses)
	if d, ok := took.Quantile(0.5); ok {
		p.p50 = float32(d.Seconds())
	}
	if d, ok := took.Quantile(0.99); ok {
		p.p99 = float32(d.Seconds())
	}
	if r.CPU < 0 {
		return p
	}
	used := r.CPU
	if r.Life == before.Life && before.CPU >= 0 && before.CPU <= r.CPU {
		used -= before.CPU
	}
	p.cpu = float32(used.Seconds() / since.Seconds())
	return p
}

// Usage returns memory and processor time of a life of a host as of its newest sample,
// which is at most [Interval] old. ok is false if that life has no sample with both.
func (s *Store) Usage(host string, life uint64) (memory int64, cpu time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hosts[host]
	if h == nil || h.before.Life != life || h.before.Memory < 0 || h.before.CPU < 0 {
		return 0, 0, false
	}
	return h.before.Memory, h.before.CPU, true
}

// Query selects samples.
type Query struct {
	Hosts []string // names; none: all
	Since uint64   // only those with a higher number
	N     int      // at most so many of each host, the newest; 0: all that are kept
}

// History has samples of some hosts, taken at the same times.
type History struct {
	Interval float64     `json:"interval_seconds"` // between two samples
	Last     uint64      `json:"last"`             // number of the newest sample that there is, for the next query; 0: none yet
	Times    []time.Time `json:"times"`            // of the samples, oldest first
	Hosts    []Series    `json:"hosts"`            // in the order of the tree
}

// Series has the samples of one host. Each list has an element for each of the times
// after the first Skip.
type Series struct {
	Name     string            `json:"name"`
	Skip     int               `json:"skip"` // how many of the times were before the host was there
	State    []lifecycle.State `json:"state"`
	Restarts []uint64          `json:"restarts"`         // until then, since the start of the supervisor
	Calls    []*float64        `json:"calls_per_second"` // made to the host; null for its first sample
	P50      []*float64        `json:"p50_seconds"`      // of the answers of this interval, within the buckets that the host's meter counts in; null without answers
	P99      []*float64        `json:"p99_seconds"`
	Pending  []int             `json:"pending"`
	Memory   []*int64          `json:"rss_bytes"` // of the whole process tree; null without a process
	CPU      []*float64        `json:"cpu_cores"` // of the whole process tree: processor seconds in a second
}

// History returns samples. Hosts that are not known are left out. The error is
// [ErrTooMany].
func (s *Store) History(q Query) (History, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := History{Interval: Interval.Seconds(), Last: s.last, Times: []time.Time{}, Hosts: []Series{}}
	names := s.order
	if q.Hosts != nil {
		names = slices.DeleteFunc(slices.Clone(s.order), func(n string) bool { return !slices.Contains(q.Hosts, n) })
	}
	from := max(q.Since, s.last-uint64(len(s.times)))
	if q.N > 0 && s.last > uint64(q.N) {
		from = max(from, s.last-uint64(q.N))
	}
	if from >= s.last {
		return out, nil
	}
	n := int(s.last - from)
	if n*len(names) > MaxSamples {
		return out, fmt.Errorf("%w: %d of each of %d hosts, and at most %d are sent at once: name fewer hosts, or set n", ErrTooMany, n, len(names), MaxSamples)
	}
	for number := from + 1; number <= s.last; number++ {
		out.Times = append(out.Times, s.times[(number-1)%uint64(Kept)])
	}
	for _, name := range names {
		out.Hosts = append(out.Hosts, s.hosts[name].from(name, from+1, s.last))
	}
	return out, nil
}

// from returns the samples with the numbers from first to last.
func (h *series) from(name string, first, last uint64) Series {
	out := Series{Name: name, Skip: int(max(first, h.first) - first)}
	n := int(last-first) + 1 - out.Skip
	out.State, out.Restarts, out.Pending, out.Memory = make([]lifecycle.State, n), make([]uint64, n), make([]int, n), make([]*int64, n)
	columns := []*[]*float64{&out.Calls, &out.P50, &out.P99, &out.CPU}
	for _, c := range columns {
		*c = make([]*float64, n)
	}
	figures, memory := make([]float64, 0, n*len(columns)), make([]int64, 0, n)
	for i := range n {
		p := h.points[(first+uint64(out.Skip+i)-h.first)%uint64(Kept)]
		out.State[i], out.Restarts[i], out.Pending[i] = states[p.state], uint64(p.restarts), int(p.pending)
		if p.memory >= 0 {
			memory = append(memory, p.memory)
			out.Memory[i] = &memory[len(memory)-1]
		}
		for k, v := range []float32{p.calls, p.p50, p.p99, p.cpu} {
			if v == v { // not NaN
				figures = append(figures, rounded(v))
				(*columns[k])[i] = &figures[len(figures)-1]
			}
		}
	}
	return out
}

// rounded leaves out digits that a float32 does not have.
func rounded(v float32) float64 {
	const digits = 1e6
	return math.Round(float64(v)*digits) / digits
}
