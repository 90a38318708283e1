package blame

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/hostsup/hostsup/extensions"
)

// TestScripts runs the scripts under testdata/scripts: events, then their effects. A
// cell is "home" or a name, and means its current life. `go test ./extensions/blame
// -args -rewrite` rewrites them.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		now := time.Unix(0, 0).UTC()
		var m *Machine
		lives := map[string]uint64{}
		calls := uint64(0)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				m = New(Rules{})
				for _, a := range d.CmdArgs {
					if _, err := fmt.Sscan(a.Vals[0], &m.rules.MaxLives); err != nil {
						t.Fatal(err)
					}
				}
				return "ok\n"
			}
			if d.Cmd == "apart" {
				var b strings.Builder
				for _, id := range m.Quarantined() {
					fmt.Fprintf(&b, "%s in %s\n", id, m.where[id])
				}
				return orNothing(b.String())
			}
			// A block of lines, one event each.
			var b strings.Builder
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				now = now.Add(time.Second)
				if wait, ok := strings.CutPrefix(f[0], "+"); ok {
					dur, err := time.ParseDuration(wait)
					if err != nil {
						t.Fatal(err)
					}
					now = now.Add(dur)
					continue
				}
				cell := Home
				if len(f) > 1 && f[1] != "home" {
					cell = f[1]
				}
				life, id, rest := lives[cell], extensions.ID(""), ""
				if len(f) > 2 {
					id, rest = extensions.ID(f[2]), strings.Join(f[3:], " ")
				}
				var ev Event
				switch f[0] {
				case "life":
					lives[cell]++
					ev = LifeStarted{cell, lives[cell]}
				case "end":
					ev = LifeEnded{cell, life}
				case "begin":
					ev = Began{cell, life, id}
				case "active":
					b.WriteString(show(m.Step(Began{cell, life, id}, now)))
					ev = Finished{cell, life, id}
				case "call":
					calls++
					ev = CallBegan{cell, life, calls, id, rest, 0}
				case "return":
					for n, c := range m.cells[cell].life.calls {
						if c.id == id {
							ev = CallEnded{cell, life, n}
						}
					}
				case "uncaught":
					ev = Uncaught{cell, life, id, rest}
				case "hung":
					ev = Hung{cell, life}
				case "alive":
					ev = Alive{cell, life}
				case "profile":
					var share float64
					if _, err := fmt.Sscan(rest, &share); err != nil {
						t.Fatal(err)
					}
					ev = Profile{cell, life, []Share{{id, share}}}
				case "crash":
					ev = Crashed{cell, life, Exit, strings.Join(f[2:], " ")}
				case "killed": // for being unresponsive
					ev = Crashed{cell, life, Hang, "killed: unresponsive for 30s"}
				case "memory":
					ev = Crashed{cell, life, Memory, "heap limit reached"}
				case "outside":
					ev = Crashed{cell, life, Outside, "killed by SIGKILL"}
				case "protocol":
					ev = Crashed{cell, life, Protocol, "message too large"}
				case "oldcrash":
					ev = Crashed{cell, life - 1, Exit, "late"}
				case "quiet":
					now = now.Add(m.rules.Quiet)
					ev = Fired{}
				case "isolate":
					ev = Isolate{extensions.ID(f[1])}
				case "release":
					ev = Release{extensions.ID(f[1])}
				case "forget":
					ev = Forget{[]extensions.ID{extensions.ID(f[1])}}
				default:
					t.Fatalf("%s: unknown event %s", d.Pos, f[0])
				}
				b.WriteString(show(m.Step(ev, now)))
			}
			return orNothing(b.String())
		})
	})
}

func orNothing(s string) string {
	if s == "" {
		return "nothing\n"
	}
	return s
}

func show(effects []Effect) string {
	var b strings.Builder
	place := func(c string) string {
		if c == Home {
			return "home"
		}
		return c
	}
	for _, e := range effects {
		switch e := e.(type) {
		case Open:
			fmt.Fprintf(&b, "open %s (%s)\n", e.Cell, e.Purpose)
		case Close:
			fmt.Fprintf(&b, "close %s\n", e.Cell)
		case Turn:
			fmt.Fprintf(&b, "%s is %s now\n", e.Cell, e.Purpose)
		case Move:
			fmt.Fprintf(&b, "move %s: %s -> %s\n", e.ID, place(e.From), place(e.To))
		case Forgive:
			fmt.Fprintf(&b, "forgive %s\n", place(e.Cell))
		case SetTimer:
			fmt.Fprintf(&b, "timer %s\n", e.After)
		case CancelTimer:
			b.WriteString("no timer\n")
		case Record:
			d := e.Decision
			fmt.Fprintf(&b, "%s %v at %s: %s\n", d.Verdict, d.IDs, place(d.Cell), d.Why)
			for _, ev := range d.Evidence {
				fmt.Fprintf(&b, "  %s %s, life %d of %s:", ev.Time.Format("15:04:05"), ev.Reason, ev.Life, place(ev.Cell))
				for i, s := range ev.Suspects {
					if i > 0 {
						b.WriteByte(';')
					}
					fmt.Fprintf(&b, " %s %s", s.ID, strings.Join(s.Why, ", "))
				}
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
