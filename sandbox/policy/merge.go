package policy

import (
	"fmt"
	"maps"
	"os"
	"slices"
)

// Merge returns base with what over says added to it: lists are joined, each
// entry once; a scalar of over that is not its zero value replaces base's; JIT
// holds when either has it. Neither argument is changed, and the result shares
// nothing with them.
func Merge(base, over Policy) Policy {
	out := base.clone()
	if out.Source == nil {
		out.Source = map[string]string{}
	}
	for _, name := range []string{"", "profile", "level", "user", "network", "jit", "tmp", "tmp.size", "tmp.inodes", "work", "work.path", "work.size", "work.inodes", "work.keep",
		"read", "exec", "write", "deny", "allow", "devices", "syscalls", "syscalls.deny", "syscalls.allow"} {
		if at, ok := over.Source[name]; ok {
			out.Source[name] = at
		}
	}
	set(&out.Profile, over.Profile)
	set(&out.Level, over.Level)
	set(&out.User, over.User)
	set(&out.Network, over.Network)
	set(&out.Tmp.Size, over.Tmp.Size)
	set(&out.Tmp.Inodes, over.Tmp.Inodes)
	set(&out.Work.Path, over.Work.Path)
	set(&out.Work.Size, over.Work.Size)
	set(&out.Work.Inodes, over.Work.Inodes)
	out.Work.Keep = out.Work.Keep || over.Work.Keep
	out.JIT = out.JIT || over.JIT
	lists := out.lists()
	for i, more := range over.lists() {
		out.join(lists[i], more, over.Source)
	}
	for k, at := range over.Source {
		if len(k) > 7 && k[:7] == "limits." {
			out.Source[k] = at
		}
	}
	if len(out.Source) == 0 {
		out.Source = nil
	}
	return out
}

// WithDefaults returns a copy of p with zero values replaced by what they stand
// for, for the user of this process.
func (p *Policy) WithDefaults() Policy {
	q := p.clone()
	root := os.Geteuid() == 0
	q.Level = p.Weakest()
	switch {
	case q.User == "" && root:
		q.User = "auto"
	case q.User == "auto" && !root:
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

func set[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}

// list is one of a policy's lists, with the name of its field.
type list struct {
	name string
	at   *[]string
}

// lists are all lists of a policy, always in the same order.
func (p *Policy) lists() []list {
	return []list{
		{"read", &p.Read}, {"exec", &p.Exec}, {"write", &p.Write}, {"deny", &p.Deny},
		{"allow", &p.Allow}, {"devices", &p.Devices},
		{"syscalls.deny", &p.Syscalls.Deny}, {"syscalls.allow", &p.Syscalls.Allow},
	}
}

// join adds entries to one of out's lists, with their places.
func (p *Policy) join(dst, more list, source map[string]string) {
	for i, s := range *more.at {
		at := slices.Index(*dst.at, s)
		if at < 0 {
			at = len(*dst.at)
			*dst.at = append(*dst.at, s)
		}
		if place, ok := source[fmt.Sprintf("%s[%d]", more.name, i)]; ok {
			p.Source[fmt.Sprintf("%s[%d]", dst.name, at)] = place
		}
	}
}

func (p Policy) clone() Policy {
	p.Source = maps.Clone(p.Source)
	for _, l := range p.lists() {
		*l.at = slices.Clone(*l.at)
	}
	return p
}
