package server

import (
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/execserver/wire"
)

// places knows where the special paths of a sandbox object are.
type places struct {
	sb  *wire.SandboxContext
	cwd wire.URI // of the process
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// of is what the path of an entry names: one path, or a pattern, or several.
func (a *places) of(p *wire.PermissionPath) ([]string, *wire.Error) {
	switch p.Type {
	case wire.PathPlain:
		path, bad := p.Native()
		return []string{filepath.Clean(path)}, bad
	case wire.PathGlob:
		if !filepath.IsAbs(p.Pattern) {
			return nil, wire.InvalidRequest("the sandbox cannot be enforced here: the pattern %s is not absolute", p.Pattern)
		}
		return []string{p.Pattern}, nil
	}
	roots, bad := a.special(p.Special.Kind)
	if bad != nil {
		return nil, bad
	}
	var out []string
	for _, r := range roots {
		if sub := p.Special.Subpath; sub != nil {
			if !filepath.IsLocal(*sub) {
				return nil, wire.InvalidRequest("the sandbox names %s, which leads out of its folder", *sub)
			}
			r = filepath.Join(r, *sub)
		}
		out = append(out, r)
	}
	return out, nil
}

func (a *places) special(kind wire.SpecialKind) ([]string, *wire.Error) {
	native := func(list ...wire.URI) (out []string, bad *wire.Error) {
		for _, u := range list {
			path, bad := u.Native()
			if bad != nil {
				return nil, bad
			}
			out = append(out, path)
		}
		return out, nil
	}
	cwd, roots := a.cwd, a.sb.WorkspaceRoots
	if a.sb.Cwd != nil {
		cwd = *a.sb.Cwd
	}
	if c := a.sb.PolicyContext; c != nil {
		if c.Cwd != nil {
			cwd = *c.Cwd
		}
		if len(c.WorkspaceRoots) > 0 {
			roots = c.WorkspaceRoots
		}
	}
	switch kind {
	case wire.SpecialRoot:
		return []string{"/"}, nil
	case wire.SpecialMinimal:
		var out []string
		for _, p := range programs {
			if exists(p) {
				out = append(out, p)
			}
		}
		return out, nil
	case wire.SpecialCwd:
		return native(cwd)
	case wire.SpecialProjectRoots:
		if len(roots) == 0 {
			return native(cwd)
		}
		return native(roots...)
	case wire.SpecialTmpdir:
		if dir := os.Getenv("TMPDIR"); filepath.IsAbs(dir) {
			return []string{filepath.Clean(dir)}, nil
		}
		return nil, nil
	case wire.SpecialSlashTmp:
		return []string{"/tmp"}, nil
	}
	return nil, wire.InvalidRequest("the sandbox cannot be enforced here: it names a special path that is not known")
}
