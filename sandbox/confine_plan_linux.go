//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// devices lists the devices of every confined process.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

const (
	nothingSpecial = sys.MountNoSuid | sys.MountNoDev
	onlyData       = nothingSpecial | sys.MountNoExec
)

// rootPlan builds the list of mounts, and the Landlock rules with the same meaning.
type rootPlan struct {
	r    *policy.Resolved
	uid  int // of the command; -1: unchanged
	gid  int
	root bool // ids can be mapped

	made   map[string]bool // paths that exist in the new root
	pinned map[string]bool // folders that can no longer be renamed
	mapped map[string]int  // folders of inner, with the owner that is mapped to the command's user
	closed map[string]bool // results of isClosed, by folder
	inner  []string        // folders from the host side: nothing is created below them
	hollow []string        // folders within inner that show only the grants in them
	ops    []helper.MountOp
	rules  []helper.LandlockRule
	err    error // why a part of the machine could not be examined
}

func planRoot(r *policy.Resolved, uid, gid int, root bool) *rootPlan {
	p := &rootPlan{r: r, uid: uid, gid: gid, root: root, made: map[string]bool{"": true, "/": true}, pinned: map[string]bool{}, mapped: map[string]int{}, closed: map[string]bool{}}
	p.rules = append(p.rules, helper.LandlockRule{Path: "/", Rights: sys.LandlockReadDir})
	p.standard()
	for i := range r.Grants {
		p.grant(&r.Grants[i])
	}
	p.work()
	p.denied()
	return p
}

// rootAttrs returns the attributes of the root itself. It contains device files if
// they could be created.
func (p *rootPlan) rootAttrs() uint64 {
	if p.root {
		return sys.MountNoSuid | sys.MountNoExec
	}
	return onlyData
}

func (p *rootPlan) op(o helper.MountOp) {
	o.Path = strings.TrimPrefix(o.Path, "/")
	p.ops = append(p.ops, o)
}

// parents creates the missing folders above path.
func (p *rootPlan) parents(path string) {
	dir := filepath.Dir(path)
	if p.made[dir] || p.within(dir) {
		return
	}
	p.parents(dir)
	p.dir(dir, 0o755)
}

func (p *rootPlan) dir(path string, mode int) {
	if !p.made[path] {
		p.made[path] = true
		p.op(helper.MountOp{Kind: helper.OpDir, Path: path, Mode: mode})
	}
}

// within reports whether path is in a folder from the host side.
func (p *rootPlan) within(path string) bool {
	inner := around(p.inner, path)
	return len(inner) > len(around(p.hollow, path)) // of two mounts at one path the hollow one is on top
}

// hidden reports whether path is in a hollow folder and was not created there.
func (p *rootPlan) hidden(path string) bool {
	return around(p.hollow, path) != "" && !p.within(path) && !p.made[path]
}

// around returns the innermost of dirs that path is or is in; "" without one.
func around(dirs []string, path string) string {
	in := ""
	for _, dir := range dirs {
		if len(dir) > len(in) && (path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/') {
			in = dir
		}
	}
	return in
}

// hollowSize bounds the bytes and the number of folders in a hollow folder.
const (
	hollowSize  = 1 << 20
	hollowNodes = 1024
)

// enter makes path mountable, and reachable for the command, in a folder from the host
// side. It replaces a folder on the way that other users may not search, as /root
// mostly is, by one that contains only the grants in it: the command's user could
// mostly not have seen anything else there.
func (p *rootPlan) enter(path string) {
	if !p.root || !p.within(path) {
		return
	}
	inner := around(p.inner, path)
	closed := ""
	for dir := filepath.Dir(path); len(dir) >= len(inner); dir = filepath.Dir(dir) {
		if p.isClosed(inner, dir) {
			closed = dir // the outermost
		}
		if dir == "/" {
			break
		}
	}
	if closed == "" {
		return
	}
	p.hollow = append(p.hollow, closed)
	p.made[closed] = true
	p.op(helper.MountOp{Kind: helper.OpTmpfs, Path: closed, Attrs: onlyData, Size: hollowSize, Nodes: hollowNodes, Mode: 0o755, UID: -1, What: "mount " + closed})
}

// isClosed reports whether the process that makes the mounts cannot enter a folder
// within inner: other users may not search it, and inner does not map its owner to
// the command's user.
func (p *rootPlan) isClosed(inner, dir string) bool {
	closed, known := p.closed[dir]
	if !known {
		if st, err := os.Stat(dir); err == nil && st.Mode().Perm()&1 == 0 {
			uid, _, _ := sys.OwnersOf(st)
			owner, mapped := p.mapped[inner]
			closed = !mapped || owner != uid
		}
		p.closed[dir] = closed
	}
	return closed
}

