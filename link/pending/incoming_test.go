package pending

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

var verdicts = [...]string{"nothing", "FAULT never given", "starts", "waits", "too many", "too large", "stops", "dropped", "wakes"}

// TestIncoming tells stories of the peer's requests, in the way of TestScripts.
func TestIncoming(t *testing.T) {
	datadriven.Walk(t, "testdata/incoming", func(t *testing.T, path string) {
		var table Incoming
		var jobs map[uint32]*Job
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				var b Bounds
				d.MaybeScanArgs(t, "running", &b.Running)
				d.MaybeScanArgs(t, "open", &b.Open)
				d.MaybeScanArgs(t, "bytes", &b.Bytes)
				table, jobs = NewIncoming(b), make(map[uint32]*Job)
				return ""
			}
			var out strings.Builder
			for line := range strings.Lines(d.Input) {
				words := strings.Fields(line)
				fmt.Fprintf(&out, "%s: %s\n", strings.Join(words, " "), play(t, &table, jobs, words))
			}
			n, bytes := table.Open()
			fmt.Fprintf(&out, "open %d, %d bytes, running %d\n", n, bytes, table.Running())
			return out.String()
		})
	})
}

// play takes one step: what happens, an id or a size, and a number or a flag.
func play(t *testing.T, table *Incoming, jobs map[uint32]*Job, words []string) string {
	number := func(i int) int {
		if i >= len(words) {
			return 0
		}
		n, err := strconv.ParseUint(words[i], 10, 32)
		if err != nil {
			return 0 // a flag
		}
		return int(n)
	}
	id := uint32(number(1))
	j := jobs[id]
	var v Verdict
	switch words[0] {
	case "ask":
		if table.Seen(id) {
			return "FAULT open already"
		}
		j = &Job{ID: id, Size: number(2), Urgent: words[len(words)-1] == "urgent"}
		jobs[id] = j
		v = table.Ask(j)
	case "cancel":
		_, v = table.Withdraw(id)
	case "credit":
		_, v = table.Allow(id, uint32(number(2)))
	case "item":
		switch items, now := j.Takes(); {
		case j.Over():
			return "it is over"
		case !items:
			return "the peer has not said that it takes items"
		case !now:
			return "waits for credit"
		}
		seq := j.Seq()
		j.Sent()
		return fmt.Sprintf("number %d", seq)
	case "finish":
		j.Finish()
	case "answer":
		table.Answer(j)
	case "free":
		if next := table.Free(j); next != nil {
			return fmt.Sprintf("%d starts", next.ID)
		}
	case "hold":
		return fmt.Sprint(table.Hold(number(1)))
	case "unhold":
		table.Unhold(number(1))
	default:
		t.Fatalf("no event %q", words[0])
	}
	return verdicts[v]
}
