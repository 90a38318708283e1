package simulation

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/supervisor"
)

// story is what a simulation does: a tree, and what happens to it when.
type story struct {
	seed   uint64 // of the order
	late   float64
	delay  time.Duration
	groups []group
	steps  []step
}

// group is one of the tree.
type group struct {
	name     string
	strategy lifecycle.Strategy
	hosts    []supervisor.HostSpec
}

// step is one thing that is done.
type step struct {
	at   time.Duration
	verb string
	host string // of most verbs
	args []string
	turn string // the name of its turns, while a story is told
}

// The verbs of a story, by what they need.
var (
	ofPerson  = []string{"start", "stop", "restart", "reset"}
	ofProcess = []string{"kill", "freeze", "thaw", "hangup", "exit"}
	ofProgram = []string{"refused", "deaf", "mute", "leaves", "slow", "eager"} // with on or off
	methods   = []string{echo, echo, echo, echo, echo, crash, leave, hang, silent, garbage, half, twice, flood, "unknown"}
	asks      = []string{hereEcho, hereEcho, hereFail, herePanic, hereHang, hereItems, hereItems, fixed, nothing}
	forwarded = []string{echo, echo, echo, crash, silent, hang, flood, "unknown"}
	streams   = []string{items, items, items, items, spill, skip, cut, echo}
)

// newStory makes the story of a seed.
func newStory(seed uint64) *story {
	r := rand.New(rand.NewPCG(seed, 0x73746f7279))
	pick := func(of ...time.Duration) time.Duration { return of[r.IntN(len(of))] }
	s := &story{seed: seed, late: []float64{0, 0.02, 0.2}[r.IntN(3)], delay: pick(time.Millisecond, 20*time.Millisecond, 300*time.Millisecond)}
	strategies := []lifecycle.Strategy{lifecycle.OneForOne, lifecycle.OneForOne, lifecycle.OneForAll, lifecycle.RestForOne}
	var names []string
	for g := range 1 + r.IntN(2) {
		grp := group{name: fmt.Sprintf("g%d", g+1), strategy: strategies[r.IntN(len(strategies))]}
		for range 1 + r.IntN(3) {
			h := supervisor.HostSpec{Name: string(rune('a' + len(names))), Command: []string{"/bin/sh"}, Protocol: native.New()}
			h.Restart = lifecycle.RestartRule{
				Policy: []lifecycle.Policy{lifecycle.OnCrash, lifecycle.OnCrash, lifecycle.Always, lifecycle.Never}[r.IntN(4)], MaxCrashes: 1 + r.IntN(5),
				Window: pick(10*time.Second, time.Minute, 5*time.Minute), RetryFailed: pick(0, 0, 20*time.Second),
				Backoff: lifecycle.Backoff{Initial: pick(50*time.Millisecond, time.Second), Max: pick(2*time.Second, 20*time.Second), Multiplier: 1 + float64(r.IntN(3)), Jitter: float64(r.IntN(3)) / 5, Healthy: pick(5*time.Second, time.Minute)},
			}
			h.Start.Lazy, h.Start.Timeout = r.IntN(4) == 0, pick(2*time.Second, 30*time.Second)
			h.Liveness = hostspec.LivenessRule{After: pick(time.Second, 3*time.Second), Ping: pick(time.Second, 5*time.Second), KillAfter: pick(2*time.Second, 10*time.Second)}
			h.Requests = hostspec.RequestRule{Timeout: pick(time.Second, 5*time.Second, 30*time.Second), MaxPending: []int{2, 16, 1024}[r.IntN(3)], WhileDown: []hostspec.WhileDown{hostspec.FailFast, hostspec.Queue}[r.IntN(2)]}
			h.Stop.Grace, h.Stop.Drain = pick(500*time.Millisecond, 3*time.Second), pick(0, 0, time.Second)
			if n := len(grp.hosts); n > 0 && r.IntN(3) == 0 {
				h.Start.DependsOn = []string{grp.hosts[r.IntN(n)].Name}
			}
			grp.hosts = append(grp.hosts, h.WithDefaults())
			names = append(names, h.Name)
		}
		s.groups = append(s.groups, grp)
	}
	length := pick(5*time.Second, time.Minute, 10*time.Minute, time.Hour)
	verbs := slices.Concat(ofPerson, ofProcess, ofProgram)
	for range 5 + r.IntN(60) {
		st := step{at: time.Duration(r.Int64N(int64(length))).Round(time.Millisecond), host: names[r.IntN(len(names))]}
		switch n := r.IntN(10); {
		case n < 6:
			st.verb, st.args = "call", []string{methods[r.IntN(len(methods))]}
			if r.IntN(4) == 0 {
				st.args = append(st.args, "idempotent")
			}
			if r.IntN(6) == 0 {
				st.args = append(st.args, "cancel="+time.Duration(r.Int64N(int64(time.Second))).Round(time.Millisecond).String())
			}
		default:
			st.verb = verbs[r.IntN(len(verbs))]
			if slices.Contains(ofProgram, st.verb) {
				st.args = []string{[]string{"on", "off", "off"}[r.IntN(3)]}
			}
		}
		s.steps = append(s.steps, st)
		for range r.IntN(3) * r.IntN(4) { // a burst
			again := st
			again.at += time.Duration(r.Int64N(int64(20 * time.Millisecond))).Round(time.Millisecond)
			s.steps = append(s.steps, again)
		}
	}
	s.converse(r, names, length)
	s.watch(r, names, length)
	s.share(r, length)
	if r.IntN(4) == 0 {
		s.outlive(r, length)
	}
	slices.SortStableFunc(s.steps, func(a, b step) int { return int(a.at - b.at) })
	return s
}

