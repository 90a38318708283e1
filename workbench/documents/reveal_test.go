package documents

import (
	"strings"
	"testing"
)

// A document that is revealed is in an editor, which is not the active one.
func TestRevealedDocumentHasAnEditor(t *testing.T) {
	s := service(t, Options{})
	dir := t.TempDir()
	a, b := opened(t, s, written(t, dir, "a", "")), opened(t, s, written(t, dir, "b", ""))
	again := opened(t, s, b.URI())
	expect := func(want string) {
		t.Helper()
		s.mu.Lock()
		defer s.mu.Unlock()
		var groups []string
		for _, g := range s.tabModel(s.documents) {
			tabs := ""
			for _, tab := range g.Tabs {
				if tabs += tab.Label; tab.Active {
					tabs += "*"
				}
			}
			if g.Active {
				tabs = "[" + tabs + "]"
			}
			groups = append(groups, tabs)
		}
		if got := strings.Join(groups, " "); got != want {
			t.Errorf("groups %q, want %q", got, want)
		}
	}
	do := func(f func() error) {
		t.Helper()
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	do(a.Reveal)
	expect("[a*]")
	do(b.Reveal)
	do(b.Reveal)
	expect("[a*] b*")
	do(again.Reveal)
	b.Close()
	expect("[a*] b*")
	again.Close()
	expect("[a*]")

	c, d := opened(t, s, written(t, dir, "c", "")), opened(t, s, written(t, dir, "d", ""))
	do(a.Focus)
	do(c.Pin)
	do(c.Reveal) // its tab is not the active one of its group
	expect("[a*c] c*")
	do(d.Reveal)
	expect("[a*c] cd*")
	c.Close()
	expect("[a*] d*")
	d.Close()
	expect("[a*]")
}
