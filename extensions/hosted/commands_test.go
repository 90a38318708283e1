package hosted

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/workbench/status"
)

// A progress is that of a command if its extension executed no other one when it began.
func TestProgressOfCommandsIsToldApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs commandRuns
		begins := func(extension string) status.Progress {
			time.Sleep(time.Second)       //nolint:forbidigo // in a synctest bubble
			defer time.Sleep(time.Second) //nolint:forbidigo // likewise
			return status.Progress{Extension: extension, Started: time.Now()}
		}
		expect := func(of *commandRun, p status.Progress, has, only bool) {
			t.Helper()
			if got := of.has(p); got != has {
				t.Errorf("has: %v", got)
			}
			if got := runs.isOnly(of, p); got != only {
				t.Errorf("only: %v", got)
			}
		}
		before := begins("acme.x")
		one, unknown := runs.begin("acme.x"), runs.begin("")
		alone, foreign := begins("Acme.X"), begins("acme.y")
		two := runs.begin("acme.x")
		both := begins("acme.x")
		runs.end(two)
		later := begins("acme.x")
		expect(one, before, false, false)
		expect(one, alone, true, true)
		expect(one, foreign, false, false)
		expect(one, both, true, false)
		expect(one, later, true, true)
		expect(two, alone, false, false)
		expect(unknown, foreign, true, false)
		runs.end(unknown)

		for range maxOthers + 1 {
			runs.end(runs.begin("acme.x"))
		}
		expect(one, later, true, false)
		runs.end(one)
		if len(runs.running) > 0 {
			t.Error("some still run")
		}
	})
}