// String returns the text of the story, which parse reads.
func (s *story) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d late=%v delay=%v\n", s.seed, s.late, s.delay)
	for _, g := range s.groups {
		fmt.Fprintf(&b, "group %s %s\n", g.name, g.strategy)
		for _, h := range g.hosts {
			fmt.Fprintf(&b, "  host %s", h.Name)
			for _, f := range fields {
				fmt.Fprintf(&b, " %s=%s", f.name, f.get(&h))
			}
			b.WriteByte('\n')
		}
	}
	for _, st := range s.steps {
		fmt.Fprintln(&b, strings.Join(slices.Concat([]string{st.at.String(), st.verb, st.host}, st.args), " "))
	}
	return b.String()
}

// field is a rule of a host in the text of a story.
type field struct {
	name string
	get  func(*supervisor.HostSpec) string
	set  func(*supervisor.HostSpec, string) error
}

func durationField(name string, of func(*supervisor.HostSpec) *time.Duration) field {
	return field{name, func(h *supervisor.HostSpec) string { return of(h).String() }, func(h *supervisor.HostSpec, text string) (err error) {
		*of(h), err = time.ParseDuration(text)
		return err
	}}
}

func textField[T ~string](name string, of func(*supervisor.HostSpec) *T) field {
	return field{name, func(h *supervisor.HostSpec) string { return string(*of(h)) }, func(h *supervisor.HostSpec, text string) error {
		*of(h) = T(text)
		return nil
	}}
}

func numberField(name string, of func(*supervisor.HostSpec) *int) field {
	return field{name, func(h *supervisor.HostSpec) string { return strconv.Itoa(*of(h)) }, func(h *supervisor.HostSpec, text string) (err error) {
		*of(h), err = strconv.Atoi(text)
		return err
	}}
}

func shareField(name string, of func(*supervisor.HostSpec) *float64) field {
	return field{name, func(h *supervisor.HostSpec) string { return fmt.Sprint(*of(h)) }, func(h *supervisor.HostSpec, text string) (err error) {
		*of(h), err = strconv.ParseFloat(text, 64)
		return err
	}}
}

