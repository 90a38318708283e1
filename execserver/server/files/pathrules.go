package files

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
)

// PathRules is an Enforcer that decides by paths, without a process that is
// confined. It refuses an object when it holds what paths cannot decide: a glob
// that grants, a pattern it does not know, a denial of an unknown place.
//
// The most specific entry that holds a path decides; what lies in a denied
// folder is denied whatever else names it. In a folder that may be written,
// .git, .agents and .codex may only be read unless an entry names them.
func PathRules(sb *wire.SandboxContext) (Rules, *wire.Error) {
	if open(sb) {
		return nil, nil
	}
	if sb.Permissions.FileSystem == nil || !canPin {
		return nil, errCannotConfine
	}
	where := whereOf(sb)
	r := &pathRules{}
	for _, e := range sb.Permissions.FileSystem.Entries {
		if bad := r.add(where, e); bad != nil {
			return nil, bad
		}
	}
	r.protect()
	return r, nil
}

// protected are the folders that hold what steers an agent or a repository.
var protected = []string{".git", ".agents", ".codex"}

type pathRules struct {
	grants []grant
	denied []string // with all below
	globs  []*glob
}

type grant struct {
	path  string
	write bool
	plain bool // named by an entry, not protected
}

// where is what the special paths stand for.
type where struct {
	cwd   string
	roots []string
}

func whereOf(sb *wire.SandboxContext) where {
	cwd, roots := sb.Cwd, sb.WorkspaceRoots
	if c := sb.PolicyContext; c != nil {
		if c.Cwd != nil {
			cwd = c.Cwd
		}
		if len(c.WorkspaceRoots) > 0 {
			roots = c.WorkspaceRoots
		}
	}
	var w where
	if cwd != nil {
		w.cwd, _ = cwd.Native() // what is no path here grants nothing
	}
	for _, u := range roots {
		if path, bad := u.Native(); bad == nil {
			w.roots = append(w.roots, path)
		}
	}
	return w
}

// platform is what programs need to run at all.
var platform = []string{"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr", "/etc", "/nix/store", "/run/current-system/sw"}

// places are the paths that an entry is about.
func (w where) places(p wire.PermissionPath) ([]string, *wire.Error) {
	if p.Type == wire.PathPlain {
		path, bad := p.Native()
		return []string{path}, bad
	}
	var out []string
	switch p.Special.Kind {
	case wire.SpecialRoot:
		out = []string{"/"}
	case wire.SpecialMinimal:
		out = slices.Clone(platform)
	case wire.SpecialCwd:
		out = []string{w.cwd}
	case wire.SpecialProjectRoots:
		out = slices.Clone(w.roots)
	case wire.SpecialTmpdir:
		out = []string{os.Getenv("TMPDIR")}
	case wire.SpecialSlashTmp:
		out = []string{"/tmp"}
	}
	out = slices.DeleteFunc(out, func(s string) bool { return !filepath.IsAbs(s) })
	if sub := p.Special.Subpath; sub != nil {
		for i := range out {
			inner := filepath.Join(out[i], *sub)
			if filepath.IsAbs(*sub) || !within(inner, out[i]) {
				return nil, wire.InvalidRequest("subpath `%s` leads out of its folder", *sub)
			}
			out[i] = inner
		}
	}
	return out, nil
}

func (r *pathRules) add(w where, e wire.PermissionEntry) *wire.Error {
	deny := e.Access == wire.AccessDeny || e.Access == wire.AccessNone
	if e.Path.Type == wire.PathGlob {
		if !deny {
			return errCannotConfine
		}
		globs, ok := newGlobs(w.cwd, e.Path.Pattern)
		if !ok {
			return errCannotConfine
		}
		r.globs = append(r.globs, globs...)
		return nil
	}
	if deny && e.Path.Type == wire.PathSpecial && e.Path.Special.Kind == wire.SpecialUnknown {
		return errCannotConfine
	}
	paths, bad := w.places(e.Path)
	if bad != nil {
		return bad
	}
	for _, path := range paths {
		path = filepath.Clean(path)
		real, err := filepath.EvalSymlinks(path)
		switch {
		case deny:
			// Both, and also when it is missing: it may come to be there.
			r.denied = append(r.denied, path, realFuture(path))
		case err == nil:
			write := e.Access == wire.AccessWrite && !(e.Path.Type == wire.PathSpecial && e.Path.Special.Kind == wire.SpecialMinimal)
			r.grants = append(r.grants, grant{path: real, write: write, plain: true})
		case e.Access == wire.AccessRead:
			// Missing: it takes away the right to make it.
			r.grants = append(r.grants, grant{path: realFuture(path), plain: true})
		}
	}
	return nil
}

// protect adds what may only be read in folders that may be written.
func (r *pathRules) protect() {
	for _, g := range slices.Clone(r.grants) {
		for _, name := range protected {
			path := filepath.Join(g.path, name)
			named := slices.ContainsFunc(r.grants, func(o grant) bool { return o.plain && o.path == path })
			if g.write && !named {
				r.grants = append(r.grants, grant{path: path})
			}
		}
	}
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// find is the most specific grant around path; of two for the same path the
// lesser.
func (r *pathRules) find(path string) (best grant, ok bool) {
	for _, g := range r.grants {
		if !within(path, g.path) {
			continue
		}
		if !ok || len(g.path) > len(best.path) || len(g.path) == len(best.path) && best.write && !g.write {
			best, ok = g, true
		}
	}
	return best, ok
}

// deny is the error for a denied path.
func (r *pathRules) deny(path string) error {
	for _, d := range r.denied {
		if within(path, d) {
			return syscall.EACCES
		}
	}
	for _, g := range r.globs {
		// What matches is denied with all below it.
		for dir := path; ; dir = filepath.Dir(dir) {
			if g.match(dir) {
				return syscall.EACCES
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return nil
}

// Read implements Rules.
func (r *pathRules) Read(path string) error {
	if err := r.deny(path); err != nil {
		return err
	}
	if _, ok := r.find(path); !ok {
		return syscall.ENOENT
	}
	return nil
}

// Write implements Rules.
func (r *pathRules) Write(path string) error {
	if err := r.Read(path); err != nil {
		if errors.Is(err, syscall.EACCES) && slices.Contains(r.denied, path) {
			return syscall.EROFS // itself, not what it lies in: it is shown, but empty
		}
		return err
	}
	if g, _ := r.find(path); !g.write {
		return syscall.EROFS
	}
	return nil
}

// Clear implements Rules: what lies below may be written too, all of it.
func (r *pathRules) Clear(path string) error {
	if err := r.Write(path); err != nil {
		return err
	}
	for _, g := range r.grants {
		if !within(g.path, path) || g.write {
			continue
		}
		if !g.plain {
			if _, err := os.Lstat(g.path); err != nil {
				continue // protected, but there is nothing to protect
			}
		}
		return syscall.EROFS
	}
	for _, d := range r.denied {
		if within(d, path) {
			return syscall.EROFS
		}
	}
	if len(r.globs) > 0 {
		return errCannotConfine // any of it may match
	}
	return nil
}

// Sees implements Rules.
func (r *pathRules) Sees(path string) bool {
	if r.deny(path) != nil {
		return false
	}
	if _, ok := r.find(path); ok {
		return true
	}
	return slices.ContainsFunc(r.grants, func(g grant) bool { return g.plain && within(g.path, path) })
}
