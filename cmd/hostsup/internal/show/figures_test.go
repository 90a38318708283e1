package show

import (
	"strings"
	"testing"

	"github.com/hostsup/hostsup/lifecycle/record"
)

func TestFigures(t *testing.T) {
	one, two, three := 0.0412345, 12.3456, 0.000310987
	var b strings.Builder
	if err := (Screen{}).Figures(&b, []record.HostStatus{
		{Name: "quiet"},
		{Name: "math", StartupSeconds: &one, Calls: 1},
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
