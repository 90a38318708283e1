package extensions

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts under testdata; `go test ./extensions -args -rewrite`
// rewrites the expected results.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var r Registry
		views := map[string]View{}
		started := map[ID]bool{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var b strings.Builder
			switch d.Cmd {
			case "apply":
				var c Change
				for _, a := range d.CmdArgs {
					if a.Key == "remove" {
						for _, v := range a.Vals {
							c.Remove = append(c.Remove, MakeID(v))
						}
					}
				}
				c.Add = parse(d.Input)
				next, problems := r.Apply(c, func(id ID) bool { return started[id] })
				r = next
				for _, p := range problems {
					fmt.Fprintln(&b, p)
				}
				fmt.Fprintf(&b, "version %d:", r.Version())
				for _, e := range r.All() {
					fmt.Fprintf(&b, " %s", e.Name())
				}
				b.WriteByte('\n')
			case "started":
				started[MakeID(d.CmdArgs[0].Key)] = true
				return "ok\n"
			case "interested":
				for _, id := range r.Interested(d.CmdArgs[0].Key) {
					fmt.Fprintln(&b, id)
				}
			case "groups":
				for _, g := range Groups(r.All()) {
					fmt.Fprintln(&b, names(g))
				}
			case "families":
				for _, g := range Families(r.All()) {
					fmt.Fprintln(&b, names(g))
				}
			case "dependents":
				for _, id := range Dependents(r.All(), MakeID(d.CmdArgs[0].Key)) {
					fmt.Fprintln(&b, id)
				}
			case "tell": // a host, and what it runs
				host, mine := d.CmdArgs[0].Key, map[ID]bool{}
				for _, a := range d.CmdArgs[1:] {
					mine[MakeID(a.Key)] = true
				}
				view, delta, ok := views[host].Move(r, func(e Extension) bool { return mine[e.ID] })
				if d.HasArg("next") {
					view, delta, ok = views[host].Next(r, func(e Extension) bool { return mine[e.ID] })
				}
				views[host] = view
				if !ok {
					return "nothing\n"
				}
				text, err := json.MarshalIndent(delta, "", " ")
				if err != nil {
					t.Fatal(err)
				}
				b.Write(text)
				b.WriteByte('\n')
			default:
				t.Fatalf("%s: unknown command %s", d.Pos, d.Cmd)
			}
			if b.Len() == 0 {
				return "nothing\n"
			}
			return b.String()
		})
	})
}

// parse reads lines of "name [needs=a,b] [on=event,event]".
func parse(in string) []Extension {
	var out []Extension
	for line := range strings.Lines(in) {
		f := strings.Fields(line)
		e := Extension{ID: MakeID(f[0]), Value: f[0], Main: "main.js", Description: json.RawMessage(fmt.Sprintf("{\"id\":%q}", f[0]))}
		for _, w := range f[1:] {
			if v, ok := strings.CutPrefix(w, "needs="); ok {
				for s := range strings.SplitSeq(v, ",") {
					e.Dependencies = append(e.Dependencies, MakeID(s))
				}
			}
			if v, ok := strings.CutPrefix(w, "on="); ok {
				e.Events = strings.Split(v, ",")
			}
		}
		out = append(out, e)
	}
	return out
}

func names(list []Extension) string {
	var out []string
	for _, e := range list {
		out = append(out, string(e.ID))
	}
	return strings.Join(out, " ")
}

