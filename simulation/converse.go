package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// converse adds steps in which hosts make requests, answer with items, and are sent notifications.
func (s *story) converse(r *rand.Rand, names []string, length time.Duration) {
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	for range r.IntN(20) {
		st := step{at: time.Duration(r.Int64N(int64(length))).Round(time.Millisecond), host: pick(names)}
		cancel := func() {
			if r.IntN(5) == 0 {
				st.args = append(st.args, "cancel="+time.Duration(r.Int64N(int64(500*time.Millisecond))).Round(time.Millisecond).String())
			}
		}
		switch r.IntN(5) {
		case 0, 1:
			st.verb, st.args = "ask", []string{pick(asks)}
			if r.IntN(3) == 0 {
				st.args[0] = "to-" + pick(append(slices.Clone(names), "nowhere")) + "." + pick(forwarded)
			}
			switch {
			case st.args[0] == hereItems:
				chunk := []int{0, 1, 8, 64, 200}[r.IntN(5)]
				st.args = append(st.args, "n="+strconv.Itoa(r.IntN(min(200, 20+8*chunk))), fmt.Sprintf("chunk=%d", chunk))
			case r.IntN(8) == 0:
				st.args = append(st.args, "times="+strconv.Itoa([]int{2, 20, 300}[r.IntN(3)]))
			}
			cancel()
		case 2, 3:
			n := []int{0, 1, 30, 63, 64, 65, 150}[r.IntN(7)]
			st.verb, st.args = "stream", []string{pick(streams), fmt.Sprintf("n=%d", n)}
			if n > 0 && r.IntN(4) == 0 {
				st.args = append(st.args, fmt.Sprintf("leave=%d", 1+r.IntN(n)))
			}
			if r.IntN(4) == 0 {
				st.args = append(st.args, "pause="+[]string{"1ms", "20ms", "60ms"}[r.IntN(3)])
			}
			cancel()
		case 4:
			st.verb, st.args = "notify", []string{fmt.Sprintf("n=%d", 1+r.IntN(40))}
		}
		s.steps = append(s.steps, st)
	}
	if r.IntN(3) == 0 {
		s.steps = append(s.steps, step{verb: "eager", host: pick(names), args: []string{"on"}})
	}
}

// watch gives some hosts interceptors and checks of their health.
func (s *story) watch(r *rand.Rand, names []string, length time.Duration) {
	for i := range s.groups {
		for j := range s.groups[i].hosts {
			watch{how: []string{"", "", "looks", "holds", "refuses"}[r.IntN(5)], healthy: r.IntN(4) == 0}.with(&s.groups[i].hosts[j])
		}
	}
	for range r.IntN(4) {
		s.steps = append(s.steps, step{
			at: time.Duration(r.Int64N(int64(length))).Round(time.Millisecond), verb: "sick",
			host: names[r.IntN(len(names))], args: []string{[]string{"on", "off"}[r.IntN(2)]},
		})
	}
}
