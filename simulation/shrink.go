package simulation

import (
	"slices"
	"strings"
)

// shrink returns the shortest story it finds that still fails, given one that does. It
// leaves out steps, then hosts, then the lateness of tasks.
func shrink(s *story, fails func(*story) bool) *story {
	try := func(change func(*story)) bool {
		next := s.clone()
		change(next)
		if !fails(next) {
			return false
		}
		s = next
		return true
	}
	for n := len(s.steps); n > 0; n /= 2 {
		for i := 0; i < len(s.steps); {
			if !try(func(o *story) { o.steps = slices.Delete(o.steps, i, min(i+n, len(o.steps))) }) {
				i += n
			}
		}
	}
	for g := len(s.groups) - 1; g >= 0; g-- {
		for h := len(s.groups[g].hosts) - 1; h >= 0; h-- {
			try(func(o *story) { o.without(g, h) })
		}
	}
	try(func(o *story) { o.late = 0 })
	return s
}

func (s *story) clone() *story {
	next := *s
	next.steps = slices.Clone(s.steps)
	next.groups = slices.Clone(s.groups)
	for i := range next.groups {
		next.groups[i].hosts = slices.Clone(next.groups[i].hosts)
	}
	return &next
}

// without leaves out a host with all that is done to it.
func (s *story) without(g, h int) {
	hosts := s.groups[g].hosts
	name := hosts[h].Name
	s.groups[g].hosts = slices.Delete(hosts, h, h+1)
	for i := range s.groups[g].hosts {
		rule := &s.groups[g].hosts[i].Start
		if slices.Contains(rule.DependsOn, name) {
			rule.DependsOn = nil
		}
	}
	s.steps = slices.DeleteFunc(s.steps, func(st step) bool {
		return st.host == name || slices.ContainsFunc(st.args, func(a string) bool { return strings.HasPrefix(a, "to-"+name+".") })
	})
	if len(s.groups[g].hosts) == 0 {
		s.groups = slices.Delete(s.groups, g, g+1)
	}
}
