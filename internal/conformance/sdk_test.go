package conformance

import "testing"

// The SDK keeps every rule, also those that are advised, over all transports.
func TestSDKKeepsAllRules(t *testing.T) {
	report := played(t, "sdk", "", Transports()...)
	for i := range report.Results {
		if r := &report.Results[i]; r.Outcome != Passed {
			t.Error(describe(r))
		}
	}
	if n := report.Count(Passed); n < 3*80 {
		t.Errorf("%d rules were played", n)
	}
}
