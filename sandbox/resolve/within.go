package resolve

import (
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// around resolves the bounding policy.
func (r *resolver) around(p *policy.Policy, l policy.Limits) (*policy.Resolved, bool) {
	one := *r
	one.bad, one.ownWritten, one.exposures, one.found = policy.Problems{}, map[string]string{}, map[string]string{}, map[string]file{}
	if err := one.resolve(p, l); err != nil {
		r.bad.List = append(r.bad.List, err)
		return nil, false
	}
	return one.out, true
}

// narrow reduces this policy to what the bounding policy grants too.
func (r *resolver) narrow(given *policy.Policy, around *policy.Resolved) {
	p, q := &r.out.Policy, &around.Policy
	if !p.Level.AtLeast(q.Level) {
		p.Level = q.Level
	}
	if !p.Level.AtLeast(policy.NoCgroup) {
		p.Level = policy.NoCgroup // a grant with less access within another one takes mounts
	}
	if p.User != q.User && p.User != "" && p.User != "auto" {
		r.bad.Add("user", p.User, "the policy around this one does not let it choose a user", "remove it")
	}
	p.User, r.out.UID, r.out.GID, r.out.Groups = q.User, around.UID, around.GID, around.Groups
	r.narrowWork(around)

	r.narrowNetwork(q)
	p.Syscalls.Deny = union(p.Syscalls.Deny, q.Syscalls.Deny)
	p.Syscalls.Allow = common(p.Syscalls.Allow, q.Syscalls.Allow)
	p.Tmp = policy.Tmp{Size: narrower(given.Tmp.Size, q.Tmp.Size), Inodes: narrower(given.Tmp.Inodes, q.Tmp.Inodes)}

	r.narrowGrants(around)
	p.JIT = p.JIT && q.JIT
	r.narrowDenied(around)
	r.finishReadOnly()
	r.out.PrivateTmp = r.privateTmp()
	r.ownWritten = map[string]string{}
	for _, g := range r.out.Grants {
		if g.Dir && g.Access.Has(policy.Write) {
			r.ownWritten[g.Path] = g.Field
		}
	}
}

// narrowGrants gives each path the access that it has in both policies.
func (r *resolver) narrowGrants(around *policy.Resolved) {
	var all []policy.Grant
	for _, side := range [][2]*policy.Resolved{{r.out, around}, {around, r.out}} {
		for _, g := range side[0].Grants {
			switch other := at(side[1], g.Path); {
			case g.Device, g.Link != "":
				same := func(o policy.Grant) bool { return o.Path == g.Path && o.Device == g.Device && o.Link == g.Link }
				if g.Access &= other; !slices.ContainsFunc(side[1].Grants, same) && (g.Device || g.Access == 0) {
					continue
				}
			default:
				if g.Access = effective(side[0], g.Access) & other; g.Access == 0 {
					continue
				}
			}
			all = append(all, g)
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	all = slices.CompactFunc(all, func(a, b policy.Grant) bool { return a.Path == b.Path })
	var out []policy.Grant
	for _, g := range all {
		in := above(out, g.Path)
		if w := r.out.Policy.Work.Path; w != "" && policy.Within(g.Path, w) || g.Link != "" && in != nil {
			continue
		}
		g.ReadOnly = in != nil && in.Access.Has(policy.Write) && !g.Access.Has(policy.Write)
		if in == nil || g.Device || g.Access != in.Access || g.UID != in.UID {
			out = append(out, g)
		}
	}
	r.out.Grants = out
}

// at returns the access of a path by its grants and Policy.JIT.
func at(r *policy.Resolved, path string) policy.Access {
	for i := len(r.Grants) - 1; i >= 0; i-- {
		if g := &r.Grants[i]; g.Link == "" && !g.Device && (g.Path == path || g.Dir && policy.Within(path, g.Path)) {
			return effective(r, g.Access)
		}
	}
	return 0
}

// effective adds to an access the right to run written files, if the policy has it.
func effective(r *policy.Resolved, a policy.Access) policy.Access {
	if r.Policy.JIT && a.Has(policy.Write) {
		a |= policy.Exec
	}
	return a
}

// narrowDenied denies what either policy denies.
func (r *resolver) narrowDenied(around *policy.Resolved) {
	p := &r.out.Policy
	for _, d := range around.Denied {
		name, i, _ := strings.Cut(strings.TrimSuffix(d.Field, "]"), "[")
		if n, err := strconv.Atoi(i); err == nil { // shift its number to that in the joined list
			if name == "absent" {
				n += len(p.Absent)
			} else {
				n += len(p.Deny)
			}
			d.Field = name + "[" + strconv.Itoa(n) + "]"
		}
		r.out.Denied = append(r.out.Denied, d)
	}
	p.Deny, p.Absent = slices.Concat(p.Deny, around.Policy.Deny), slices.Concat(p.Absent, around.Policy.Absent)
	// Of two entries for one path, the one that denies more comes first and applies.
	sort.SliceStable(r.out.Denied, func(i, j int) bool { return !r.out.Denied[i].Absent && r.out.Denied[j].Absent })
	r.filterDenied()
	r.mounts()
}

// narrowWork keeps the work folder of the bounding policy. It belongs to the process,
// like /tmp, unless it is kept.
func (r *resolver) narrowWork(around *policy.Resolved) {
	own, w := &r.out.Policy.Work, around.Policy.Work
	switch {
	case own.Path != "":
		r.bad.Add("work.path", own.Path, "the policy around this one grants no folder of its own", "name a folder that it grants in write")
	case w.Keep && !at(r.out, w.Path).Has(policy.Write):
		r.bad.Add("work.path", w.Path, "it is kept, and the policy within this one does not let it be written", "use keep = false")
	}
	*own = w
}

// narrowNetwork keeps the addresses that both policies allow.
func (r *resolver) narrowNetwork(q *policy.Policy) {
	p := &r.out.Policy
	if p.Network != policy.NetworkHost && q.Network != policy.NetworkHost {
		p.Listen = common(p.Listen, q.Listen)
	} else if p.Network == policy.NetworkHost {
		p.Listen = q.Listen
	}
	switch {
	case q.Network == policy.NetworkHost:
	case p.Network == policy.NetworkHost:
		p.Network, p.Allow = q.Network, q.Allow
	case p.Network == policy.NetworkAllow && q.Network == policy.NetworkAllow:
		p.Allow = common(p.Allow, q.Allow)
	default:
		p.Network, p.Allow = policy.NetworkNone, nil
	}
	if len(p.Allow) == 0 && p.Network == policy.NetworkAllow {
		p.Network = policy.NetworkNone
	}
}

// narrower returns the lesser of two bounds; n may be 0 for no bound.
func narrower(n, bound int64) int64 {
	if n == 0 {
		return bound
	}
	return min(n, bound)
}

// common returns the entries that are in both lists.
func common(a, b []string) []string {
	var out []string
	for _, s := range a {
		if slices.Contains(b, s) {
			out = append(out, s)
		}
	}
	return out
}

// union returns the entries that are in either list.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
