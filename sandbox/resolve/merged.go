package resolve

import (
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// rootFolders are links into /usr on systems that keep all programs there.
var rootFolders = []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"}

// mergedLinks grants the links of the root that lead to granted folders in /usr:
// programs name their loader, and scripts their shell, through these links.
func (r *resolver) mergedLinks() {
	r.loaderLinks()
	granted := r.out.Grants
	for _, link := range rootFolders {
		t, ok := r.seen.merged(link)
		if !ok {
			continue
		}
		if _, why := r.untrustedLink(&t); why != "" {
			continue
		}
		for _, g := range granted {
			if g.Access == 0 || !policy.Within(g.Path, t.real) && !(g.Dir && policy.Within(t.real, g.Path)) {
				continue
			}
			for _, l := range t.links {
				r.out.Grants = append(r.out.Grants, policy.Grant{Path: l.path, Access: g.Access, Link: l.text, Field: g.Field})
			}
		}
	}
}

// loaders lists the paths by which programs name their dynamic loader. The loader
// is in a folder of libraries; the path is often a link in another one.
var loaders = []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1", "/lib/ld-linux-x86-64.so.2"}

// loaderLinks grants the paths in loaders that lead to a loader that may be run, so
// that granting the folders of programs and libraries is enough to run programs.
func (r *resolver) loaderLinks() {
	for _, name := range loaders {
		t, err := r.seen.trace(name)
		if err != nil || t.missing != "" || len(t.links) == 0 {
			continue
		}
		i := slices.IndexFunc(r.out.Grants, func(g policy.Grant) bool {
			return g.Link == "" && g.Access.Has(policy.Exec) && (g.Path == t.real || g.Dir && policy.Within(t.real, g.Path))
		})
		if i < 0 {
			continue
		}
		if _, why := r.untrustedLink(&t); why != "" {
			continue
		}
		g := r.out.Grants[i]
		for _, l := range t.links {
			r.out.Grants = append(r.out.Grants, policy.Grant{Path: l.path, Access: g.Access, Link: l.text, Field: g.Field})
		}
	}
}

// merged follows a folder of the root that is a link into /usr.
func (s seen) merged(link string) (traced, bool) {
	t, err := s.trace(link)
	return t, err == nil && t.missing == "" && len(t.links) > 0 && policy.Within(t.real, "/usr")
}

// Unmerged returns the target of a path that passes a link from the root into /usr,
// such as /usr/lib64/x for /lib64/x, or else the path itself. A grant of the result
// includes that link.
func Unmerged(path string) string {
	for _, link := range rootFolders {
		if filepath.IsAbs(path) && policy.Within(path, link) {
			if t, ok := seen(nil).merged(link); ok {
				return t.real + path[len(link):]
			}
		}
	}
	return path
}
