package show

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/lifecycle/record"
)

func TestFigures(t *testing.T) {
	reason := "no space left on \x1bdevice"
	one, two, three := 0.0412345, 12.3456, 0.000310987
	var b strings.Builder
	if err := (Screen{}).Figures(&b, []record.HostStatus{
		{Name: "quiet"},
		{Name: "math", StartupSeconds: &one, Calls: 1, Log: record.LogStatus{Written: 1, WrittenBytes: 80}},
		{Name: "full", Log: record.LogStatus{Written: 20, WrittenBytes: 2048, Lost: 7, LostBytes: 700, Error: &reason}},
		{Name: "code", StartupSeconds: &two, ActivationSeconds: &one, Calls: 12, AverageResponseSeconds: &three, Throttle: []record.ThrottleStatus{
			{Method: "change", Sent: 3, Coalesced: 97}, {Method: "x\x1b[2J", Sent: 1, Dropped: 2, Held: 1},
		}},
	}); err != nil {
		t.Fatal(err)
	}
	const want = `
math:
  ready in 41.2ms
  1 call
  log: 1 line written, 80B

full:
  log: 20 lines written, 2.0KiB; 7 lost, 700B
  log: cannot be written: no space left on \x1bdevice

code:
  ready in 12.3s
  extensions active in 41.2ms
  12 calls, answered in 311µs on average
  throttle change: 3 sent, 97 left out
`
	if got := b.String(); !strings.HasPrefix(got, want) || strings.Contains(got, "\x1b") || !strings.HasSuffix(got, "1 sent, 0 left out, 2 dropped, 1 held\n") {
		t.Errorf("%s\nwant %s", got, want)
	}
}