// standard adds what every root has.
func (p *rootPlan) standard() {
	p.dir("/proc", 0o555)
	p.op(helper.MountOp{Kind: helper.OpProc, Path: "/proc", Attrs: onlyData | sys.MountReadOnly, What: "mount /proc"})
	p.rules = append(p.rules, helper.LandlockRule{Path: "/proc", Rights: sys.LandlockReadFile | sys.LandlockReadDir})
	p.dir("/dev", 0o755)
	for _, name := range devices {
		p.device("/dev/" + name)
	}
	for _, l := range [][2]string{{"fd", "/proc/self/fd"}, {"stdin", "/proc/self/fd/0"}, {"stdout", "/proc/self/fd/1"}, {"stderr", "/proc/self/fd/2"}, {"shm", "/tmp"}} {
		if l[0] == "shm" && p.r.Policy.Ordinary {
			continue
		}
		p.op(helper.MountOp{Kind: helper.OpLink, Path: "/dev/" + l[0], From: l[1]})
		p.made["/dev/"+l[0]] = true
	}
	if p.r.Policy.Ordinary {
		p.ordinary()
	}
	if p.r.PrivateTmp {
		p.dir("/tmp", 0o755)
		t := p.r.Policy.Tmp
		p.op(helper.MountOp{Kind: helper.OpTmpfs, Path: "/tmp", Attrs: p.data(), Size: t.Size, Nodes: t.Inodes, Mode: 0o1777, UID: -1, What: "mount /tmp"})
		p.rules = append(p.rules, helper.LandlockRule{Path: "/tmp", Rights: p.rights(policy.Write)})
	}
}

func (p *rootPlan) data() uint64 { return dataAttrs(p.r.Policy.JIT) }

// dataAttrs returns the attributes of mounts that a command can write.
func dataAttrs(jit bool) uint64 {
	if jit {
		return nothingSpecial
	}
	return onlyData
}

