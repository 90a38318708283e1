package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Merge returns base with over added to it. Lists are joined without duplicates;
// the entries of over come first, so that they keep their numbers in messages.
// A scalar of over that is not zero replaces that of base. JIT, Ordinary and
// Work.Keep are set when either policy sets them. Merge changes neither argument,
// and the result shares no memory with them.
func Merge(base, over Policy) Policy {
	out := over.clone()
	inherit(&out.Profile, base.Profile)
	inherit(&out.Level, base.Level)
	inherit(&out.User, base.User)
	inherit(&out.Network, base.Network)
	inherit(&out.Tmp.Size, base.Tmp.Size)
	inherit(&out.Tmp.Inodes, base.Tmp.Inodes)
	inherit(&out.Work.Path, base.Work.Path)
	inherit(&out.Work.Size, base.Work.Size)
	inherit(&out.Work.Inodes, base.Work.Inodes)
	inherit(&out.Within, base.Within)
	out.Work.Keep = out.Work.Keep || base.Work.Keep
	out.JIT = out.JIT || base.JIT
	out.Ordinary = out.Ordinary || base.Ordinary
	source := map[string]string{} // of base, under the numbers in out
	more := base.lists()
	for i, l := range out.lists() {
		for j, s := range *more[i].at {
			at := slices.Index(*l.at, s)
			if at < 0 {
				at = len(*l.at)
				*l.at = append(*l.at, s)
			}
			if pos, ok := base.Source[fmt.Sprintf("%s[%d]", l.name, j)]; ok {
				source[fmt.Sprintf("%s[%d]", l.name, at)] = pos
			}
		}
	}
	for field, pos := range base.Source {
		if !strings.HasSuffix(field, "]") {
			source[field] = pos
		}
	}
	maps.Copy(source, over.Source)
	if len(source) > 0 {
		out.Source = source
	}
	return out
}

// Without returns what p adds to base. When p has all entries of base,
// Merge(base, Without(p, base)) equals p except for the order of entries. JIT and
// Profile stay as they are in p. Without changes neither argument; the result has
// no Source.
func Without(p, base Policy) Policy {
	out := p.clone()
	out.Source = nil
	clearIf(&out.Level, base.Level)
	clearIf(&out.User, base.User)
	clearIf(&out.Network, base.Network)
	clearIf(&out.Tmp.Size, base.Tmp.Size)
	clearIf(&out.Tmp.Inodes, base.Tmp.Inodes)
	if out.Work == base.Work {
		out.Work = Work{}
	}
	of := base.lists()
	for i, l := range out.lists() {
		*l.at = slices.DeleteFunc(*l.at, func(s string) bool { return slices.Contains(*of[i].at, s) })
	}
	return out
}

// clearIf sets *dst to zero if it equals v.
func clearIf[T comparable](dst *T, v T) {
	if *dst == v {
		var zero T
		*dst = zero
	}
}

// inherit sets *dst to v if it is zero.
func inherit[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

// WithDefaults returns a copy of p with zero values replaced by their defaults;
// root says whether the supervisor runs as root.
func (p *Policy) WithDefaults(root bool) Policy {
	q := p.clone()
	q.Level = p.Weakest(root)
	switch {
	case q.User == "" && root:
		q.User = "auto"
	case (q.User == "auto" || q.User == Caller) && !root:
		q.User = ""
	}
	def := func(n *int64, def int64) {
		if *n == 0 {
			*n = def
		}
	}
	if q.Network == "" {
		q.Network = NetworkNone
	}
	def(&q.Tmp.Size, DefaultTmpSize)
	def(&q.Tmp.Inodes, DefaultTmpInodes)
	if q.Work.Path != "" {
		def(&q.Work.Size, DefaultWorkSize)
		def(&q.Work.Inodes, DefaultWorkInodes)
	}
	return q
}

// list is one of a policy's lists, with the name of its field.
type list struct {
	name string
	at   *[]string
}

// lists returns all lists of a policy, always in the same order.
func (p *Policy) lists() []list {
	return []list{
		{"read", &p.Read}, {"exec", &p.Exec}, {"write", &p.Write}, {"read_only", &p.ReadOnly}, {"deny", &p.Deny},
		{"absent", &p.Absent},
		{"allow", &p.Allow}, {"listen", &p.Listen}, {"devices", &p.Devices},
		{"syscalls.deny", &p.Syscalls.Deny}, {"syscalls.allow", &p.Syscalls.Allow},
	}
}

func (p Policy) clone() Policy {
	p.Source = maps.Clone(p.Source)
	for _, l := range p.lists() {
		*l.at = slices.Clone(*l.at)
	}
	return p
}
