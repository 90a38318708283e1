package location

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/extensions"
)

// Kind is a kind of host.
type Kind string

// The kinds. An extension that runs nowhere has kind "".
const (
	Process Kind = "process"
	Worker  Kind = "worker"
)

// Place is the location of an extension: the host where it runs. The zero value means
// that it runs nowhere.
type Place struct {
	Kind   Kind
	Number int    // the affinity; 0: the default host
	Cell   string // the name of an isolated host; Number is 0 then
}

// Name returns the name of the host, derived from that of the default host: "ext",
// "ext-2", "ext~cell", with "-web" for workers. It is "" for the zero Place.
func (p Place) Name(base string) string {
	switch {
	case p.Kind == "":
		return ""
	case p.Kind == Worker:
		base += "-web"
	}
	switch {
	case p.Cell != "":
		return base + "~" + p.Cell
	case p.Number != 0:
		return fmt.Sprintf("%s-%d", base, p.Number)
	}
	return base
}

// Input is the argument of [Assign].
type Input struct {
	List     []extensions.Extension   // of the registry
	Affinity map[extensions.ID]int    // configured numbers; those below 1 are ignored with a note
	Cells    map[extensions.ID]string // the cells of isolated extensions
	Worker   bool                     // hosts of kind Worker are available
	Before   Assignment               // the current assignment; zero at the start
}

// Note explains an unexpected location of an extension.
type Note struct {
	ID  extensions.ID
	Why string
}

// Assignment is the result of [Assign].
type Assignment struct {
	Places map[extensions.ID]Place // of every extension in the list
	Notes  []Note                  // in the order of the list

	order    []extensions.ID
	affinity map[extensions.ID]int
}

// Assign decides where everything runs.
func Assign(in Input) Assignment {
	a := assigner{Input: in, byID: map[extensions.ID]extensions.Extension{}, notes: map[extensions.ID][]string{}}
	a.Assignment = Assignment{Places: make(map[extensions.ID]Place, len(in.List)), affinity: map[extensions.ID]int{}}
	for _, e := range in.List {
		a.byID[e.ID] = e
		a.order = append(a.order, e.ID)
		if n, ok := in.Affinity[e.ID]; ok && n < 1 {
			a.note(e.ID, "affinity %d is ignored: it is not positive", n)
		} else if ok {
			a.affinity[e.ID] = n
		}
	}
	rest := map[Kind][]extensions.Extension{}
	cells := a.cells()
	for _, e := range in.List {
		kind := a.kind(e)
		switch cell := cells[e.ID]; {
		case kind == "":
			a.Places[e.ID] = Place{}
		case cell != "":
			a.Places[e.ID] = Place{Kind: kind, Cell: cell}
		default:
			rest[kind] = append(rest[kind], e)
		}
	}
	for _, kind := range []Kind{Process, Worker} {
		for _, family := range extensions.Families(rest[kind]) {
			a.family(kind, family)
		}
	}
	for _, id := range a.order {
		for _, why := range a.notes[id] {
			a.Notes = append(a.Notes, Note{id, why})
		}
	}
	return a.Assignment
}

type assigner struct {
	Input
	Assignment
	byID  map[extensions.ID]extensions.Extension
	notes map[extensions.ID][]string
}

func (a *assigner) note(id extensions.ID, format string, args ...any) {
	a.notes[id] = append(a.notes[id], fmt.Sprintf(format, args...))
}

// kind returns the first available kind that the extension prefers.
func (a *assigner) kind(e extensions.Extension) Kind {
	if !e.HasCode() {
		return ""
	}
	for _, k := range e.Kinds {
		switch {
		case k == extensions.KindWeb && e.Browser != "" && a.Worker:
			return Worker
		case k != extensions.KindWeb && e.Main != "":
			return Process
		}
	}
	switch {
	case e.Main != "":
		return Process
	case a.Worker:
		return Worker
	}
	a.note(e.ID, "runs in no host: it has only a browser entry, and there are no workers")
	return ""
}

