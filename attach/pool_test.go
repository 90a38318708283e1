package attach

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestPool plays testdata/pool.txt: which instance a program gets, and which goes. A line is
// what happens, and the outcome behind "->"; "new LIMIT AFTER" begins another pool.
func TestPool(t *testing.T) {
	f, err := os.Open("testdata/pool.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var (
		p      pool
		limit  int
		after  time.Duration
		now    = time.Unix(1_000_000, 0)
		busy   map[int]bool
		played int
	)
	seconds := func(at time.Time) string {
		if at.IsZero() {
			return "never"
		}
		return "in " + at.Sub(now).String()
	}
	for s := bufio.NewScanner(f); s.Scan(); {
		line := strings.TrimSpace(s.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		what, want, _ := strings.Cut(line, " -> ")
		words := strings.Fields(what)
		number := func(i int) (n int) {
			if _, err := fmt.Sscan(words[i], &n); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			return n
		}
		got := ""
		switch words[0] {
		case "new":
			p, limit, busy = pool{}, number(1), map[int]bool{}
			if after, err = time.ParseDuration(words[2]); err != nil {
				t.Fatal(err)
			}
		case "join":
			c := p.join(strings.Trim(words[1], "-"), limit)
			switch got = fmt.Sprint(c.number); {
			case c.number == 0:
				got = "full"
			case c.made:
				got += " new"
			}
			if c.evict != 0 {
				got += fmt.Sprintf(" for %d", c.evict)
			}
		case "enter":
			got = fmt.Sprint(p.enter(number(1), strings.Trim(words[2], "-")))
		case "leave":
			p.leave(number(1), now)
			got = seconds(p.next(after))
		case "retire":
			p.retire(number(1))
		case "has":
			got = fmt.Sprint(p.has(words[1]))
		case "forget":
			p.forget(number(1))
		case "busy":
			busy[number(1)] = true
		case "free":
			busy = map[int]bool{}
		case "pass":
			d, err := time.ParseDuration(words[1])
			if err != nil {
				t.Fatal(err)
			}
			now = now.Add(d)
			got = strings.Trim(fmt.Sprint(p.expire(now, after, func(n int) bool { return busy[n] })), "[]")
			got = strings.TrimSpace(got + " next " + seconds(p.next(after)))
		default:
			t.Fatalf("unknown: %s", line)
		}
		if got != want {
			t.Errorf("%s: got %q", line, got)
		}
		played++
	}
	if played < 30 {
		t.Errorf("%d lines were played", played)
	}
}
