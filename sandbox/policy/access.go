package policy

import (
	"path/filepath"
	"slices"
)

// Access returns what holds for a path, which is followed over links as the
// kernel would. Denied paths have none. The folders of /dev, /proc, /tmp that
// every confined process has are not looked at.
func (r *Resolved) Access(path string) Access {
	t, err := trace(filepath.Clean(path))
	if err != nil || !filepath.IsAbs(path) {
		return 0
	}
	for _, d := range r.Denied {
		if within(t.real, d.Path) {
			return 0
		}
	}
	if w := r.Policy.Work.Path; w != "" && within(t.real, w) {
		if r.Policy.JIT {
			return Write | Exec
		}
		return Write
	}
	for i := len(r.Grants) - 1; i >= 0; i-- {
		if g := r.Grants[i]; g.Link == "" && (g.Path == t.real || g.Dir && within(t.real, g.Path)) {
			return g.Access
		}
	}
	return 0
}

// Reaches reports whether a confined process can be in a folder: one that is
// granted, or one on the way to something that is.
func (r *Resolved) Reaches(dir string) bool {
	if r.Access(dir) != 0 {
		return true
	}
	t, err := trace(filepath.Clean(dir))
	if err != nil || t.missing != "" || !filepath.IsAbs(dir) {
		return false
	}
	w := r.Policy.Work.Path
	return w != "" && within(w, t.real) || slices.ContainsFunc(r.Grants, func(g Grant) bool { return within(g.Path, t.real) })
}
