package policy

import "testing"

// A profile is short enough to be read: ten lines more than strict at most.
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
