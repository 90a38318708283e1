package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// deny finds what is denied, takes away the grants that lie in it, and keeps
// what lies in a grant.
func (r *resolver) deny() {
	for i, s := range r.out.Policy.Deny {
		field := fmt.Sprintf("deny[%d]", i)
		if !policy.IsGlob(s) {
			r.denyPath(field, "", unescape(filepath.Clean(s)), false)
			continue
		}
		g := globber{worth: r.worth, close: func(err error) bool { return r.closed(field, s, err) }}
		if err := g.match(s); err != nil {
			help := "name the folder whose files are meant"
			if !errors.Is(err, errTooWide) {
				help = "what it matches cannot be known"
			}
			r.bad.Add(field, s, reason(err), help)
			continue
		}
		for _, path := range g.found {
			r.denyPath(field, s, path, false)
		}
	}
	for i, s := range r.out.Policy.Absent {
		r.denyPath(fmt.Sprintf("absent[%d]", i), "", filepath.Clean(s), true)
	}
	r.sift()
	r.mounts()
}

// closed denies a folder in a grant that this user may not look into, as err says:
// what is denied may be in it, and whoever is confined as this user could open it
// to itself. It reports false where err says something else, or where the folder
// is the grant itself or lies around it.
func (r *resolver) closed(field, pattern string, err error) bool {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return false
	}
	folder := pe.Path
	switch {
	case errors.Is(err, errTooDeep):
	case !errors.Is(err, fs.ErrPermission):
		return false
	case pe.Op == "lstat": // it is the folder around it that is closed
		folder = filepath.Dir(folder)
	}
	if !r.worth(folder) {
		return true // nothing there is granted
	}
	if above(r.out.Grants, folder) == nil || slices.ContainsFunc(r.out.Grants, func(g policy.Grant) bool { return g.Path == folder }) {
		return false
	}
	r.out.Denied = append(r.out.Denied, policy.Denied{Path: folder, Dir: true, Closed: pe.Err.Error(), Pattern: pattern, Field: field, Anchor: folder})
	return true
}

// flat denies the file that stands where a folder with a denied path would: nothing
// is in it, and whoever is confined could put a folder in its place. Where nobody
// who is confined can do that, there is nothing to deny.
func (r *resolver) flat(field, pattern string, err error) {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return
	}
	file := filepath.Dir(pe.Path)
	if around := above(r.out.Grants, file); around != nil && around.Access.Has(policy.Write) {
		r.out.Denied = append(r.out.Denied, policy.Denied{Path: file, Closed: pe.Err.Error(), Pattern: pattern, Field: field, Anchor: file})
	}
}

// worth reports whether something at or below dir is granted, or a link there that
// leads to something granted.
func (r *resolver) worth(dir string) bool {
	return slices.ContainsFunc(r.out.Grants, func(g policy.Grant) bool {
		return policy.Within(g.Path, dir) || g.Dir && policy.Within(dir, g.Path)
	})
}

// denyPath denies what path leads to, and the link itself when it is one. With
// absent it does so only when nothing is there.
func (r *resolver) denyPath(field, pattern, path string, absent bool) {
	t, err := r.seen.trace(path)
	if errors.Is(err, errLinks) {
		if _, why := r.doubt(&t); why != "" {
			return // whoever made the circle has made it lead nowhere
		}
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		r.flat(field, pattern, err)
		return
	case err != nil && r.closed(field, pattern, err):
		return
	case err != nil:
		r.bad.Add(field, path, reason(err), "")
		return
	}
	// Where the host can replace a link its next start would deny something else.
	if pattern == "" && r.worth(t.real) && !r.follows(field, path, &t) {
		return
	}
	if absent && t.missing == "" || pattern != "" && t.missing != "" && len(t.links) == 0 { // a placeholder of another
		return
	}
	if w := r.out.Policy.Work.Path; w != "" && policy.Within(t.real, w) {
		if pattern == "" {
			r.bad.Add(field, path, "it lies in work, which begins empty and is the host's own", "remove it")
		}
		return
	}
	for _, l := range t.links {
		if l.final {
			r.out.Denied = append(r.out.Denied, policy.Denied{Path: l.path, Link: true, Pattern: pattern, Field: field, Anchor: l.path})
		}
	}
	d := policy.Denied{Path: t.real, Absent: absent, Pattern: pattern, Field: field, Anchor: t.real}
	if t.missing != "" {
		d.Missing, d.Anchor = true, t.missing
	} else {
		d.Dir = t.info.IsDir()
	}
	r.out.Denied = append(r.out.Denied, d)
}

