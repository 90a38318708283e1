package resolve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// grants collects the grants of the lists and adds them up.
func (r *resolver) grants() {
	p := &r.out.Policy
	for i, s := range p.Read {
		r.grant(fmt.Sprintf("read[%d]", i), s, policy.Read)
	}
	for i, s := range p.Exec {
		r.grant(fmt.Sprintf("exec[%d]", i), s, policy.Exec)
	}
	for i, s := range p.Write {
		r.grant(fmt.Sprintf("write[%d]", i), s, policy.Write)
	}
	for i, s := range p.ReadOnly {
		r.grant(fmt.Sprintf("read_only[%d]", i), s, 0)
	}
	for i, s := range p.Devices {
		r.device(fmt.Sprintf("devices[%d]", i), s)
	}
	r.mergedLinks()
	r.addUp()
	r.finishReadOnly()
	r.out.PrivateTmp = r.privateTmp()
}

func (r *resolver) privateTmp() bool {
	return !slices.ContainsFunc(r.out.Grants, func(g policy.Grant) bool { return g.Link == "" && g.Path == "/tmp" })
}

// exists follows the path of an entry; false if the entry is skipped or an error.
func (r *resolver) exists(field, entry string) (traced, bool) {
	path, optional := policy.Optional(entry)
	t, err := r.seen.trace(filepath.Clean(path))
	switch {
	case errors.Is(err, fs.ErrPermission):
		if !optional {
			r.bad.Add(field, entry, "this user may not look at it: "+reason(err), "")
		}
		return t, false
	case errors.Is(err, errLinks) && !r.checkLinks(field, entry, &t):
		return t, false
	case err != nil:
		if !optional || !errors.Is(err, syscall.ENOTDIR) { // a file contains no path
			r.bad.Add(field, entry, reason(err), "")
		}
		return t, false
	case t.missing != "":
		if !optional {
			why := "it does not exist"
			if t.missing != filepath.Clean(path) {
				why = "it does not exist: there is no " + t.missing
			}
			help := "make it first, or write \"-" + path + "\" to grant it where it exists"
			if policy.IsGlob(path) {
				help = "patterns are for deny; a grant names a folder with all that is in it"
			}
			r.bad.Add(field, entry, why, help)
		}
		return t, false
	}
	return t, true
}

// reason returns the system's error with the path that it is about.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Path + ": " + pe.Err.Error()
	}
	return err.Error()
}

func (r *resolver) grant(field, entry string, access policy.Access) {
	t, ok := r.exists(field, entry)
	if !ok {
		return
	}
	if why, help := policy.Misplaced(t.real, access.Has(policy.Write)); why != "" {
		r.bad.Add(field, entry, "it leads to "+t.real+": "+why, help)
		return
	}
	info, ok := r.trusted(field, entry, &t)
	if !ok {
		return
	}
	if access.Has(policy.Write) {
		for image, owner := range r.images {
			if policy.Within(image, t.real) {
				r.bad.Distrust(field, entry, fmt.Sprintf("%s holds the file system of the work folder of %s, and only the supervisor may be able to change that file",
					image, cmp.Or(owner, "another sandbox")), "grant the folders beside it")
				return
			}
		}
	}
	if info.Mode()&fs.ModeDevice != 0 {
		r.bad.Add(field, entry, "it is a device file", "name it in devices")
		return
	}
	for _, l := range t.links {
		r.out.Grants = append(r.out.Grants, policy.Grant{Path: l.path, Access: access, Link: l.text, Field: field, ReadOnly: access == 0})
	}
	g := policy.Grant{Path: t.real, Access: access, Dir: info.IsDir(), Field: field, ReadOnly: access == 0}
	id := sys.IDOf(info)
	g.Node, g.Inode = id.Device, id.Inode
	g.UID, g.GID, _ = sys.OwnersOf(info)
	r.out.Grants = append(r.out.Grants, g)
}

