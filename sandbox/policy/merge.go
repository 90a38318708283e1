package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Merge returns base with what over says added to it: lists are joined, each
// entry once, those of over first, so that they keep their numbers in messages;
// a scalar of over that is not its zero value replaces base's; JIT and
// Work.Keep hold when either has them. Neither argument is changed, and the
// result shares nothing with them.
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
	places := map[string]string{} // of base, under the numbers in out
	more := base.lists()
	for i, l := range out.lists() {
		for j, s := range *more[i].at {
			at := slices.Index(*l.at, s)
			if at < 0 {
				at = len(*l.at)
				*l.at = append(*l.at, s)
			}
			if place, ok := base.Source[fmt.Sprintf("%s[%d]", l.name, j)]; ok {
				places[fmt.Sprintf("%s[%d]", l.name, at)] = place
			}
		}
	}
	for field, place := range base.Source {
		if !strings.HasSuffix(field, "]") {
			places[field] = place
		}
	}
	maps.Copy(places, over.Source)
	if len(places) > 0 {
		out.Source = places
	}
	return out
}

// Without returns what p has beyond base: Merge(base, Without(p, base)) is p, for
// a p that has all of base's entries, except for the order of entries and for
// JIT, which stays as it is in p. Profile stays too. Neither argument is changed,
// and the result has no Source.
func Without(p, base Policy) Policy {
	out := p.clone()
	out.Source = nil
	shed(&out.Level, base.Level)
	shed(&out.User, base.User)
	shed(&out.Network, base.Network)
	shed(&out.Tmp.Size, base.Tmp.Size)
	shed(&out.Tmp.Inodes, base.Tmp.Inodes)
	if out.Work == base.Work {
		out.Work = Work{}
	}
	of := base.lists()
	for i, l := range out.lists() {
		*l.at = slices.DeleteFunc(*l.at, func(s string) bool { return slices.Contains(*of[i].at, s) })
	}
	return out
}

// shed makes a zero value of what is inherited.
func shed[T comparable](dst *T, v T) {
	if *dst == v {
		var zero T
		*dst = zero
	}
}

// inherit fills in a zero value.
func inherit[T comparable](dst *T, v T) {
	var zero T
	if *dst == zero {
		*dst = v
	}
}

// WithDefaults returns a copy of p with zero values replaced by what they stand
// for, where the supervisor runs as root or as another user.
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

// lists are all lists of a policy, always in the same order.
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
