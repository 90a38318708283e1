package resolve

import (
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// rootFolders are links into /usr where that holds all of the system's programs.
var rootFolders = []string{"/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"}

// mergedLinks grants the links of the root that lead to what is granted in
// /usr: programs name their loader by them, and scripts their shell.
func (r *resolver) mergedLinks() {
	r.loaderLinks()
	granted := r.out.Grants
	for _, link := range rootFolders {
		t, ok := r.seen.merged(link)
		if !ok {
			continue
		}
		if _, why := r.doubt(&t); why != "" {
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

// loaders are the names by which programs name the loader of their libraries. It
// lies in a folder of libraries, and its name is often a link in another one.
var loaders = []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/lib64/ld-linux-aarch64.so.1", "/lib/ld-linux-x86-64.so.2"}

// loaderLinks grants the names of a loader that may be run: a policy that grants
// the folders of programs and libraries then runs programs.
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
		if _, why := r.doubt(&t); why != "" {
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

// Unmerged returns where a path leads that goes through a link of the root into
// /usr, such as /lib64/x for which there is /usr/lib64/x; else the path itself. A
// grant of the result comes with that link.
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
