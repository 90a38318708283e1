package location

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/hostsup/hostsup/extensions"
)

// TestScripts runs the scripts under testdata; `go test ./extensions/location -args
// -rewrite` rewrites the expected results.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var before Assignment
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			in := Input{Affinity: map[extensions.ID]int{}, Cells: map[extensions.ID]string{}, Worker: d.HasArg("worker"), Before: before}
			for line := range strings.Lines(d.Input) {
				f := strings.Fields(line)
				e := extensions.Extension{ID: extensions.ID(f[0]), Main: "m"}
				for _, w := range f[1:] {
					key, value, _ := strings.Cut(w, "=")
					switch key {
					case "needs":
						for s := range strings.SplitSeq(value, ",") {
							e.Dependencies = append(e.Dependencies, extensions.ID(s))
						}
					case "affinity":
						var n int
						if _, err := fmt.Sscan(value, &n); err != nil {
							t.Fatal(err)
						}
						in.Affinity[e.ID] = n
					case "cell":
						in.Cells[e.ID] = value
					case "data":
						e.Main = ""
					case "browser":
						e.Main, e.Browser = "", "b"
					case "both":
						e.Browser = "b"
					case "kinds":
						for s := range strings.SplitSeq(value, ",") {
							e.Kinds = append(e.Kinds, extensions.Kind(s))
						}
					default:
						t.Fatalf("%s: %s", d.Pos, w)
					}
				}
				in.List = append(in.List, e)
			}
			a := Assign(in)
			var b strings.Builder
			for _, h := range a.Hosts() {
				fmt.Fprintf(&b, "%s: %v\n", h.Name("ext"), h.Members)
			}
			for _, m := range a.Moves(before) {
				fmt.Fprintf(&b, "%s moves from %q to %q\n", m.ID, m.From.Name("ext"), m.To.Name("ext"))
			}
			for _, n := range a.Notes {
				fmt.Fprintf(&b, "%s %s\n", n.ID, n.Why)
			}
			before = a
			return b.String()
		})
	})
}

// After any change, only extensions with a changed number or cell move, and cells
// contain only isolated extensions and their dependents.
func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		all := make([]extensions.Extension, 9)
		affinity := map[extensions.ID]int{}
		for i := range all {
			all[i] = extensions.Extension{ID: extensions.ID(fmt.Sprintf("x.%d", i)), Main: "m"}
			if rng.IntN(3) == 0 && i > 0 {
				all[i].Dependencies = append(all[i].Dependencies, all[rng.IntN(i)].ID)
			}
			if rng.IntN(3) == 0 {
				affinity[all[i].ID] = 1 + rng.IntN(2)
			}
		}
		cells := map[extensions.ID]string{}
		var before Assignment
		for range 6 {
			list := slices.Clone(all)
			for range rng.IntN(4) {
				list = slices.Delete(list, 0, 1)
			}
			touched := map[extensions.ID]bool{}
			if id := all[rng.IntN(len(all))].ID; rng.IntN(2) == 0 {
				if cells[id] == "" {
					cells[id] = string(id)
				} else {
					delete(cells, id)
				}
				touched[id] = true
				for _, dep := range extensions.Dependents(all, id) {
					touched[dep] = true
				}
			}
			in := Input{List: list, Affinity: affinity, Cells: cells, Before: before}
			a := Assign(in)
			// The order of the list does not affect locations.
			slices.Reverse(in.List)
			if b := Assign(in); len(b.Moves(a)) > 0 {
				t.Fatalf("the order of the list affects locations: %v", b.Moves(a))
			}
			for _, m := range a.Moves(before) {
				// A missing dependency may take the cell of its dependents away.
				if !touched[m.ID] && m.From.Cell == "" && m.To.Cell == "" {
					t.Fatalf("%v has no reason to move", m)
				}
			}
			for id, p := range a.Places {
				if p.Cell == "" || cells[id] == p.Cell {
					continue
				}
				if !slices.ContainsFunc(list, func(e extensions.Extension) bool {
					return cells[e.ID] == p.Cell && slices.Contains(extensions.Dependents(list, e.ID), id)
				}) {
					t.Fatalf("%s is in cell %s without a reason", id, p.Cell)
				}
			}
			before = a
		}
	}
}
