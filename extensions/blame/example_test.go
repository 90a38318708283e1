package blame_test

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
)

// Two crashes with one suspect in common.
func ExampleMachine() {
	m := blame.New(blame.Rules{})
	now := time.Unix(0, 0)
	for life, other := range []extensions.ID{"acme.go", "acme.css"} {
		n := uint64(life + 1)
		for _, ev := range []blame.Event{
			blame.LifeStarted{Cell: blame.Home, Life: n},
			blame.Finished{Life: n, ID: "acme.bad"},
			blame.Finished{Life: n, ID: other},
			blame.CallBegan{Life: n, Call: 1, ID: other, Method: "format"},
			blame.CallBegan{Life: n, Call: 2, ID: "acme.bad", Method: "run"},
			blame.Crashed{Life: n, Kind: blame.Exit, Reason: "killed by SIGABRT"},
		} {
			now = now.Add(time.Second)
			for _, e := range m.Step(ev, now) {
				switch e := e.(type) {
				case blame.Record:
					fmt.Println(e.Decision.Verdict, e.Decision.IDs, e.Decision.Why)
				case blame.Move:
					fmt.Println("move", e.ID, "to", e.To)
				}
			}
		}
	}
	// Output:
	// noted [acme.bad acme.go] killed by SIGABRT: one crash isolates no extension
	// isolated [acme.bad] it alone is a suspect in 2 of 2 crashes within 5m; it is on trial for 5m
	// move acme.bad to acme.bad
}
