package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
	"github.com/hostsup/hostsup/workbench"
)

// Confined is the [workbench.Guard] of a host with a sandbox policy. It allows what the policy
// allows the host itself in the folders that the supervisor and the host both see. What only the
// host has, such as its own /tmp, /proc, /dev and work folder, is not reached. Before the first
// [Confined.Resolve] nothing is allowed.
//
// A supervisor that runs as root has more rights than the user of the host. Confined therefore
// checks owners and modes too: for the user that the policy names, and as for any other user if
// the host gets a user id of its own.
type Confined struct {
	state atomic.Pointer[state]
	root  bool // the supervisor runs as root
}

// state is what holds for the life that runs, or ran last.
type state struct {
	resolved *policy.Resolved
	free     bool // the host has no policy
}

var _ workbench.Guard = (*Confined)(nil)

// NewConfined returns a guard that allows nothing yet.
func NewConfined() *Confined { return &Confined{root: os.Geteuid() == 0} }

// Resolve applies a policy to this machine. It must be called right before each start of the host,
// when no code of an earlier life can still change where its paths lead. After an error nothing
// is allowed. A host without a policy is not confined. One whose policy accepts level "none" is confined
// as strongly as the machine can, and here as the policy says.
func (c *Confined) Resolve(p *policy.Policy, l policy.Limits) error {
	r, err := resolve.Policy(p, l)
	if err != nil {
		c.state.Store(nil)
		return err
	}
	c.state.Store(&state{r, p == nil})
	return nil
}

// Confines implements [workbench.Guard].
func (c *Confined) Confines() bool {
	s := c.state.Load()
	return s == nil || !s.free
}

// Check implements [workbench.Guard].
func (c *Confined) Check(path string, use workbench.Use) (string, error) {
	s := c.state.Load()
	if s == nil || !filepath.IsAbs(path) {
		return "", workbench.NoPermissions(path)
	}
	path = filepath.Clean(path)
	if s.free {
		return follow(path, use)
	}
	r := s.resolved
	if use == workbench.Read || use == workbench.Write {
		real, access := resolve.Locate(r, path)
		if !access.Has(wanted(use)) || private(r, real) || !c.permits(r, real, use) {
			return "", workbench.NoPermissions(path)
		}
		return real, nil
	}
	dir, access := resolve.Locate(r, filepath.Dir(path))
	real := filepath.Join(dir, filepath.Base(path))
	if dir == "" || real == dir || !access.Has(wanted(use)) || private(r, real) || !whole(r, real, use) || !c.permitsEntry(r, real, use) {
		return "", workbench.NoPermissions(path)
	}
	return real, nil
}

// ByPolicy returns a guard that allows what the policy allows, without regard to owners and modes:
// the folders that a policy grants for writing are those of the host's user for the host.
func (c *Confined) ByPolicy() workbench.Guard { return byPolicy{c} }

type byPolicy struct{ c *Confined }

func (b byPolicy) Confines() bool { return b.c.Confines() }

func (b byPolicy) Check(path string, use workbench.Use) (string, error) {
	plain := Confined{}
	plain.state.Store(b.c.state.Load())
	return plain.Check(path, use)
}

func wanted(use workbench.Use) policy.Access {
	if use == workbench.Read || use == workbench.Take {
		return policy.Read
	}
	return policy.Write
}

// private reports whether the host has something else than the supervisor at a path.
func private(r *policy.Resolved, path string) bool {
	w := r.Policy.Work.Path
	return policy.Within(path, "/proc") || policy.Within(path, "/dev") || w != "" && policy.Within(path, w)
}

// whole reports whether the host has the same access to all that is at and below a path. The paths
// of grants and denials may be mount points for the host, which it cannot move.
func whole(r *policy.Resolved, path string, use workbench.Use) bool {
	for _, d := range r.Denied {
		if policy.Within(d.Path, path) || policy.Within(path, d.Path) {
			return false
		}
	}
	if w := r.Policy.Work.Path; w != "" && policy.Within(w, path) {
		return false
	}
	for _, g := range r.Grants {
		if policy.Within(g.Path, path) && (use == workbench.Replace || !g.Access.Has(policy.Read)) {
			return false
		}
		if !g.Dir && use == workbench.Replace && policy.Within(path, g.Path) {
			return false
		}
	}
	return true
}

// permits reports whether owners and modes allow the user of the host to use a path without links.
func (c *Confined) permits(r *policy.Resolved, path string, use workbench.Use) bool {
	if !c.root {
		return true // the kernel checks the same user
	}
	info, err := os.Lstat(path)
	if err != nil {
		parent := filepath.Dir(path)
		return parent != path && c.permits(r, parent, use)
	}
	mode := fs.FileMode(4)
	if use == workbench.Write {
		mode = 2
		if info.IsDir() {
			mode = 3
		}
	}
	return c.reaches(r, path) && allows(r, info, mode)
}

// admits implements inspector.
func (c *Confined) admits(info fs.FileInfo, mode fs.FileMode) bool {
	s := c.state.Load()
	return s != nil && (s.free || !c.root || allows(s.resolved, info, mode))
}

// owner implements owning.
func (c *Confined) owner(dir fs.FileInfo) (uid, gid int) {
	s := c.state.Load()
	if s == nil || s.free || s.resolved.UID < 0 {
		return -1, -1
	}
	if _, gid, _ = sys.OwnersOf(dir); dir.Mode()&fs.ModeSetgid == 0 && s.resolved.GID >= 0 {
		gid = s.resolved.GID
	}
	return s.resolved.UID, gid
}

// permitsEntry is permits for an entry of a folder.
func (c *Confined) permitsEntry(r *policy.Resolved, path string, use workbench.Use) bool {
	if !c.root {
		return true
	}
	if use == workbench.Take {
		info, err := os.Lstat(path)
		return err != nil || info.Mode().Type() == fs.ModeSymlink && c.reaches(r, path) || c.permits(r, path, workbench.Read)
	}
	dir := filepath.Dir(path)
	if !c.permits(r, dir, workbench.Write) {
		return false
	}
	info, err := os.Lstat(dir)
	if err != nil || info.Mode()&fs.ModeSticky == 0 || owns(r, info) {
		return true
	}
	entry, err := os.Lstat(path)
	return err != nil || owns(r, entry)
}

// reaches reports whether the user of the host may search all folders above a path.
func (c *Confined) reaches(r *policy.Resolved, path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		info, err := os.Lstat(dir)
		if err != nil || !allows(r, info, 1) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
