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

// devices are those that every confined process has.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

const (
	nothingSpecial = sys.MountNoSuid | sys.MountNoDev
	onlyData       = nothingSpecial | sys.MountNoExec
)

// rootPlan makes the list of mounts, and the Landlock rules that say the same
// once more.
type rootPlan struct {
	r    *policy.Resolved
	uid  int // the command's; -1: as it is
	gid  int
	root bool // ids can be mapped

	made   map[string]bool // paths of the new root that are there
	pinned map[string]bool // folders that cannot be renamed any more
	mapped map[string]int  // folders of inner, with the owner that the command's user has in their place, or is shown as
	closed map[string]bool // what bars has found out, by folder
	inner  []string        // folders shown from outside: what is below is there, or nobody makes it
	hollow []string        // folders within those that show only what is granted in them
	ops    []helper.MountOp
	rules  []helper.LandlockRule
	err    error // why something of the machine that is to be shown could not be looked at
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

// rootAttrs are the attributes of the root itself. It has device files where they
// could be made.
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

// parents makes the folders above path that are not there.
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

// within reports whether path is in a folder from outside.
func (p *rootPlan) within(path string) bool {
	inner := around(p.inner, path)
	return len(inner) > len(around(p.hollow, path)) // of two at one place the hollow one is on top
}

// hidden reports whether path is in a hollow folder and is not one of those
// that were made there.
func (p *rootPlan) hidden(path string) bool {
	return around(p.hollow, path) != "" && !p.within(path) && !p.made[path]
}

// around is the innermost of dirs that path is or is in; "" when none is.
func around(dirs []string, path string) string {
	in := ""
	for _, dir := range dirs {
		if len(dir) > len(in) && (path == dir || strings.HasPrefix(path, dir) && path[len(dir)] == '/') {
			in = dir
		}
	}
	return in
}

// hollowSize bounds what the folders in a hollow one take, in bytes and in
// number.
const (
	hollowSize  = 1 << 20
	hollowNodes = 1024
)

// enter sees to it that the mount of path can be made, and the command come to it,
// in a folder from outside. A folder on the way that is closed to strangers, as
// /root mostly is, gives place to one with nothing but what is granted in it: the
// command's user could mostly have seen nothing else there either.
func (p *rootPlan) enter(path string) {
	if !p.root || !p.within(path) {
		return
	}
	inner := around(p.inner, path)
	closed := ""
	for dir := filepath.Dir(path); len(dir) >= len(inner); dir = filepath.Dir(dir) {
		if p.bars(inner, dir) {
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

// bars reports whether a folder, within inner, cannot be entered by the process
// that makes the mounts: it is closed to strangers, and inner does not show its
// owner as the command's user.
func (p *rootPlan) bars(inner, dir string) bool {
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

// standard is what every root has.
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

// dataAttrs are the attributes of what a command can write.
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

// rights are what Landlock calls an access.
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
		return // it grants nothing, and nobody comes there to write
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

// pin keeps folders from being renamed. The mounts in them stay.
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

// owner has what belongs to the folder's owner shown as the command's: what
// it writes keeps that owner, and nothing is changed. What is root's and only
// to be read stays root's: a grant of /etc does not reveal its shadow. A user
// that is named and has the right to write a folder does that by its own name.
func (p *rootPlan) owner(o *helper.MountOp, g *policy.Grant) {
	if !p.root {
		return
	}
	// What is only read only is shown as what is around it.
	o.Loose = !g.Access.Has(policy.Write) && !g.ReadOnly
	if p.shown() {
		if p.uid == os.Geteuid() {
			o.Loose = false // it is shown as it is
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

// writes reports whether the user that the policy names may write to what is
// granted without being shown as its owner.
func (p *rootPlan) writes(g *policy.Grant) bool {
	if p.r.UID < 0 || g.ReadOnly {
		return false
	}
	st, err := os.Stat(g.Path)
	if err != nil {
		return false // the mount tells why
	}
	bits, group := st.Mode().Perm(), g.GID == p.gid || slices.Contains(p.r.Groups, g.GID)
	if group {
		bits >>= 3
	}
	return bits&2 != 0 && (!g.Dir || bits&1 != 0)
}

// identity is of what a grant was resolved to.
func identity(g *policy.Grant) sys.FileID { return sys.FileID{Device: g.Node, Inode: g.Inode} }

// work is the bounded folder.
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

// What lies over denied paths: an empty folder and an empty file that nobody
// may open.
const (
	coverDir  = "/dev/.denied/folder"
	coverFile = "/dev/.denied/file"
	// What stands for a folder that must not come to be can be read.
	coverEmpty = "/dev/.denied/empty"
)

// covers makes what lies over other paths.
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

// denied covers what is denied, after everything that is granted.
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
			continue // what it points to is denied as well, or it cannot be seen
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
