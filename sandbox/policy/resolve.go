package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Resolve says what p and l come to on this machine now: it follows links,
// finds what globs match and fills in defaults. It looks at the file system and
// changes nothing. A path that does not exist is an error, except in Deny and
// where its entry begins with a dash. The error joins errors of type *[Error],
// those of [Policy.Validate] among them. A nil p resolves to level None without
// any grant.
func Resolve(p *Policy, l Limits) (*Resolved, error) {
	if err := p.Validate(l); err != nil {
		return nil, err
	}
	if p == nil {
		return &Resolved{Policy: Policy{Level: None}, Limits: l, UID: -1, GID: -1}, nil
	}
	r := resolver{out: &Resolved{Policy: p.WithDefaults(), Limits: l, UID: -1, GID: -1}}
	r.bad.source = p.Source
	r.user()
	r.grants()
	r.work()
	r.deny()
	if err := r.bad.err(); err != nil {
		return nil, err
	}
	r.out.RefusedSyscalls = p.refused()
	return r.out, nil
}

type resolver struct {
	bad problems
	out *Resolved
}

// user finds the number of a user that is named.
func (r *resolver) user() {
	name := r.out.Policy.User
	if name == "" || name == "auto" {
		return
	}
	var u *user.User
	n, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		r.out.UID, r.out.GID = int(n), int(n) // a number needs no entry
		u, _ = user.LookupId(name)
	} else if u, err = user.Lookup(name); err != nil {
		r.bad.add("user", name, "there is no such user here", `"auto" gives it a number of its own`)
		return
	}
	if u != nil {
		uid, err := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err != nil || err2 != nil {
			r.bad.add("user", name, "users have no numbers here", "remove it")
			return
		}
		r.out.UID, r.out.GID = uid, gid
	}
	switch euid := os.Geteuid(); {
	case r.out.UID == 0:
		r.bad.add("user", name, "nothing runs confined as root", `use "auto", or the name or number of another user`)
	case euid != 0 && euid != r.out.UID:
		r.bad.add("user", name, "only root can change the user", "remove it, or run the supervisor as root")
	case euid != 0:
		r.out.UID, r.out.GID = -1, -1
	}
}

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
	for i, s := range p.Devices {
		r.device(fmt.Sprintf("devices[%d]", i), s)
	}
	r.addUp()
	r.out.PrivateTmp = !slices.ContainsFunc(r.out.Grants, func(g Grant) bool { return g.Link == "" && g.Path == "/tmp" })
}

// exists follows a granted entry; false when it is skipped or an error.
func (r *resolver) exists(field, entry string) (traced, bool) {
	path, optional := Optional(entry)
	t, err := trace(filepath.Clean(path))
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
		r.out.Grants = append(r.out.Grants, Grant{Path: l.path, Access: access, Link: l.text, Field: field})
	}
	r.out.Grants = append(r.out.Grants, Grant{Path: t.real, Access: access, Dir: t.info.IsDir(), Field: field})
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
	if r.out.Policy.JIT {
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

// work checks the bounded folder.
func (r *resolver) work() {
	w := &r.out.Policy.Work
	if w.Path == "" {
		return
	}
	if w.Keep && os.Geteuid() != 0 {
		r.bad.add("work.keep", "true", "only root can keep a folder of bounded size: it takes a loop device", "use keep = false, or run the supervisor as root")
	}
	t, err := trace(filepath.Clean(w.Path))
	if err != nil {
		r.bad.add("work.path", w.Path, reason(err), "")
		return
	}
	for _, g := range r.out.Grants {
		if g.Link == "" && within(g.Path, t.real) {
			r.bad.add(g.Field, g.Path, "it lies in the folder that work bounds; what is in a plain grant cannot be bounded", "put work.path beside it")
		}
	}
	if t.missing == "" {
		if !t.info.IsDir() {
			r.bad.add("work.path", w.Path, "it is no folder", "")
			return
		}
		entries, err := os.ReadDir(t.real)
		switch {
		case err != nil && !errors.Is(err, fs.ErrPermission):
			r.bad.add("work.path", w.Path, reason(err), "")
		case len(entries) > 0:
			r.bad.add("work.path", w.Path, fmt.Sprintf("there are files in it (%s), and this folder cannot be bounded without hiding them", entries[0].Name()),
				"name an empty or missing folder, or grant this one in write, without bounds")
		}
	}
	w.Path = t.real
}

// Access returns what holds for a path, which is followed over links as the
// kernel would. Denied paths have none. The folders of /dev, /proc, /tmp that
// every confined process has are not looked at.
func (r *Resolved) Access(path string) Access {
	t, err := trace(filepath.Clean(path))
	if err != nil || !filepath.IsAbs(path) {
		return 0
	}
	for _, d := range r.Denied {
		if within(t.real, d.Path) {
			return 0
		}
	}
	if w := r.Policy.Work.Path; w != "" && within(t.real, w) {
		if r.Policy.JIT {
			return Write | Exec
		}
		return Write
	}
	for i := len(r.Grants) - 1; i >= 0; i-- {
		if g := r.Grants[i]; g.Link == "" && (g.Path == t.real || g.Dir && within(t.real, g.Path)) {
			return g.Access
		}
	}
	return 0
}

// Reaches reports whether a confined process can be in a folder: one that is
// granted, or one on the way to something that is.
func (r *Resolved) Reaches(dir string) bool {
	if r.Access(dir) != 0 {
		return true
	}
	t, err := trace(filepath.Clean(dir))
	if err != nil || t.missing != "" || !filepath.IsAbs(dir) {
		return false
	}
	w := r.Policy.Work.Path
	return w != "" && within(w, t.real) || slices.ContainsFunc(r.Grants, func(g Grant) bool { return within(g.Path, t.real) })
}
