package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// deny finds the denied paths, removes the grants within them, and keeps the denied
// paths that lie in a grant.
func (r *resolver) deny() {
	for i, s := range r.out.Policy.Deny {
		field := fmt.Sprintf("deny[%d]", i)
		if !policy.IsGlob(s) {
			r.denyPath(field, "", unescape(filepath.Clean(s)), false)
			continue
		}
		g := globber{hasGrant: r.hasGrant, denyFolder: func(err error) bool { return r.denyClosed(field, s, err) }}
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
	r.filterDenied()
	r.mounts()
}

// denyClosed denies a folder in a grant that, according to err, this user may not
// search: denied files may be in it, and a process confined as this user could open
// it to itself. It returns false for any other err, and for a folder that is the
// grant or encloses it.
func (r *resolver) denyClosed(field, pattern string, err error) bool {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return false
	}
	folder := pe.Path
	switch {
	case errors.Is(err, errTooDeep):
	case !errors.Is(err, fs.ErrPermission):
		return false
	case pe.Op == "lstat": // the enclosing folder is the closed one
		folder = filepath.Dir(folder)
	}
	if !r.hasGrant(folder) {
		return true // it contains no grant
	}
	if above(r.out.Grants, folder) == nil || slices.ContainsFunc(r.out.Grants, func(g policy.Grant) bool { return g.Path == folder }) {
		return false
	}
	r.out.Denied = append(r.out.Denied, policy.Denied{Path: folder, Dir: true, Closed: pe.Err.Error(), Pattern: pattern, Field: field, Anchor: folder})
	return true
}

// denyFile denies the file that stands where a folder of a denied path would: a
// confined process could replace it by a folder. If no confined process can, there
// is nothing to deny.
func (r *resolver) denyFile(field, pattern string, err error) {
	var pe *fs.PathError
	if !errors.As(err, &pe) {
		return
	}
	file := filepath.Dir(pe.Path)
	if around := above(r.out.Grants, file); around != nil && around.Access.Has(policy.Write) {
		r.out.Denied = append(r.out.Denied, policy.Denied{Path: file, Closed: pe.Err.Error(), Pattern: pattern, Field: field, Anchor: file})
	}
}

// hasGrant reports whether dir, a path below it, or the target of a link there is
// granted.
func (r *resolver) hasGrant(dir string) bool {
	return slices.ContainsFunc(r.out.Grants, func(g policy.Grant) bool {
		return policy.Within(g.Path, dir) || g.Dir && policy.Within(dir, g.Path)
	})
}

// denyPath denies the target of path, and path itself when it is a link. With
// absent it does so only when the target is missing.
func (r *resolver) denyPath(field, pattern, path string, absent bool) {
	t, err := r.seen.trace(path)
	if errors.Is(err, errLinks) {
		if _, why := r.untrustedLink(&t); why != "" {
			return // the links form a circle and lead nowhere
		}
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		r.denyFile(field, pattern, err)
		return
	case err != nil && r.denyClosed(field, pattern, err):
		return
	case err != nil:
		r.bad.Add(field, path, reason(err), "")
		return
	}
	// If the host can replace a link, its next start would deny another path.
	if pattern == "" && r.hasGrant(t.real) && !r.checkLinks(field, path, &t) {
		return
	}
	if absent && t.missing == "" || pattern != "" && t.missing != "" && len(t.links) == 0 { // another start's placeholder
		return
	}
	if w := r.out.Policy.Work.Path; w != "" && policy.Within(t.real, w) {
		if pattern == "" {
			r.bad.Add(field, path, "it lies in work, which begins empty and belongs to the host", "remove it")
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

func (r *resolver) filterDenied() {
	all := r.out.Denied
	sort.SliceStable(all, func(i, j int) bool { return all[i].Path < all[j].Path })
	denied := map[string]string{} // field by path
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
			continue // it is denied with its folder
		}
		around := above(r.out.Grants, d.Path)
		if around == nil || d.Missing && !around.Access.Has(policy.Write) {
			continue // it is missing and cannot be created
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

// mountsOfStart is the maximum number of mounts of a start besides those for grants
// and denied paths.
const mountsOfStart = 32

// mountRoom is a variable for tests.
var mountRoom = sys.MountRoom

// mounts reports a policy that would take more mounts than the kernel allows: one
// for each grant, each denied path and each pinned folder.
func (r *resolver) mounts() {
	const few = 256 // there is always room for these
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
	for _, at := range mounted { // a folder is mounted with the mounts in it
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

// pinned returns the folders between the outermost writable grant and path.
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
