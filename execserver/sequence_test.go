package execserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// The scripts under testdata read as stories: what arrives, and what may be
// published then. `go test ./execserver -args -rewrite` writes them anew.
func TestSequenceScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/sequence", func(t *testing.T, path string) {
		var s sequence
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var ready []Event
			note := ""
			switch d.Cmd {
			case "new":
				s = sequence{}
				d.MaybeScanArgs(t, "after", &s.last)
			case "get": // kind:seq …
				for _, a := range d.CmdArgs {
					ready = s.push(scriptEvent(t, a.Key), ready)
				}
			case "flood": // outputs from FROM to TO
				var from, to uint64
				d.ScanArgs(t, "from", &from)
				d.ScanArgs(t, "to", &to)
				for q := from; q <= to; q++ {
					ready = s.push(Event{Kind: Output, Seq: q, Data: []byte("x")}, ready)
				}
			case "skip":
				var to uint64
				d.ScanArgs(t, "to", &to)
				ready = s.skipTo(to)
			case "read":
				var r snapshot
				d.MaybeScanArgs(t, "next", &r.next)
				if d.HasArg("exited") {
					r.exited = true
					d.ScanArgs(t, "exited", &r.exitCode)
				}
				r.closed = d.HasArg("closed")
				var from, to uint64
				if d.HasArg("from") {
					d.ScanArgs(t, "from", &from)
					d.ScanArgs(t, "to", &to)
					for q := from; q <= to; q++ {
						r.chunks = append(r.chunks, Event{Kind: Output, Seq: q, Data: []byte("r")})
					}
				}
				for _, line := range strings.Fields(d.Input) {
					r.chunks = append(r.chunks, scriptEvent(t, line))
				}
				var v verdict
				var upTo uint64
				ready, v, upTo = s.absorb(r)
				note = fmt.Sprintf("%s, accounts for %d\n", [...]string{"caught up", "read on", "lost"}[v], upTo)
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}
			return showEvents(ready) + note + showSequence(&s)
		})
	})
}

func scriptEvent(t *testing.T, text string) Event {
	t.Helper()
	var e Event
	kind, number, _ := strings.Cut(text, ":")
	if _, err := fmt.Sscan(number, &e.Seq); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	switch kind {
	case "out":
		e.Kind, e.Data = Output, []byte("x")
	case "exited":
		e.Kind, e.ExitCode = Exited, 7
	case "closed":
		e.Kind = Closed
	default:
		t.Fatalf("no event %s", text)
	}
	return e
}

func showEvents(events []Event) string {
	if len(events) == 0 {
		return ""
	}
	if len(events) > 12 {
		return fmt.Sprintf("publishes %s … %s (%d)\n", showEvent(events[0]), showEvent(events[len(events)-1]), len(events))
	}
	var all []string
	for _, e := range events {
		all = append(all, showEvent(e))
	}
	return "publishes " + strings.Join(all, " ") + "\n"
}

func showEvent(e Event) string {
	s := fmt.Sprintf("%v:%d", e.Kind, e.Seq)
	if e.Kind == Exited {
		s += fmt.Sprintf("(%d)", e.ExitCode)
	}
	return s
}

func showSequence(s *sequence) string {
	text := fmt.Sprintf("at %d", s.last)
	if held := slices.Sorted(maps.Keys(s.ahead)); len(held) > 12 {
		text += fmt.Sprintf(", holds %d from %d to %d", len(held), held[0], held[len(held)-1])
	} else if len(held) > 0 {
		text += fmt.Sprintf(", holds %v", held)
	}
	if s.over > 0 {
		text += fmt.Sprintf(", dropped up to %d", s.over)
	}
	if s.waits() {
		text += ", waits"
	}
	if s.closed {
		text += ", closed"
	}
	return text + "\n"
}
