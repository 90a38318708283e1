package resolve

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// writable finds the folders that p makes writable, outer ones first, because links
// in them are not followed to others.
func (r *resolver) writable(p *policy.Policy) {
	type entry struct{ field, path string }
	var all []entry
	for i, s := range p.Write {
		path, _ := policy.Optional(s)
		all = append(all, entry{fmt.Sprintf("write[%d]", i), filepath.Clean(path)})
	}
	sort.SliceStable(all, func(i, j int) bool { return len(all[i].path) < len(all[j].path) })
	for _, e := range all {
		t, err := r.seen.trace(e.path)
		if err != nil || t.real == "/" {
			continue // reported when the entry is resolved
		}
		if _, why := r.untrustedLink(&t); why != "" {
			continue
		}
		if r.ownWritten[t.real] == "" {
			r.ownWritten[t.real] = e.field
			clear(r.exposures)
		}
	}
}

// untrustedLink returns the first link on the way to t that an untrusted process or
// user could have created, and why; "" without such a link.
func (r *resolver) untrustedLink(t *traced) (link *tracedLink, why string) {
	for i := range t.links {
		if why := r.exposed(t.links[i].path); why != "" {
			return &t.links[i], why
		}
	}
	return nil, ""
}

// checkLinks reports whether the links on the way to t may be followed for an entry.
func (r *resolver) checkLinks(field, entry string, t *traced) bool {
	link, why := r.untrustedLink(t)
	if why != "" {
		r.bad.Distrust(field, entry, fmt.Sprintf("%s is a symbolic link to %s, which is not followed: %s", link.path, link.text, why),
			"name its target, if that is meant")
	}
	return why == ""
}

// trusted reports whether the target of t may be granted for an entry, and returns
// its file information.
func (r *resolver) trusted(field, entry string, t *traced) (info fs.FileInfo, ok bool) {
	if !r.checkLinks(field, entry, t) {
		return nil, false
	}
	// The path may have changed while it was followed part by part.
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

// same reports whether an entry still has the target that it had before.
func (r *resolver) same(field, entry, real string, info fs.FileInfo) bool {
	name, _ := policy.Optional(entry)
	name = filepath.Clean(name)
	now := file{id: sys.IDOf(info), folder: info.IsDir()}
	before, known := r.before[name]
	if known && before != now && !r.owned.Accept && !replaceable(before, info) {
		if why := r.exposed(real); why != "" {
			r.bad.Distrust(field, entry, fmt.Sprintf("%s is another %s than before (device %s, inode %d; it was %s), and %s", real, kind(now.folder),
				device(now.id), now.id.Inode, describe(before), why),
				"look at it; hostsup start "+r.owned.Owner+" accepts it")
			return false
		}
	}
	r.found[name] = now
	return true
}

// replaceable reports whether one file may replace another, as when a program saves
// it: a file with a single name is in no other folder.
func replaceable(before file, info fs.FileInfo) bool {
	_, _, names := sys.OwnersOf(info)
	return !before.folder && info.Mode().IsRegular() && names == 1
}

func describe(f file) string {
	return fmt.Sprintf("a %s: device %s, inode %d", kind(f.folder), device(f.id), f.id.Inode)
}

func kind(folder bool) string {
	if folder {
		return "folder"
	}
	return "file"
}

func device(id sys.FileID) string { return fmt.Sprintf("%#x", id.Device) }

// exposed returns which process or user, besides root and this user, could have
// created path or a folder above it; "" if none could. The folder of path must be
// without links.
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
	if why := r.letWritten(dir); why != "" {
		return why
	}
	info, err := r.seen.lstat(dir)
	if err != nil {
		return reason(err)
	}
	return otherWriter(dir, info, func() (fs.FileInfo, error) { return r.seen.lstat(path) })
}

// letWritten returns which policy makes path writable; "" without one.
func (r *resolver) letWritten(path string) string {
	if field, ok := r.ownWritten[path]; ok {
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

// otherWriter returns which user other than root and this one may replace an entry
// of a folder; "" without one. In a folder with the sticky bit, such as /tmp, only
// root and the owner of an entry may.
func otherWriter(dir string, info fs.FileInfo, entry func() (fs.FileInfo, error)) string {
	uid, gid, _ := sys.OwnersOf(info)
	if uid < 0 {
		return "" // the system has no owners
	}
	if !isTrusted(uid) {
		return fmt.Sprintf("user %d owns %s", uid, dir)
	}
	mode := info.Mode()
	others := mode&0o002 != 0 || mode&0o020 != 0 && !ownGroup(gid, dir)
	if !others {
		return ""
	}
	if mode&fs.ModeSticky != 0 {
		if in, err := entry(); err == nil {
			if owner, _, _ := sys.OwnersOf(in); isTrusted(owner) {
				return ""
			}
		}
	}
	return fmt.Sprintf("other users may write %s (%s)", dir, mode)
}

// overflowUser returns the user that owns the files of users that are not mapped
// into this user namespace.
var overflowUser = sync.OnceValue(func() int {
	if uid, ok := sys.OutsiderID(); ok {
		return uid
	}
	return -1
})

func isTrusted(uid int) bool { return uid == 0 || uid == os.Geteuid() || uid == overflowUser() }

// ownGroup reports whether a group that may write dir has only root and this user as
// members: root's group, or the group with the user's number that many systems
// create for each user. An access list may allow others to write.
func ownGroup(gid int, dir string) bool {
	return (gid == 0 || gid == os.Geteuid()) && !sys.ExtendedAccess(dir)
}
