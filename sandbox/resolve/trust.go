package resolve

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// writable finds the folders that p lets be written, outer ones first: in them
// no link is followed to another one.
func (r *resolver) writable(p *policy.Policy) {
	type entry struct{ field, path string }
	var all []entry
	for i, s := range p.Write {
		path, _ := policy.Optional(s)
		all = append(all, entry{fmt.Sprintf("write[%d]", i), filepath.Clean(path)})
	}
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(len(a.path), len(b.path)) })
	for _, e := range all {
		t, err := r.seen.trace(e.path)
		if err != nil || t.real == "/" {
			continue // it is said where the entry is resolved
		}
		if _, why := r.doubt(&t); why != "" {
			continue
		}
		if r.own[t.real] == "" {
			r.own[t.real] = e.field
			clear(r.exposures)
		}
	}
}

// doubt returns the first link on the way to t that somebody could have put there
// who is not to decide where it leads, and who that is; "" for none.
func (r *resolver) doubt(t *traced) (link *tracedLink, why string) {
	for i := range t.links {
		if why := r.exposed(t.links[i].path); why != "" {
			return &t.links[i], why
		}
	}
	return nil, ""
}

// follows reports whether the links on the way to t may be followed for an entry.
func (r *resolver) follows(field, entry string, t *traced) bool {
	link, why := r.doubt(t)
	if why != "" {
		r.bad.Distrust(field, entry, fmt.Sprintf("%s is a symbolic link to %s, which is not followed: %s", link.path, link.text, why),
			"name what it leads to, if that is meant")
	}
	return why == ""
}

// trusted reports whether what t leads to may be granted for an entry, and what
// it is.
func (r *resolver) trusted(field, entry string, t *traced) (info fs.FileInfo, ok bool) {
	if !r.follows(field, entry, t) {
		return nil, false
	}
	// What was seen step by step may have been replaced on the way.
	info, err := sys.StatPlain(t.real)
	if err == nil && info.Mode().Type() != t.info.Mode().Type() {
		err = fmt.Errorf("%s is being replaced", t.real)
	}
	if err != nil {
		r.bad.Distrust(field, entry, reason(err), "")
		return nil, false
	}
	return info, r.same(field, entry, t.real, info)
}

// same reports whether an entry leads to what it led to before.
func (r *resolver) same(field, entry, real string, info fs.FileInfo) bool {
	name, _ := policy.Optional(entry)
	name = filepath.Clean(name)
	now := file{id: sys.IDOf(info), folder: info.IsDir()}
	before, known := r.before[name]
	if known && before != now && !r.owned.Accept && !replaceable(before, info) {
		if why := r.exposed(real); why != "" {
			r.bad.Distrust(field, entry, fmt.Sprintf("%s is another %s than before (device %s, inode %d; it was %s), and %s", real, kind(now.folder),
				device(now.id), now.id.Inode, was(before), why),
				"look at it; hostsup start "+r.owned.Owner+" accepts it")
			return false
		}
	}
	r.found[name] = now
	return true
}

// replaceable reports whether a file may take the place of another one, as it
// does when a program saves it: one with a single name is in no other folder.
func replaceable(before file, info fs.FileInfo) bool {
	_, _, names := sys.OwnersOf(info)
	return !before.folder && info.Mode().IsRegular() && names == 1
}

func was(f file) string {
	return fmt.Sprintf("a %s: device %s, inode %d", kind(f.folder), device(f.id), f.id.Inode)
}

func kind(folder bool) string {
	if folder {
		return "folder"
	}
	return "file"
}

func device(id sys.FileID) string { return fmt.Sprintf("%#x", id.Device) }

// exposed says who could have put there what is at path, or one of the folders
// around it, besides root and this user; "" for nobody. No part of the folder of
// path is a link.
func (r *resolver) exposed(path string) string {
	if path == "/" {
		return ""
	}
	if why, ok := r.exposures[path]; ok {
		return why
	}
	dir := filepath.Dir(path)
	why := r.exposed(dir)
	if why == "" {
		why = r.changeable(path, dir)
	}
	r.exposures[path] = why
	return why
}

func (r *resolver) changeable(path, dir string) string {
	if why := r.lets(dir); why != "" {
		return why
	}
	info, err := r.seen.lstat(dir)
	if err != nil {
		return reason(err)
	}
	return stranger(dir, info, func() (fs.FileInfo, error) { return r.seen.lstat(path) })
}

// lets says which policy lets path be written; "" for none.
func (r *resolver) lets(path string) string {
	if field, ok := r.own[path]; ok {
		return field + " lets " + path + " be written"
	}
	owner, ok := r.written[path]
	switch {
	case !ok:
		return ""
	case owner == "":
		return "another sandbox lets " + path + " be written"
	case owner == r.owned.Owner:
		return "its own sandbox has let " + path + " be written"
	}
	return "the sandbox of " + owner + " lets " + path + " be written"
}

// stranger says which other user than root and this one may replace an entry of
// a folder; "" for none. Only root and the owner of an entry may in a folder
// such as /tmp, whose sticky bit is set.
func stranger(dir string, info fs.FileInfo, entry func() (fs.FileInfo, error)) string {
	uid, gid, _ := sys.OwnersOf(info)
	if uid < 0 {
		return "" // no such system
	}
	if !familiar(uid) {
		return fmt.Sprintf("user %d owns %s", uid, dir)
	}
	mode := info.Mode()
	others := mode&0o002 != 0 || mode&0o020 != 0 && !ownGroup(gid, dir)
	if !others {
		return ""
	}
	if mode&fs.ModeSticky != 0 {
		if in, err := entry(); err == nil {
			if owner, _, _ := sys.OwnersOf(in); familiar(owner) {
				return ""
			}
		}
	}
	return fmt.Sprintf("other users may write %s (%s)", dir, mode)
}

// outsider is who owns the files of users that this user namespace does not
// know: its host's.
var outsider = sync.OnceValue(func() int {
	if uid, ok := sys.OutsiderID(); ok {
		return uid
	}
	return -1
})

func familiar(uid int) bool { return uid == 0 || uid == os.Geteuid() || uid == outsider() }

// ownGroup reports whether a group that may write dir has no member but root and
// this user: root's, or the one of the user's number that many systems make for
// each user. An access list may let others write.
func ownGroup(gid int, dir string) bool {
	return (gid == 0 || gid == os.Geteuid()) && !sys.ExtendedAccess(dir)
}