func (r *resolver) sift() {
	all := r.out.Denied
	slices.SortStableFunc(all, func(a, b policy.Denied) int { return strings.Compare(a.Path, b.Path) })
	denied := map[string]string{} // fields, by path
	for _, d := range all {
		denied[d.Path] = d.Field
	}
	r.out.Grants = slices.DeleteFunc(r.out.Grants, func(g policy.Grant) bool {
		_, ok := innermost(denied, g.Path)
		return ok
	})
	clear(denied)
	var out []policy.Denied
	for _, d := range all {
		if _, ok := innermost(denied, d.Path); ok {
			continue // it is denied with the folder around it
		}
		around := above(r.out.Grants, d.Path)
		if around == nil || d.Missing && !around.Access.Has(policy.Write) {
			continue // nothing is there, and nothing can come to be there
		}
		if w := r.out.Policy.Work.Path; w != "" && policy.Within(w, d.Path) {
			r.bad.Add(d.Field, d.Path, "it holds the folder that work bounds, "+w+", which would be denied with it", "put work.path beside it")
		}
		d.Pinned = r.pinned(d.Anchor)
		denied[d.Path] = d.Field
		out = append(out, d)
	}
	r.out.Denied = out
}

// mountsOfStart is how many mounts a start makes besides those of grants and of
// what is denied, at most.
const mountsOfStart = 32

// mountRoom is changed by tests.
var mountRoom = sys.MountRoom

// mounts refuses what would take more mounts than the kernel allows: each grant,
// each denied path and each folder that is held in its place is one.
func (r *resolver) mounts() {
	const few = 256 // that there is always room for
	need := mountsOfStart + len(r.out.Grants) + len(r.out.Denied)
	pins := map[string]bool{}
	fields := map[string]int{}
	most := ""
	for i := range r.out.Denied {
		d := &r.out.Denied[i]
		for _, dir := range d.Pinned {
			pins[dir] = true
		}
		if fields[d.Field]++; fields[d.Field] > fields[most] {
			most = d.Field
		}
	}
	if need += len(pins); need <= few {
		return
	}
	room, mounted := mountRoom()
	for _, at := range mounted { // with a folder comes what is mounted in it
		if above(r.out.Grants, at) != nil {
			need++
		}
	}
	if room > 0 && need > room {
		value := ""
		if i, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(most, "deny"), "[]")); err == nil {
			value = r.out.Policy.Deny[i]
		}
		r.bad.Add(most, value, fmt.Sprintf("it denies %d paths; with what else is denied and granted a start takes %d mounts, and the kernel has room for %d", fields[most], need, room),
			"name the folders whose files are meant, or raise the setting fs.mount-max of the machine")
	}
}

// pinned are the folders between the outermost grant that can be written and
// path.
func (r *resolver) pinned(path string) []string {
	for _, g := range r.out.Grants {
		if !g.Dir || !g.Access.Has(policy.Write) || g.Path == path || !policy.Within(path, g.Path) {
			continue
		}
		var out []string
		for dir := filepath.Dir(path); dir != g.Path; dir = filepath.Dir(dir) {
			out = append(out, dir)
		}
		slices.Reverse(out)
		return out
	}
	return nil
}
