package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// grants collects what the lists grant, then lets grants add up.
func (r *resolver) grants() {
	p := &r.out.Policy
	for i, s := range p.Read {
		r.grant(fmt.Sprintf("read[%d]", i), s, Read)
	}
	for i, s := range p.Exec {
		r.grant(fmt.Sprintf("exec[%d]", i), s, Exec)
	}
	for i, s := range p.Write {
		r.grant(fmt.Sprintf("write[%d]", i), s, Write)
	}
	for i, s := range p.ReadOnly {
		r.grant(fmt.Sprintf("read_only[%d]", i), s, 0)
	}
	for i, s := range p.Devices {
		r.device(fmt.Sprintf("devices[%d]", i), s)
	}
	r.addUp()
	r.fix()
	r.out.PrivateTmp = !slices.ContainsFunc(r.out.Grants, func(g Grant) bool { return g.Link == "" && g.Path == "/tmp" })
}

// exists follows a granted entry; false when it is skipped or an error.
func (r *resolver) exists(field, entry string) (traced, bool) {
	path, optional := Optional(entry)
	t, err := r.seen.trace(filepath.Clean(path))
	switch {
	case errors.Is(err, fs.ErrPermission):
		if !optional {
			r.bad.add(field, entry, "this user may not look at it: "+reason(err), "")
		}
		return t, false
	case err != nil:
		r.bad.add(field, entry, reason(err), "")
		return t, false
	case t.missing != "":
		if !optional {
			why := "it does not exist"
			if t.missing != filepath.Clean(path) {
				why = "it does not exist: there is no " + t.missing
			}
			help := "make it first, or write \"-" + path + "\" to grant it where it exists"
			if isGlob(path) {
				help = "patterns are for deny; a grant names a folder with all that is in it"
			}
			r.bad.add(field, entry, why, help)
		}
		return t, false
	}
	return t, true
}

// reason is what the system said, with the path it said it of.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Path + ": " + pe.Err.Error()
	}
	return err.Error()
}

func (r *resolver) grant(field, entry string, access Access) {
	t, ok := r.exists(field, entry)
	if !ok {
		return
	}
	if why, help := misplaced(t.real, access.Has(Write)); why != "" {
		r.bad.add(field, entry, "it leads to "+t.real+": "+why, help)
		return
	}
	if t.info.Mode()&fs.ModeDevice != 0 {
		r.bad.add(field, entry, "it is a device file", "name it in devices")
		return
	}
	for _, l := range t.links {
		r.out.Grants = append(r.out.Grants, Grant{Path: l.path, Access: access, Link: l.text, Field: field, ReadOnly: access == 0})
	}
	r.out.Grants = append(r.out.Grants, Grant{Path: t.real, Access: access, Dir: t.info.IsDir(), Field: field, ReadOnly: access == 0})
}

// fix finishes what is to be read only: what holds it in its place, and what
// cannot be held there.
func (r *resolver) fix() {
	for _, l := range r.fixedLinks {
		if around := nearest(r.out.Grants, l.Path); around != nil && around.Access.Has(Write) {
			r.bad.add(l.Field, l.Path, fmt.Sprintf("it is a symbolic link in %s, which can be written, and could be replaced there", around.Path),
				"name what it leads to, and take it out of "+around.Path)
		}
	}
	for i := range r.out.Grants {
		if g := &r.out.Grants[i]; g.ReadOnly {
			g.Pinned = r.pinned(g.Path)
		}
	}
}

func (r *resolver) device(field, entry string) {
	t, ok := r.exists(field, entry)
	switch {
	case !ok:
		return
	case t.info.Mode()&fs.ModeCharDevice == 0:
		r.bad.add(field, entry, "it is no character device", "disks and folders cannot be granted as devices")
		return
	case !within(t.real, "/dev"):
		r.bad.add(field, entry, "it leads to "+t.real+", which is not in /dev", "")
		return
	}
	for _, l := range t.links {
		r.out.Grants = append(r.out.Grants, Grant{Path: l.path, Access: Write, Link: l.text, Field: field})
	}
	r.out.Grants = append(r.out.Grants, Grant{Path: t.real, Access: Write, Device: true, Field: field})
}

// addUp sorts the grants, merges those of one path, gives each the access of
// those around it, and drops those that then say nothing new.
func (r *resolver) addUp() {
	all := r.out.Grants
	fixed := map[string]bool{}
	for _, g := range all {
		if g.ReadOnly && g.Link == "" {
			fixed[g.Path] = true
		}
	}
	all = slices.DeleteFunc(all, func(g Grant) bool {
		if g.ReadOnly && g.Link != "" {
			r.fixedLinks = append(r.fixedLinks, g)
			return true
		}
		return false
	})
	for i := range all {
		g := &all[i]
		if g.ReadOnly = g.Link == "" && fixed[g.Path]; g.ReadOnly && g.Access.Has(Write) {
			r.bad.add(g.Field, g.Path, "it is in read_only too, and cannot be both", "take it out of one of the two")
		}
	}
	slices.SortStableFunc(all, func(a, b Grant) int { return strings.Compare(a.Path, b.Path) })
	var out []Grant
	for _, g := range all {
		if n := len(out); n > 0 && out[n-1].Path == g.Path {
			last := &out[n-1]
			if r.runsWritten(g, *last) {
				continue
			}
			last.Access |= g.Access
			continue
		}
		around := nearest(out, g.Path)
		if g.ReadOnly = g.ReadOnly && around != nil && around.Access.Has(Write); g.ReadOnly {
			g.Access = (g.Access | around.Access) &^ (Write &^ Read)
			out = append(out, g)
			continue
		}
		if g.Access == 0 {
			continue // nobody can write it, and nothing else is said of it
		}
		if around == nil {
			out = append(out, g)
			continue
		}
		if g.Link != "" {
			continue // it is there, in a folder that is granted
		}
		switch jit := r.out.Policy.JIT; {
		case jit, !around.Access.Has(Exec) || !g.Access.Has(Write):
			if r.runsWritten(g, *around) {
				continue
			}
			g.Access |= around.Access
		case !r.out.Policy.Level.AtLeast(NoCgroup):
			r.bad.add(g.Field, g.Path, fmt.Sprintf("what is written there could be run, because %s is granted for running; at level %s, which this policy accepts, that cannot be held apart",
				around.Path, r.out.Policy.Level), `use jit = true, or level = "no-cgroup" or "full", or grants beside each other`)
			continue
		default:
			g.Access |= around.Access &^ (Exec &^ Read) // what can be written cannot be run
		}
		if g.Access != around.Access {
			out = append(out, g)
		}
	}
	r.out.Grants = out
}

// runsWritten reports a grant for running of what can be written.
func (r *resolver) runsWritten(g, other Grant) bool {
	if r.out.Policy.JIT || g.ReadOnly || other.ReadOnly {
		return false
	}
	if g.Access.Has(Write) {
		g, other = other, g
	}
	if !g.Access.Has(Exec) || !other.Access.Has(Write) {
		return false
	}
	r.bad.add(g.Field, g.Path, fmt.Sprintf("it can be written too (%s), and with jit = false what a host can write it cannot run", other.Field),
		"set jit = true, or take it out of one of the two")
	return true
}

// nearest is the grant of the innermost folder around path. Grants are in
// order.
func nearest(grants []Grant, path string) *Grant {
	for i := len(grants) - 1; i >= 0; i-- {
		if g := &grants[i]; g.Dir && g.Path != path && within(path, g.Path) {
			return g
		}
	}
	return nil
}