func (p *rootPlan) device(path string) {
	mode, number, err := sys.Device(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENODEV) { // a container without it
			p.err = errors.Join(p.err, fmt.Errorf("%s: %w", path, err))
		}
		return
	}
	p.parents(path)
	p.made[path] = true
	if p.root { // cheaper than a mount
		p.op(helper.MountOp{Kind: helper.OpDevice, Path: path, Mode: int(mode), Size: int64(number), What: "make " + path})
	} else {
		p.op(helper.MountOp{Kind: helper.OpFile, Path: path, Mode: 0o666})
		p.op(helper.MountOp{Kind: helper.OpBind, Path: path, From: path, Attrs: sys.MountNoSuid | sys.MountNoExec, UID: -1, What: "mount " + path})
	}
	p.rules = append(p.rules, helper.LandlockRule{Path: path, Rights: sys.LandlockReadFile | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
}

// rights returns the Landlock rights of an access.
func (p *rootPlan) rights(a policy.Access) uint64 { return landlockRights(a, p.r.Policy.JIT) }

func landlockRights(a policy.Access, jit bool) uint64 {
	var rights uint64
	if a.Has(policy.Read) {
		rights |= sys.LandlockReadFile | sys.LandlockReadDir
	}
	if a.Has(policy.Exec) {
		rights |= sys.LandlockExecute
	}
	if a.Has(policy.Write) {
		rights |= sys.LandlockWrite | sys.LandlockTruncate | sys.LandlockMake | sys.LandlockRefer
		if jit {
			rights |= sys.LandlockExecute
		}
	}
	return rights
}

func (p *rootPlan) grant(g *policy.Grant) {
	if g.Device {
		if !p.made[g.Path] {
			p.device(g.Path)
		}
		return
	}
	if g.Link != "" {
		if !p.made[g.Path] && !p.within(g.Path) {
			p.parents(g.Path)
			p.op(helper.MountOp{Kind: helper.OpLink, Path: g.Path, From: g.Link})
			p.made[g.Path] = true
		}
		return
	}
	p.enter(g.Path)
	if g.ReadOnly && p.hidden(g.Path) {
		p.pin(g.Pinned)
		return // it grants nothing, and cannot be reached for writing
	}
	if !p.made[g.Path] && !p.within(g.Path) {
		p.parents(g.Path)
		if g.Dir {
			p.dir(g.Path, 0o755)
		} else {
			p.op(helper.MountOp{Kind: helper.OpFile, Path: g.Path, Mode: 0o444})
			p.made[g.Path] = true
		}
	}
	p.pin(g.Pinned)
	o := helper.MountOp{Kind: helper.OpBind, Path: g.Path, From: g.Path, ID: identity(g), Attrs: p.attrs(g.Access), UID: -1, What: "mount " + g.Path + how(g.Access)}
	p.owner(&o, g)
	p.op(o)
	if g.Dir {
		p.inner = append(p.inner, g.Path)
		switch {
		case p.shown():
			p.mapped[g.Path] = os.Geteuid()
		case o.UID >= 0 && !o.Loose:
			p.mapped[g.Path] = o.UID
		case p.root && g.UID == p.uid:
			p.mapped[g.Path] = p.uid
		}
	}
	p.rules = append(p.rules, helper.LandlockRule{Path: g.Path, Rights: p.rights(g.Access)})
}

// pin prevents renaming of folders. The mounts in them stay.
func (p *rootPlan) pin(dirs []string) {
	for _, dir := range dirs {
		if !p.pinned[dir] && !p.hidden(dir) {
			p.pinned[dir] = true
			p.op(helper.MountOp{Kind: helper.OpPin, Path: dir, What: stepPin + dir})
		}
	}
}

func how(a policy.Access) string {
	if a.Has(policy.Write) {
		return ""
	}
	return " read-only"
}

func (p *rootPlan) attrs(a policy.Access) uint64 {
	if a.Has(policy.Write) {
		return p.data()
	}
	if a.Has(policy.Exec) {
		return nothingSpecial | sys.MountReadOnly
	}
	return onlyData | sys.MountReadOnly
}

// owner maps the folder's owner to the command's user: files that the command writes
// keep that owner, and nothing is changed. Read-only files of root stay root's, so
// that a grant of /etc does not reveal the shadow file. A named user who may write a
// folder writes it as that user.
func (p *rootPlan) owner(o *helper.MountOp, g *policy.Grant) {
	if !p.root {
		return
	}
	// A grant that is only read-only is mapped like the grant around it.
	o.Loose = !g.Access.Has(policy.Write) && !g.ReadOnly
	if p.shown() {
		if p.uid == os.Geteuid() {
			o.Loose = false // it is not mapped
			return
		}
		o.All, o.UID, o.GID = true, os.Geteuid(), os.Getegid()
		return
	}
	if g.UID == 0 && o.Loose || !o.Loose && (g.UID == p.uid || p.writes(g)) {
		return
	}
	o.UID, o.GID = g.UID, g.GID
}

// writes reports whether the user that the policy names may write a grant without a
// mapping of its owner.
func (p *rootPlan) writes(g *policy.Grant) bool {
	if p.r.UID < 0 || g.ReadOnly {
		return false
	}
	st, err := os.Stat(g.Path)
	if err != nil {
		return false // the mount reports the error
	}
	bits, group := st.Mode().Perm(), g.GID == p.gid || slices.Contains(p.r.Groups, g.GID)
	if group {
		bits >>= 3
	}
	return bits&2 != 0 && (!g.Dir || bits&1 != 0)
}

// identity returns the file that a grant was resolved to.
func identity(g *policy.Grant) sys.FileID { return sys.FileID{Device: g.Node, Inode: g.Inode} }

// work mounts the bounded folder.
func (p *rootPlan) work() {
	w := p.r.Policy.Work
	if w.Path == "" {
		return
	}
	p.enter(w.Path)
	if !p.made[w.Path] && !p.within(w.Path) {
		p.parents(w.Path)
		p.dir(w.Path, 0o755)
	}
	if w.Keep {
		p.op(helper.MountOp{Kind: helper.OpKept, Path: w.Path, Attrs: p.data(), UID: 0, GID: 0, What: "mount " + w.Path})
		p.inner = append(p.inner, w.Path)
		p.rules = append(p.rules, helper.LandlockRule{Path: w.Path, Rights: p.rights(policy.Write)})
		return
	}
	p.op(helper.MountOp{Kind: helper.OpTmpfs, Path: w.Path, Attrs: p.data(), Size: w.Size, Nodes: w.Inodes, Mode: 0o700, UID: p.uid, GID: p.gid, What: "mount " + w.Path})
	p.inner = append(p.inner, w.Path)
	p.rules = append(p.rules, helper.LandlockRule{Path: w.Path, Rights: p.rights(policy.Write)})
}

// Covers of denied paths: an empty folder and an empty file that no user may open.
const (
	coverDir  = "/dev/.denied/folder"
	coverFile = "/dev/.denied/file"
	// coverEmpty, for a folder that must not be created, can be read.
	coverEmpty = "/dev/.denied/empty"
)

// covers creates the files that cover other paths.
func (p *rootPlan) covers() {
	if p.made[coverFile] {
		return
	}
	p.made[coverFile] = true
	p.dir("/dev/.denied", 0o755)
	p.dir(coverDir, 0)
	p.dir(coverEmpty, 0o555)
	p.op(helper.MountOp{Kind: helper.OpFile, Path: coverFile})
}

// denied covers the denied paths, after all grants are mounted.
func (p *rootPlan) denied() {
	if len(p.r.Denied) == 0 {
		return
	}
	p.covers()
	for i := range p.r.Denied {
		if d := &p.r.Denied[i]; !d.Link {
			p.enter(d.Anchor)
		}
	}
	for _, d := range p.r.Denied {
		p.pin(d.Pinned)
	}
	for _, d := range p.r.Denied {
		if d.Link || p.hidden(d.Anchor) {
			continue // its target is denied as well, or cannot be seen
		}
		from := coverFile
		switch {
		case d.Absent:
			from = coverEmpty
		case d.Dir || d.Missing: // a placeholder
			from = coverDir
		}
		p.op(helper.MountOp{Kind: helper.OpCover, Path: d.Anchor, From: strings.TrimPrefix(from, "/"), Attrs: onlyData | sys.MountReadOnly, What: stepCover + d.Anchor})
	}
}
