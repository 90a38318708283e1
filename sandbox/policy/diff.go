package policy

import (
	"fmt"
	"slices"
	"strconv"
)

// Diff returns the differences between two policies and their limits as lines of a
// policy file: removed has the lines that only a has, added those that only b has,
// each in the order of the fields. Profiles are compared by their content, lists
// entry by entry. Diff accesses no file.
func Diff(a Policy, la Limits, b Policy, lb Limits) (removed, added []string) {
	of := b.lists()
	scalar := func(field, x, y string) {
		if x == y {
			return
		}
		if x != "" {
			removed = append(removed, field+" = "+x)
		}
		if y != "" {
			added = append(added, field+" = "+y)
		}
	}
	text := func(field string, x, y string) { scalar(field, quoted(x), quoted(y)) }
	number := func(field string, x, y float64) { scalar(field, numbered(x), numbered(y)) }
	size := func(field string, x, y int64) { scalar(field, sized(x), sized(y)) }

	text("level", string(a.Level), string(b.Level))
	text("user", a.User, b.User)
	for i, l := range a.lists() {
		for _, s := range *l.at {
			if !slices.Contains(*of[i].at, s) {
				removed = append(removed, Line(l.name, s))
			}
		}
		for _, s := range *of[i].at {
			if !slices.Contains(*l.at, s) {
				added = append(added, Line(l.name, s))
			}
		}
	}
	text("network", string(cmpOr(a.Network, NetworkNone)), string(cmpOr(b.Network, NetworkNone)))
	scalar("jit", fmt.Sprint(a.JIT), fmt.Sprint(b.JIT))
	size("tmp.size", a.Tmp.Size, b.Tmp.Size)
	number("tmp.inodes", float64(a.Tmp.Inodes), float64(b.Tmp.Inodes))
	text("work.path", a.Work.Path, b.Work.Path)
	size("work.size", a.Work.Size, b.Work.Size)
	number("work.inodes", float64(a.Work.Inodes), float64(b.Work.Inodes))
	scalar("work.keep", fmt.Sprint(a.Work.Keep), fmt.Sprint(b.Work.Keep))
	text("limits.enforce", string(la.Enforce), string(lb.Enforce))
	size("limits.memory", la.Memory, lb.Memory)
	number("limits.tasks", float64(la.Tasks), float64(lb.Tasks))
	number("limits.cpu", la.CPU, lb.CPU)
	number("limits.files", float64(la.Files), float64(lb.Files))
	size("limits.file_size", la.FileSize, lb.FileSize)
	size("limits.address_space", la.AddressSpace, lb.AddressSpace)
	return removed, added
}

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return Quote(s)
}

func numbered(n float64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

func sized(n int64) string {
	if n == 0 {
		return ""
	}
	return Quote(FormatSize(n))
}
