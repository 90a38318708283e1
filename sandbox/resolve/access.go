package resolve

import (
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Access returns what holds for a path, which is followed over links as the
// kernel would. Denied paths have none. The folders of /dev, /proc, /tmp that
// every confined process has are not looked at.
func Access(r *policy.Resolved, path string) policy.Access {
	t, err := trace(filepath.Clean(path))
	if err != nil || !filepath.IsAbs(path) {
		return 0
	}
	for _, d := range r.Denied {
		if policy.Within(t.real, d.Path) {
			return 0
		}
	}
	if w := r.Policy.Work.Path; w != "" && policy.Within(t.real, w) {
		if r.Policy.JIT {
			return policy.Write | policy.Exec
		}
		return policy.Write
	}
	for i := len(r.Grants) - 1; i >= 0; i-- {
		if g := r.Grants[i]; g.Link == "" && (g.Path == t.real || g.Dir && policy.Within(t.real, g.Path)) {
			return g.Access
		}
	}
	return 0
}

// Reaches reports whether a confined process can be in a folder: one that is
// granted, or one on the way to something that is.
func Reaches(r *policy.Resolved, dir string) bool {
	if Access(r, dir) != 0 {
		return true
	}
	t, err := trace(filepath.Clean(dir))
	if err != nil || t.missing != "" || !filepath.IsAbs(dir) {
		return false
	}
	w := r.Policy.Work.Path
	return w != "" && policy.Within(w, t.real) || slices.ContainsFunc(r.Grants, func(g policy.Grant) bool { return policy.Within(g.Path, t.real) })
}
