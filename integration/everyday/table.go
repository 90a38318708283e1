package everyday

import (
	"fmt"
	"slices"
	"strings"
)

// Table is the list in words, as Markdown: how each thing ends, and the reasons.
func (s *Suite) Table() string {
	var b strings.Builder
	total, equal, denied, differs := 0, 0, 0, 0
	for _, g := range s.Groups {
		for _, t := range g.Things {
			total++
			for _, l := range Levels {
				switch {
				case t.has(Differs, l):
					differs++
				case t.has(Denied, l):
					denied++
				default:
					equal++
				}
			}
		}
	}
	fmt.Fprintf(&b, "%d things at %d levels: %d end as without confinement, %d are denied by the policy, %d differ.\n",
		total, len(Levels), equal, denied, differs)
	for _, g := range s.Groups {
		fmt.Fprintf(&b, "\n| %s |", g.Name)
		for _, l := range Levels {
			fmt.Fprintf(&b, " %s |", l)
		}
		b.WriteString(" codex exec-server 0.169 |\n|---|")
		b.WriteString(strings.Repeat("---|", len(Levels)+1) + "\n")
		for _, t := range g.Things {
			fmt.Fprintf(&b, "| %s |", cell(t.Name))
			for _, l := range Levels {
				fmt.Fprintf(&b, " %s |", cell(t.ends(l)))
			}
			fmt.Fprintf(&b, " %s |\n", cell(t.theirs()))
		}
	}
	for _, k := range []struct {
		kind    Kind
		heading string
	}{{Denied, "What policies deny"}, {Differs, "What ours does otherwise"}, {Real, "What codex exec-server 0.169 does otherwise than ours"}} {
		var rows []string
		for _, r := range s.Reasons {
			if s.uses(k.kind, r) {
				rows = append(rows, fmt.Sprintf("| %s | %s |\n", r.Name, cell(r.Why)))
			}
		}
		if len(rows) > 0 {
			fmt.Fprintf(&b, "\n| %s | |\n|---|---|\n%s", k.heading, strings.Join(rows, ""))
		}
	}
	return b.String()
}

func cell(s string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(s) }

func (t *Thing) has(kind Kind, l Level) bool {
	return t.For(kind, l, "root") != nil || t.For(kind, l, "user") != nil
}

// ends is how a thing ends at a level.
func (t *Thing) ends(l Level) string {
	var parts []string
	for _, e := range t.Exceptions {
		if e.Kind != Real && slices.Contains(e.Levels, l) {
			parts = append(parts, fmt.Sprintf("%s%s: %s", e.Kind, e.as(), e.Reason.Name))
		}
	}
	if len(parts) == 0 {
		return "equal"
	}
	return strings.Join(parts, "; ")
}

// theirs is where the real program does otherwise than ours.
func (t *Thing) theirs() string {
	var parts []string
	for _, e := range t.Exceptions {
		if e.Kind != Real {
			continue
		}
		var at []string
		for _, l := range e.Levels {
			at = append(at, string(l))
		}
		parts = append(parts, fmt.Sprintf("%s (%s%s)", e.Reason.Name, strings.Join(at, ", "), e.as()))
	}
	if len(parts) == 0 {
		return "the same"
	}
	return strings.Join(parts, "; ")
}

func (e *Exception) as() string {
	if e.User == "" {
		return ""
	}
	return " as " + e.User
}

func (s *Suite) uses(kind Kind, r *Reason) bool {
	for _, g := range s.Groups {
		for _, t := range g.Things {
			if slices.ContainsFunc(t.Exceptions, func(e *Exception) bool { return e.Kind == kind && e.Reason == r }) {
				return true
			}
		}
	}
	return false
}
