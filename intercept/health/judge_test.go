package health

import (
	"testing"
	"time"
)

// TestJudge tells what outcomes mean: "+" a check succeeds, "-" one fails, a second apart.
func TestJudge(t *testing.T) {
	const second = time.Second
	for _, c := range []struct {
		name  string
		terms terms
		late  int // before the check with this index nothing was checked for a minute
		marks string
		want  string // ".": nothing new, "u": unhealthy, "h": healthy again
	}{
		{"threshold", terms{threshold: 3}, -1, "+--+---+-", "......uh."},
		{"goes on", terms{threshold: 2}, -1, "----+", ".uuuh"},
		{"start period", terms{threshold: 2, period: 4 * second}, -1, "-----", "....u"},
		{"start period ends with success", terms{threshold: 2, period: time.Minute}, -1, "-+--", "...u"},
		{"time", terms{threshold: 1, after: 3 * second}, -1, "+--" + "-" + "+", "...uh"},
		{"late", terms{threshold: 3, after: 2 * second}, 3, "+---" + "--", ".....u"},
	} {
		now := time.Hour
		j := newJudge(c.terms, now)
		got := ""
		for i, m := range c.marks {
			if now += second; i == c.late {
				now += time.Minute
				j.late(now)
			}
			got += string(".hu"[j.take(now, m == '-')])
		}
		if got != c.want {
			t.Errorf("%s: %s means %s, expected %s", c.name, c.marks, got, c.want)
		}
	}
}

// A start that waits for a check is checked often at first, and never more seldom than
// the rule says.
func TestWaitOfAStart(t *testing.T) {
	j := newJudge(terms{interval: 10 * time.Second}, 0)
	for n, want := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, time.Second, time.Second} {
		if got := j.wait(n); got != want {
			t.Errorf("wait %d is %s, expected %s", n, got, want)
		}
	}
	if j.wait(-1) != 10*time.Second || j.wait(1000) != time.Second {
		t.Error("a host that runs is checked at its interval, and a long start each second")
	}
	if j.interval = 30 * time.Millisecond; j.wait(5) != 30*time.Millisecond {
		t.Error("the interval bounds the wait")
	}
}