// Kept extensions must not need dropped ones, dropped ones must reach a loop, and
// every error must show one.
func TestResolveProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		n := 1 + rng.IntN(9)
		list := make([]Extension, n)
		for i := range list {
			list[i].ID = ID(fmt.Sprintf("x.%d", i))
			for range rng.IntN(3) {
				list[i].Dependencies = append(list[i].Dependencies, ID(fmt.Sprintf("x.%d", rng.IntN(n+1))))
			}
		}
		byID := map[ID]Extension{}
		for _, e := range list {
			byID[e.ID] = e
		}
		kept, problems := Resolve(list)
		in := map[ID]bool{}
		for _, e := range kept {
			in[e.ID] = true
		}
		for _, e := range kept {
			for _, dep := range e.Dependencies {
				if _, known := byID[dep]; known && !in[dep] {
					t.Fatalf("%v keeps %s, which needs %s", list, e.ID, dep)
				}
			}
		}
		loops := 0
		for _, p := range problems {
			var e *Error
			if !errors.As(p, &e) {
				t.Fatalf("%T", p)
			}
			if !errors.Is(p, ErrLoop) {
				continue
			}
			loops++
			if in[e.ID] || e.Path[0] != e.ID || slices.Index(e.Path, e.Path[len(e.Path)-1]) == len(e.Path)-1 {
				t.Fatalf("%v", p)
			}
			for i, id := range e.Path[1:] {
				if !slices.Contains(byID[e.Path[i]].Dependencies, id) {
					t.Fatalf("%v: %s does not need %s", p, e.Path[i], id)
				}
			}
		}
		if loops+len(kept) != n {
			t.Fatalf("%d kept, %d in loops, of %d", len(kept), loops, n)
		}
		seen := map[ID]bool{}
		total := 0
		for _, g := range Groups(list) {
			for _, e := range g {
				for _, dep := range e.Dependencies {
					if in[dep] && !seen[dep] {
						t.Fatalf("%s comes before %s", e.ID, dep)
					}
				}
			}
			for _, e := range g {
				seen[e.ID] = true
				total++
			}
		}
		if total != len(kept) {
			t.Fatalf("groups hold %d of %d", total, len(kept))
		}
	}
}

// A host that applies all deltas must know the whole registry.
func TestDeltasAddUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	r := Registry{}
	var v View
	host := map[ID]int{} // the number in the description, by id
	for range 500 {
		var c Change
		for i := range 6 {
			id := ID(fmt.Sprintf("x.%d", i))
			if rng.IntN(3) == 0 {
				c.Remove = append(c.Remove, id)
			}
			if rng.IntN(3) == 0 {
				c.Add = append(c.Add, Extension{ID: id, Description: json.RawMessage(fmt.Sprintf(`{"id":%q,"n":%d}`, id, rng.Int32()))})
			}
		}
		r, _ = r.Apply(c, nil)
		if rng.IntN(2) == 0 {
			continue // two changes in one delta
		}
		next, d, _ := v.Next(r, func(e Extension) bool { return e.ID != "x.0" })
		v = next
		for _, k := range d.ToRemove {
			if _, ok := host[k.Lower]; !ok {
				t.Fatalf("%s is removed and was not there", k.Lower)
			}
			delete(host, k.Lower)
		}
		for _, raw := range d.ToAdd {
			var e struct {
				ID ID
				N  int
			}
			if err := json.Unmarshal(raw, &e); err != nil {
				t.Fatal(err)
			}
			if _, ok := host[e.ID]; ok {
				t.Fatalf("%s is added and was there", e.ID)
			}
			host[e.ID] = e.N
		}
		if len(host) != r.Len() {
			t.Fatalf("host knows %d of %d", len(host), r.Len())
		}
		for _, e := range r.All() {
			if want := fmt.Sprintf(`{"id":%q,"n":%d}`, e.ID, host[e.ID]); string(e.Description) != want {
				t.Fatalf("host knows %s, registry has %s", want, e.Description)
			}
		}
	}
}

func BenchmarkRegistry500(b *testing.B) {
	var list []Extension
	for i := range 500 {
		e := Extension{ID: ID(fmt.Sprintf("publisher.name%d", i)), Main: "x"}
		for j := range i % 4 {
			e.Dependencies = append(e.Dependencies, ID(fmt.Sprintf("publisher.name%d", i/(j+2))))
		}
		list = append(list, e)
	}
	for b.Loop() {
		if r, _ := NewRegistry(list); r.Len() == 0 {
			b.Fatal("empty")
		}
	}
}
