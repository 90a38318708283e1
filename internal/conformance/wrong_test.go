package conformance

import (
	"testing"
	"time"
)

// TestEachRuleHasAHostThatBreaksIt plays each rule against a host that keeps all rules but
// this one.
func TestEachRuleHasAHostThatBreaksIt(t *testing.T) {
	for _, rule := range Rules() {
		if rule.play == nil {
			continue // see supervisor_test.go
		}
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			over := rule.Only
			if over == "" {
				over = "fd"
			}
			report, err := Run(t.Context(), Options{
				Command: []string{hostProgram}, Env: environ(rule.ID), Rules: rule.ID, Transports: []string{over}, Timeout: 2 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			want := Broken
			if rule.Level == Advised {
				want = NotKept
			}
			for i := range report.Results {
				if r := &report.Results[i]; r.Rule.ID != rule.ID || r.Outcome != want {
					t.Error(describe(r))
				}
			}
		})
	}
}