var fields = []field{
	textField("policy", func(h *supervisor.HostSpec) *lifecycle.Policy { return &h.Restart.Policy }),
	numberField("max_crashes", func(h *supervisor.HostSpec) *int { return &h.Restart.MaxCrashes }),
	durationField("window", func(h *supervisor.HostSpec) *time.Duration { return &h.Restart.Window }),
	durationField("retry_failed", func(h *supervisor.HostSpec) *time.Duration { return &h.Restart.RetryFailed }),
	durationField("initial", func(h *supervisor.HostSpec) *time.Duration { return &h.Restart.Backoff.Initial }),
	durationField("max", func(h *supervisor.HostSpec) *time.Duration { return &h.Restart.Backoff.Max }),
	shareField("multiplier", func(h *supervisor.HostSpec) *float64 { return &h.Restart.Backoff.Multiplier }),
	shareField("jitter", func(h *supervisor.HostSpec) *float64 { return &h.Restart.Backoff.Jitter }),
	durationField("healthy", func(h *supervisor.HostSpec) *time.Duration { return &h.Restart.Backoff.Healthy }),
	{
		"lazy", func(h *supervisor.HostSpec) string { return strconv.FormatBool(h.Start.Lazy) },
		func(h *supervisor.HostSpec, text string) (err error) {
			h.Start.Lazy, err = strconv.ParseBool(text)
			return err
		},
	},
	durationField("start", func(h *supervisor.HostSpec) *time.Duration { return &h.Start.Timeout }),
	{
		"depends_on", func(h *supervisor.HostSpec) string { return strings.Join(h.Start.DependsOn, ",") },
		func(h *supervisor.HostSpec, text string) error {
			if text != "" {
				h.Start.DependsOn = strings.Split(text, ",")
			}
			return nil
		},
	},
	{"watch", func(h *supervisor.HostSpec) string { return watchOf(h).how }, func(h *supervisor.HostSpec, text string) error {
		w := watchOf(h)
		w.how = text
		w.with(h)
		return nil
	}},
	{"healthcheck", func(h *supervisor.HostSpec) string { return strconv.FormatBool(watchOf(h).healthy) }, func(h *supervisor.HostSpec, text string) (err error) {
		w := watchOf(h)
		w.healthy, err = strconv.ParseBool(text)
		w.with(h)
		return err
	}},
	durationField("after", func(h *supervisor.HostSpec) *time.Duration { return &h.Liveness.After }),
	durationField("ping", func(h *supervisor.HostSpec) *time.Duration { return &h.Liveness.Ping }),
	durationField("kill_after", func(h *supervisor.HostSpec) *time.Duration { return &h.Liveness.KillAfter }),
	durationField("timeout", func(h *supervisor.HostSpec) *time.Duration { return &h.Requests.Timeout }),
	numberField("max_pending", func(h *supervisor.HostSpec) *int { return &h.Requests.MaxPending }),
	textField("while_down", func(h *supervisor.HostSpec) *hostspec.WhileDown { return &h.Requests.WhileDown }),
	durationField("grace", func(h *supervisor.HostSpec) *time.Duration { return &h.Stop.Grace }),
	durationField("drain", func(h *supervisor.HostSpec) *time.Duration { return &h.Stop.Drain }),
	sharedField,
	surviveField,
}

// parse reads the text of a story. Lines that begin with # are comments.
func parse(text string) (*story, error) {
	s := &story{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for n := 1; lines.Scan(); n++ {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		if err := s.read(words); err != nil {
			return nil, fmt.Errorf("line %d: %q: %w", n, lines.Text(), err)
		}
	}
	return s, lines.Err()
}

func (s *story) read(words []string) (err error) {
	switch {
	case words[0] == "seed" && len(words) == 4:
		if _, err = fmt.Sscanf(strings.Join(words[1:3], " "), "%d late=%g", &s.seed, &s.late); err != nil {
			return err
		}
		s.delay, err = time.ParseDuration(strings.TrimPrefix(words[3], "delay="))
		return err
	case words[0] == "group" && len(words) == 3:
		s.groups = append(s.groups, group{name: words[1], strategy: lifecycle.Strategy(words[2])})
		return nil
	case words[0] == "host" && len(words) > 1 && len(s.groups) > 0:
		h := supervisor.HostSpec{Name: words[1], Command: []string{"/bin/sh"}, Protocol: native.New()}
		for _, w := range words[2:] {
			name, value, _ := strings.Cut(w, "=")
			i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
			if i < 0 {
				return fmt.Errorf("no rule %q", name)
			}
			if err := fields[i].set(&h, value); err != nil {
				return err
			}
		}
		g := &s.groups[len(s.groups)-1]
		g.hosts = append(g.hosts, h.WithDefaults())
		return nil
	}
	st := step{args: []string{}}
	if st.at, err = time.ParseDuration(words[0]); err != nil || len(words) < 3 {
		return fmt.Errorf("expected TIME VERB HOST [ARGUMENT…]: %w", err)
	}
	st.verb, st.host, st.args = words[1], words[2], words[3:]
	s.steps = append(s.steps, st)
	return nil
}
