package server

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// entry is one entry of a sandbox object for one path of this machine.
type entry struct {
	path    string // absolute and clean; a pattern as package policy knows them
	pattern bool
	access  wire.Access
}

// entriesOf resolves the paths of a sandbox object.
func entriesOf(sb *wire.SandboxContext, cwd *wire.URI) ([]entry, *wire.Error) {
	at, bad := newSpecialPaths(sb, cwd)
	if bad != nil {
		return nil, bad
	}
	var out []entry
	for i := range sb.Permissions.FileSystem.Entries {
		e := &sb.Permissions.FileSystem.Entries[i]
		if e.Path.Type == wire.PathGlob {
			pattern := e.Path.Pattern
			if strings.ContainsAny(pattern, `{}\`) {
				return nil, wire.InvalidRequest("the sandbox cannot be enforced here: the pattern %s has braces or a backslash, which are not known", pattern)
			}
			pattern = strings.ReplaceAll(pattern, "[!", "[^")
			if !filepath.IsAbs(pattern) {
				if at.cwd == "" {
					return nil, wire.InvalidRequest("the sandbox cannot be enforced here: the pattern %s is relative, and there is no folder that it counts from", pattern)
				}
				pattern = escapeGlob(at.cwd) + "/" + pattern
			}
			out = append(out, entry{pattern, true, e.Access})
			continue
		}
		paths, bad := at.of(&e.Path)
		if bad != nil {
			return nil, bad
		}
		access := e.Access
		if access == wire.AccessWrite && e.Path.Type == wire.PathSpecial && e.Path.Special.Kind == wire.SpecialMinimal {
			access = wire.AccessRead // the programs of the system must not be changed
		}
		grants := access == wire.AccessRead || access == wire.AccessWrite
		if len(paths) == 0 && !grants {
			return nil, wire.InvalidRequest("the sandbox cannot be enforced here: it denies a special path that is not known")
		}
		for _, path := range paths {
			out = append(out, entry{filepath.Clean(path), false, access})
		}
	}
	return out, nil
}

// specialPaths are the special paths of a sandbox object.
type specialPaths struct {
	cwd   string // "": it is not known
	roots []string
}

func newSpecialPaths(sb *wire.SandboxContext, of *wire.URI) (*specialPaths, *wire.Error) {
	cwd, roots := of, sb.WorkspaceRoots
	if sb.Cwd != nil {
		cwd = sb.Cwd
	}
	if c := sb.PolicyContext; c != nil {
		if c.Cwd != nil {
			cwd = c.Cwd
		}
		if len(c.WorkspaceRoots) > 0 {
			roots = c.WorkspaceRoots
		}
	}
	at := &specialPaths{}
	if cwd != nil {
		path, bad := cwd.Native()
		if bad != nil {
			return nil, bad
		}
		at.cwd = path
	}
	for _, u := range roots {
		path, bad := u.Native()
		if bad != nil {
			return nil, bad
		}
		at.roots = append(at.roots, path)
	}
	if len(roots) == 0 && at.cwd != "" {
		at.roots = []string{at.cwd}
	}
	return at, nil
}

// of returns the paths that an entry names. The entry must not be a pattern.
func (a *specialPaths) of(p *wire.PermissionPath) ([]string, *wire.Error) {
	if p.Type == wire.PathPlain {
		path, bad := p.Native()
		return []string{path}, bad
	}
	folders, bad := a.special(p.Special.Kind)
	if bad != nil {
		return nil, bad
	}
	var out []string
	for _, dir := range folders {
		if sub := p.Special.Subpath; sub != nil {
			if !filepath.IsLocal(*sub) {
				return nil, wire.InvalidRequest("the sandbox names %s, which leads out of its folder", *sub)
			}
			dir = filepath.Join(dir, *sub)
		}
		out = append(out, dir)
	}
	return out, nil
}

func (a *specialPaths) special(kind wire.SpecialKind) ([]string, *wire.Error) {
	switch kind {
	case wire.SpecialRoot:
		return []string{"/"}, nil
	case wire.SpecialMinimal:
		return minimal, nil
	case wire.SpecialCwd:
		if a.cwd == "" {
			return nil, nil
		}
		return []string{a.cwd}, nil
	case wire.SpecialProjectRoots:
		return a.roots, nil
	case wire.SpecialTmpdir:
		if dir := os.Getenv("TMPDIR"); filepath.IsAbs(dir) {
			return []string{dir}, nil
		}
		return nil, nil
	case wire.SpecialSlashTmp:
		return []string{"/tmp"}, nil
	}
	return nil, wire.InvalidRequest("the sandbox cannot be enforced here: it names a special path that is not known")
}
