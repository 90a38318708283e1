package lifecycle

import (
	"slices"
	"testing"
)

// Members keep their state in another order, dependencies still come first, and the new
// strategy decides what a crash means.
func TestArranged(t *testing.T) {
	g, err := NewGroup(OneForOne, []Member{{Name: "a"}, {Name: "b", DependsOn: []string{"c"}}, {Name: "c"}, {Name: "d"}})
	if err != nil {
		t.Fatal(err)
	}
	step := func(ev GroupEvent) (out []GroupEffect) {
		t.Helper()
		if g, out, err = g.Step(ev); err != nil {
			t.Fatal(err)
		}
		return out
	}
	step(Boot{})
	for _, name := range []string{"a", "c", "d"} {
		step(Changed{Name: name, To: Starting})
		step(Changed{Name: name, Answer: true})
		step(Changed{Name: name, To: Running})
	}
	g = Arranged(g, RestForOne, []string{"d", "b", "a"})
	if got := g.Names(); !slices.Equal(got, []string{"d", "c", "b", "a"}) {
		t.Fatalf("order %q", got)
	}
	var stopped []string
	for _, e := range step(Changed{Name: "d", To: Restarting}) {
		if c, ok := e.(Command); ok {
			if _, is := c.Event.(Stop); is {
				stopped = append(stopped, c.Name)
			}
		}
	}
	if !slices.Equal(stopped, []string{"a", "c"}) { // b was about to start
		t.Errorf("a crash of the first of rest_for_one stops %q", stopped)
	}
}