// cells returns the cells of isolated extensions and of their dependents, which get
// the cell of the nearest isolated dependency.
func (a *assigner) cells() map[extensions.ID]string {
	out := map[extensions.ID]string{}
	for _, e := range a.List {
		if cell := a.Cells[e.ID]; cell != "" {
			out[e.ID] = cell
			continue
		}
		seen := map[extensions.ID]bool{e.ID: true}
		for level := []extensions.ID{e.ID}; len(level) > 0; {
			var next []extensions.ID
			for _, id := range level {
				for _, dep := range a.byID[id].Dependencies {
					if !seen[dep] {
						seen[dep] = true
						next = append(next, dep)
					}
				}
			}
			slices.Sort(next)
			at := slices.IndexFunc(next, func(id extensions.ID) bool { return a.Cells[id] != "" && a.byID[id].HasCode() })
			if at >= 0 {
				out[e.ID] = a.Cells[next[at]]
				if e.HasCode() {
					a.note(e.ID, "goes with %s, which it needs, into cell %s", next[at], out[e.ID])
				}
				break
			}
			level = next
		}
	}
	return out
}

// family assigns extensions that dependencies connect.
func (a *assigner) family(kind Kind, family []extensions.Extension) {
	number, from := 0, extensions.ID("")
	changed := false
	for _, e := range family {
		n := a.affinity[e.ID]
		changed = changed || n != a.Before.affinity[e.ID] && a.known(e.ID)
		if n != 0 && (from == "" || e.ID < from) {
			number, from = n, e.ID
		}
	}
	votes := map[int]int{}
	for _, e := range family {
		if p, ok := a.stays(e.ID, kind); ok {
			votes[p.Number]++
		}
	}
	home := number
	if !changed && len(votes) > 0 {
		home = popular(votes, number)
	}
	for _, e := range family {
		place := Place{Kind: kind, Number: home}
		if before, ok := a.stays(e.ID, kind); ok && !changed && before != place {
			a.note(e.ID, "stays in host %d, although most of its family is in host %d", before.Number, home)
			place = before
		}
		if n := a.affinity[e.ID]; n != 0 && n != place.Number {
			a.note(e.ID, "affinity %d is not used: its family is in host %d", n, place.Number)
		}
		a.Places[e.ID] = place
	}
}

// known reports whether the extension was assigned before.
func (a *assigner) known(id extensions.ID) bool { _, ok := a.Before.Places[id]; return ok }

// stays returns the current location of the extension, unless it is a cell.
func (a *assigner) stays(id extensions.ID, kind Kind) (Place, bool) {
	p, ok := a.Before.Places[id]
	return p, ok && p.Kind == kind && p.Cell == ""
}

// popular returns the number with the most votes; of several the configured one, or
// else the lowest.
func popular(votes map[int]int, configured int) int {
	best, most := 0, 0
	for n, v := range votes {
		if v > most || v == most && (n == configured || n < best && best != configured) {
			best, most = n, v
		}
	}
	return best
}

// Host is a location with the extensions that run there.
type Host struct {
	Place
	Members []extensions.ID // in the order of the list
}

// Hosts returns the needed hosts: processes before workers, numbers before cells.
func (a Assignment) Hosts() []Host {
	var out []Host
	at := map[Place]int{}
	for _, id := range a.order {
		p := a.Places[id]
		if p.Kind == "" {
			continue
		}
		i, ok := at[p]
		if !ok {
			i = len(out)
			at[p] = i
			out = append(out, Host{Place: p})
		}
		out[i].Members = append(out[i].Members, id)
	}
	slices.SortFunc(out, func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Cell, b.Cell), cmp.Compare(a.Number, b.Number))
	})
	return out
}

// Where returns the host names of all extensions that run (see [Place.Name]).
func (a Assignment) Where(base string) map[extensions.ID]string {
	out := make(map[extensions.ID]string, len(a.Places))
	for id, p := range a.Places {
		if p.Kind != "" {
			out[id] = p.Name(base)
		}
	}
	return out
}

// Move is an extension that changes its host.
type Move struct {
	ID       extensions.ID
	From, To Place
}

// Moves returns the extensions with another location than before, in the order of
// the list. It omits added and removed extensions.
func (a Assignment) Moves(before Assignment) []Move {
	var out []Move
	for _, id := range a.order {
		if from, ok := before.Places[id]; ok && from != a.Places[id] {
			out = append(out, Move{id, from, a.Places[id]})
		}
	}
	return out
}