// finishReadOnly finds the pinned folders of the read-only grants.
func (r *resolver) finishReadOnly() {
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
		r.bad.Add(field, entry, "it is not a character device", "disks and folders cannot be granted as devices")
		return
	case !policy.Within(t.real, "/dev"):
		r.bad.Add(field, entry, "it leads to "+t.real+", which is not in /dev", "")
		return
	}
	for _, l := range t.links {
		r.out.Grants = append(r.out.Grants, policy.Grant{Path: l.path, Access: policy.Write, Link: l.text, Field: field})
	}
	r.out.Grants = append(r.out.Grants, policy.Grant{Path: t.real, Access: policy.Write, Device: true, Field: field})
}

// addUp sorts the grants, merges those of one path, gives each the access of its
// enclosing grants, and removes those that then add nothing.
func (r *resolver) addUp() {
	all := r.out.Grants
	fixed := map[string]bool{}
	for _, g := range all {
		if g.ReadOnly && g.Link == "" {
			fixed[g.Path] = true
		}
	}
	all = slices.DeleteFunc(all, func(g policy.Grant) bool { return g.ReadOnly && g.Link != "" })
	for i := range all {
		g := &all[i]
		if g.ReadOnly = g.Link == "" && fixed[g.Path]; g.ReadOnly && g.Access.Has(policy.Write) {
			r.bad.Add(g.Field, g.Path, "it is in read_only too, and cannot be both", "remove it from one of the two")
		}
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	var out []policy.Grant
	for _, g := range r.merge(all) {
		around := above(out, g.Path)
		if g.ReadOnly = g.ReadOnly && around != nil && around.Access.Has(policy.Write); g.ReadOnly {
			g.Access = (g.Access | around.Access) &^ (policy.Write &^ policy.Read)
			out = append(out, g)
			continue
		}
		if g.Access == 0 {
			continue // it is not writable anyway
		}
		if around == nil {
			out = append(out, g)
			continue
		}
		if g.Link != "" {
			continue // an enclosing folder is granted
		}
		switch jit := r.out.Policy.JIT; {
		case jit, !around.Access.Has(policy.Exec) || !g.Access.Has(policy.Write):
			if r.runsWritten(g, *around) {
				continue
			}
			g.Access |= around.Access
		case !r.out.Policy.Level.AtLeast(policy.NoCgroup):
			r.bad.Add(g.Field, g.Path, fmt.Sprintf("what is written there could be run, because %s is granted for running; at level %s, which this policy accepts, that cannot be held apart",
				around.Path, r.out.Policy.Level), `use jit = true, or level = "no-cgroup" or "full", or grants beside each other`)
			continue
		default:
			g.Access |= around.Access &^ (policy.Exec &^ policy.Read) // a writable path cannot be run
		}
		// A grant with another owner keeps that owner on the confined side.
		if g.Access != around.Access || g.UID != around.UID {
			out = append(out, g)
		}
	}
	r.out.Grants = out
}

// merge joins the grants of each path, which must be adjacent.
func (r *resolver) merge(all []policy.Grant) []policy.Grant {
	var out []policy.Grant
	for _, g := range all {
		n := len(out)
		switch {
		case n == 0 || out[n-1].Path != g.Path:
			out = append(out, g)
		case !r.runsWritten(g, out[n-1]):
			out[n-1].Access |= g.Access
		}
	}
	return out
}

// runsWritten reports a path that is granted for running and is also writable.
func (r *resolver) runsWritten(g, other policy.Grant) bool {
	if r.out.Policy.JIT || g.ReadOnly || other.ReadOnly {
		return false
	}
	if g.Access.Has(policy.Write) {
		g, other = other, g
	}
	if !g.Access.Has(policy.Exec) || !other.Access.Has(policy.Write) {
		return false
	}
	r.bad.Add(g.Field, g.Path, fmt.Sprintf("it can be written too (%s), and with jit = false what a host can write it cannot run", other.Field),
		"set jit = true, or remove it from one of the two")
	return true
}

// above returns the innermost grant that encloses path. grants must be in order.
func above(grants []policy.Grant, path string) *policy.Grant {
	for i := len(grants) - 1; i >= 0; i-- {
		if g := &grants[i]; g.Dir && g.Path != path && policy.Within(path, g.Path) {
			return g
		}
	}
	return nil
}
