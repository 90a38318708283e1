package pending

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// ops are the events as the scripts call them.
var ops = map[string]Op{
	"send": Send, "register": Register, "wrote": Wrote, "unsent": Unsent, "drop": Drop, "cancel": Cancel, "answer": Answer, "ack": Ack, "item": Item,
	"progress": Progress, "grant": Grant, "drain": Drain, "cutoff": CutOff, "close": Close, "leave": Leave,
}

var faults = map[Fault]string{
	NeverMade: "never made", Answered: "answered before", NotAllowed: "items not allowed", NoCredit: "no credit", Disorder: "out of order",
}

var effects = []struct {
	bit  Effect
	name string
}{
	{Closed, "closed"}, {Overloaded, "overloaded"}, {Alone, "alone"}, {Sent, "sent"}, {Gone, "gone: tell the peer"}, {Orphaned, "the writer takes it along"},
	{Settle, "settle"}, {Deliver, "deliver"}, {TellCancel, "tell the peer"}, {GiveCredit, "give credit"}, {Free, "free to go"}, {Drained, "drained"},
}

// script is one table and the requests that are made in it, by name.
type script struct {
	table Table
	named map[string]*Entry
}

func (s *script) name(e *Entry) string {
	for name, other := range s.named {
		if other == e {
			return name
		}
	}
	return "?"
}

// TestScripts tells stories: a line of what happens, then what follows from it.
// `go test ./link/pending -args -rewrite` writes them anew.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/table", func(t *testing.T, path string) {
		var s *script
		var now int64
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				first := uint32(2)
				d.MaybeScanArgs(t, "first", &first)
				s, now = &script{NewTable(first), make(map[string]*Entry)}, 0
				if d.HasArg("inherits") {
					Inherit(&s.table, first)
				}
				s.table.Agree(Rules{d.HasArg("acks"), d.HasArg("cancel"), d.HasArg("abandon")})
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				now++
				fmt.Fprintln(&out, s.play(t, strings.Fields(line), now))
			}
			fmt.Fprintf(&out, "open %d, late %d, owed since %d\n", s.table.Len(), s.table.Late(), s.table.Owed())
			return out.String()
		})
	})
}

// play takes one step: an event, a request or an id, and a number or flags.
func (s *script) play(t *testing.T, words []string, now int64) string {
	if words[0] == "many" { // requests whose callers leave at once
		n, _ := strconv.Atoi(words[1])
		for range n {
			e := new(Entry)
			s.table.Step(Event{Op: Register, Entry: e}, now)
			s.table.Step(Event{Op: Cancel, Entry: e}, now)
		}
		return words[1] + " callers have left"
	}
	op, ok := ops[words[0]]
	if !ok {
		t.Fatalf("no event %q", words[0])
	}
	ev := Event{Op: op}
	if len(words) > 1 {
		if (op == Register || op == Send) && s.named[words[1]] == nil {
			s.named[words[1]] = new(Entry)
		}
		if e := s.named[words[1]]; e != nil {
			ev.Entry, ev.ID = e, e.ID()
		} else {
			id, err := strconv.ParseUint(words[1], 10, 32)
			if err != nil {
				t.Fatalf("no request %q", words[1])
			}
			ev.ID = uint32(id)
		}
	}
	for _, w := range words[min(2, len(words)):] {
		switch n, err := strconv.ParseUint(w, 10, 32); {
		case w == "internal":
			ev.Entry.Internal = true
		case w == "streamed":
			ev.Entry.Items = new(Items)
		case err == nil:
			ev.N = uint32(n)
		default:
			t.Fatalf("what is %q?", w)
		}
	}
	return strings.Join(words, " ") + ": " + s.show(s.table.Step(ev, now))
}

func (s *script) show(e Effects) string {
	var parts []string
	if e.ID != 0 {
		parts = append(parts, fmt.Sprintf("id %d", e.ID))
	}
	if e.Fault != NoFault {
		parts = append(parts, "FAULT "+faults[e.Fault])
	}
	for _, f := range effects {
		if e.Do.Has(f.bit) {
			parts = append(parts, f.name)
		}
	}
	if e.N != 0 {
		parts = append(parts, fmt.Sprintf("n %d", e.N))
	}
	if e.Since != 0 {
		parts = append(parts, fmt.Sprintf("since %d", e.Since))
	}
	for _, one := range s.table.Listed() {
		parts = append(parts, s.name(one))
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// TestStepSetsNothingAside holds that a whole call needs no memory of the table's.
func TestStepSetsNothingAside(t *testing.T) {
	table := NewTable(2)
	table.Agree(Rules{Acks: true, Cancel: true})
	var e Entry
	n := testing.AllocsPerRun(1000, func() {
		id := table.Step(Event{Op: Send, Entry: &e}, 2).ID
		table.Step(Event{Op: Ack, ID: id}, 3)
		if out := table.Step(Event{Op: Answer, ID: id}, 4); !out.Do.Has(Settle) || out.Entry != &e || out.Since != 2 {
			t.Fatalf("%+v", out)
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestIDsLeaveOutWhatIsOpen goes around once with two requests open.
func TestIDsLeaveOutWhatIsOpen(t *testing.T) {
	table := NewTable(2)
	register := func() uint32 { return table.Step(Event{Op: Register, Entry: new(Entry)}, 1).ID }
	got := []uint32{register(), register()}
	table.next = math.MaxUint32 - 1
	for range 4 {
		got = append(got, register())
	}
	// 0 is no id, and 2 and 3 are open still.
	if want := []uint32{2, 3, math.MaxUint32 - 1, math.MaxUint32, 1, 4}; !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

// TestSilence holds that only the time counts in which the peer could have sent
// something.
func TestSilence(t *testing.T) {
	table := NewTable(2)
	var items Items
	e := Entry{Items: &items}
	items.Begin(100)
	id := table.Step(Event{Op: Register, Entry: &e}, 150).ID
	if d := items.Silence(160); d != 60 {
		t.Errorf("%d before the first item", d)
	}
	for i := range uint32(Window) {
		if out := table.Step(Event{Op: Item, ID: id, N: i}, 200); !out.Do.Has(Deliver) {
			t.Fatalf("item %d: %+v", i, out)
		}
	}
	if d := items.Silence(1000); d != 0 {
		t.Errorf("%d without credit", d)
	}
	if out := table.Step(Event{Op: Grant, Entry: &e, N: Window}, 2000); out.N != Window {
		t.Fatalf("%+v", out)
	}
	if d := items.Silence(2030); d != 30 {
		t.Errorf("%d behind the last credit", d)
	}
}
