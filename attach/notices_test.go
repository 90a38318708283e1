package attach

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/hostsup/hostsup/lifecycle"
)

// TestNotices runs scripts. A directive is what happens, with the time of that as the
// argument at. Its output is what is told, and when more is due. The input of "to", which
// changes the state, is the reason.
func TestNotices(t *testing.T) {
	s := &script{start: time.Unix(0, 0)}
	datadriven.RunTest(t, "testdata/notices.txt", s.run)
}

// script is a host of which people are told.
type script struct {
	n     notices
	start time.Time
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	a := advice{name: "ls", slow: "it loads", failed: "start it", exited: "a request starts it"}
	var offset string
	if d.HasArg("at") {
		d.ScanArgs(t, "at", &offset)
	}
	after, err := time.ParseDuration(offset)
	if err != nil && offset != "" {
		t.Fatal(err)
	}
	now := s.start.Add(after)
	var told []notice
	switch d.Cmd {
	case "new":
		s.n = notices{}
		return ""
	case "to":
		tr := lifecycle.Transition{From: s.n.state, To: lifecycle.State(d.CmdArgs[0].Key), Reason: d.Input}
		if d.HasArg("by") {
			var by string
			d.ScanArgs(t, "by", &by)
			tr.By = lifecycle.By(by)
		}
		told = s.n.changed(now, tr, a)
	case "tick":
		told = s.n.tick(now, a)
	case "unheard":
		s.n.unheard()
	default:
		t.Fatal(d.Cmd)
	}
	var out strings.Builder
	for _, n := range told {
		fmt.Fprintf(&out, "%s: %s", [...]string{"info", "warning", "error"}[n.gravity], n.text)
		if n.relief {
			out.WriteString(" (who was told)")
		}
		if n.printed {
			out.WriteString(" (and what it printed)")
		}
		out.WriteByte('\n')
	}
	if s.n.working {
		out.WriteString("work in progress\n")
	}
	if at := s.n.next(); !at.IsZero() {
		fmt.Fprintf(&out, "next at %s\n", at.Sub(s.start))
	}
	return out.String()
}

// Whatever happens to a host, at most nine messages of it fall into any minute: one of a
// crash, two of its being given up, one of a slow start, and as many and one more that it
// runs. What was told last is true in the end.
func TestNoticesAreBounded(t *testing.T) {
	follows := func(from lifecycle.State) (out []lifecycle.State) {
		for _, to := range lifecycle.States() {
			if lifecycle.Allowed(from, to) {
				out = append(out, to)
			}
		}
		return out
	}
	for seed := range uint64(200) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		var n notices
		var told []time.Time
		state, now := lifecycle.Stopped, time.Unix(0, 0)
		note := func(list []notice) {
			for range list {
				told = append(told, now)
			}
		}
		due := func(until time.Time) {
			for at := n.next(); !at.IsZero() && !at.After(until); at = n.next() {
				now = at
				note(n.tick(now, advice{}))
			}
			now = until
		}
		for range 500 {
			due(now.Add(time.Duration(rnd.Int64N(int64(8 * time.Second)))))
			list := follows(state)
			to := list[rnd.IntN(len(list))]
			note(n.changed(now, lifecycle.Transition{From: state, To: to, By: lifecycle.BySelf, Reason: "x"}, advice{}))
			state = to
		}
		due(now.Add(3 * noticeWindow))
		if n.left > 0 || !n.next().IsZero() {
			t.Fatalf("seed %d: %d were left out, and nothing tells them", seed, n.left)
		}
		if n.uneasy && state.Up() {
			t.Errorf("seed %d: the host is %s, and it was told last that it does not run", seed, state)
		}
		for i := range told {
			if i >= 9 && told[i].Sub(told[i-9]) < noticeWindow {
				t.Fatalf("seed %d: ten messages within %s", seed, told[i].Sub(told[i-9]))
			}
		}
	}
}
