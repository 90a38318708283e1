package resolve

import (
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Access returns the access to a path, whose links it follows as the kernel does.
// Denied paths have none. The private /dev, /proc and /tmp of every confined
// process are not considered.
func Access(r *policy.Resolved, path string) policy.Access {
	_, a := Locate(r, path)
	return a
}

// Locate is like [Access] and also returns the path without links, "" if it cannot be
// followed. Missing parts are as in path.
func Locate(r *policy.Resolved, path string) (real string, a policy.Access) {
	t, err := trace(filepath.Clean(path))
	if err != nil || !filepath.IsAbs(path) {
		return "", 0
	}
	for _, d := range r.Denied {
		if policy.Within(t.real, d.Path) {
			return t.real, 0
		}
	}
	if w := r.Policy.Work.Path; w != "" && policy.Within(t.real, w) {
		if r.Policy.JIT {
			return t.real, policy.Write | policy.Exec
		}
		return t.real, policy.Write
	}
	for i := len(r.Grants) - 1; i >= 0; i-- {
		if g := r.Grants[i]; g.Link == "" && (g.Path == t.real || g.Dir && policy.Within(t.real, g.Path)) {
			return t.real, g.Access
		}
	}
	return t.real, 0
}

// Reaches reports whether a confined process can enter a folder: the folder is
// granted, or it leads to a granted path.
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
