package policy

import "testing"

// A profile must be short enough to read: at most ten lines more than strict.
func TestProfilesAreShort(t *testing.T) {
	strict, _ := Profile("strict")
	for _, name := range Profiles() {
		p, _ := Profile(name)
		removed, added := Diff(strict, Limits{}, p, Limits{})
		if len(added) > 10 || len(removed) > 1 { // jit = false
			t.Errorf("%s takes %d lines of strict away and adds %d: %q", name, len(removed), len(added), added)
		}
	}
}
