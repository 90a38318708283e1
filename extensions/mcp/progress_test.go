package mcp

import (
	"encoding/json"
	"maps"
	"testing"
)

// The numbers of a call only increase, as MCP demands, whatever the extension reports.
func TestProgressIncreases(t *testing.T) {
	var s scale
	last := -1.0
	for i, c := range []struct{ done, progress, total float64 }{
		{-1, 1, 0}, {-1, 2, 0}, {0.5, 2.5, 3}, {0.5, 2.5, 3}, {-1, 2.5, 3}, {0.25, 2.5, 3}, {0.75, 2.75, 3}, {1, 3, 3}, {1, 3, 3},
	} {
		progress, total := s.next(c.done)
		if progress <= last || progress-c.progress > 1e-9 || c.progress-progress > 1e-9 || total != c.total {
			t.Errorf("%d: %v/%v after %v", i, progress, total, last)
		}
		last = progress
	}
	s = scale{}
	if progress, total := s.next(0); progress != 0 || total != 1 {
		t.Errorf("%v/%v", progress, total)
	}
}

func TestContributors(t *testing.T) {
	got := Contributors([]json.RawMessage{
		[]byte(`{"publisher":"acme","name":"a","activationEvents":["onCommand:a.late","*"],"contributes":{"commands":[{"command":"a.one"},{"command":"shared"}]}}`),
		[]byte(`{"publisher":"acme","name":"b","contributes":{"commands":{"command":"shared"}}}`),
		[]byte(`{"name":"c","contributes":{"commands":[{"command":"c.one"}]}}`), []byte(`7`),
	})
	if want := map[string]string{"a.one": "acme.a", "shared": "acme.a", "a.late": "acme.a"}; !maps.Equal(got, want) {
		t.Errorf("%v", got)
	}
}
