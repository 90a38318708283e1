package conformance

import "testing"

// The SDK and the host of wrong_test.go keep every rule, also those that are advised, over
// all transports.
func TestRightHostsKeepAllRules(t *testing.T) {
	for _, host := range []string{"sdk", ""} {
		for _, over := range Transports() {
			t.Run(host+"/"+over, func(t *testing.T) {
				t.Parallel()
				report := played(t, host, "", over)
				for i := range report.Results {
					if r := &report.Results[i]; r.Outcome != Passed {
						t.Error(describe(r))
					}
				}
				if n := report.Count(Passed); n < 100 {
					t.Errorf("only %d rules were played", n)
				}
			})
		}
	}
}
