package watch

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/glob"
)

// Request says what is to be watched.
type Request struct {
	// For is who is told, as in [Options.Send]. The changes of all its requests are told once.
	For string
	// Path is a file or folder. It must be absolute and need not exist.
	Path string
	// Recursive watches all folders below, without following symbolic links in it.
	Recursive bool
	// Excludes are patterns of what is not told, nor watched. Those that do not begin with ** are
	// for paths below Path.
	Excludes []string
	// Includes are patterns of what is told; nil: everything. Those that do not begin with ** or a
	// slash are for paths below Path.
	Includes []string
	// Guard restricts what is told; nil: nothing.
	Guard workbench.Guard
}

// root is a request that is in force.
type root struct {
	Request
	exclude, include *glob.Glob // nil: none

	real    string // Path without links; of a missing one, as far as it can be followed
	folder  bool   // real is a folder
	missing bool
}

// newRoot checks a request.
func newRoot(r Request) (*root, error) {
	r.Path = filepath.Clean(r.Path)
	if !filepath.IsAbs(r.Path) {
		return nil, workbench.Invalid("%s: an absolute path expected", r.Path)
	}
	t := &root{Request: r}
	if err := t.locate(); err != nil {
		return nil, err
	}
	var err error
	if t.exclude, err = t.compile(r.Excludes); err == nil && r.Includes != nil {
		t.include, err = t.compile(r.Includes)
	}
	return t, err
}

// compile makes all patterns ones for whole paths.
func (t *root) compile(patterns []string) (*glob.Glob, error) {
	if len(patterns) == 0 {
		return nil, nil //nolint:nilnil // none
	}
	all := make([]string, 0, len(patterns))
	for _, p := range patterns {
		if !strings.HasPrefix(p, "**") && !strings.HasPrefix(p, "/") && !filepath.IsAbs(p) {
			p = escape(filepath.ToSlash(t.Path)) + "/" + p
		}
		all = append(all, p)
	}
	return glob.Any(all...)
}

// patterns returns how many patterns without braces the request has.
func (t *root) patterns() (n int) {
	for _, g := range []*glob.Glob{t.exclude, t.include} {
		if g != nil {
			n += g.Size()
		}
	}
	return n
}

// escape makes a path a pattern that matches it alone.
func escape(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", "{", "[{]", "}", "[}]").Replace(path)
}

// locate finds out where the path leads now.
func (t *root) locate() error {
	t.missing, t.folder = false, false
	if t.Guard != nil {
		real, err := t.Guard.Check(t.Path, workbench.Read)
		if err != nil {
			return err
		}
		t.real = real
	} else if real, err := filepath.EvalSymlinks(t.Path); err == nil {
		t.real = real
	} else {
		t.real = t.Path
		if up, err := filepath.EvalSymlinks(filepath.Dir(t.Path)); err == nil {
			t.real = filepath.Join(up, filepath.Base(t.Path))
		}
	}
	info, err := os.Lstat(t.real)
	t.missing = err != nil
	t.folder = err == nil && info.IsDir()
	return nil
}

// anchor returns the folder that must be watched for the root itself.
func (t *root) anchor() string {
	if t.folder {
		return t.real
	}
	for dir := filepath.Dir(t.real); ; dir = filepath.Dir(dir) {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() || dir == filepath.Dir(dir) {
			return dir
		}
	}
}

// named returns a real path as the request has it.
func (t *root) named(real string) string { return t.Path + strings.TrimPrefix(real, t.real) }

// enters reports whether a folder below is to be watched for the root.
func (t *root) enters(dir string) bool {
	if dir == t.real {
		return t.folder
	}
	if !t.folder || !t.Recursive || !isWithin(dir, t.real) || t.excludes(dir) {
		return false
	}
	return workbench.Allowed(t.Guard, dir, workbench.Read) == nil
}

// excludes reports whether a path is not told.
func (t *root) excludes(real string) bool {
	return t.exclude != nil && t.exclude.Match(filepath.ToSlash(t.named(real)))
}

// tells reports whether a change is told, and of which path.
func (t *root) tells(real string) (path string, ok bool) {
	switch {
	case real == t.real:
	case !isWithin(real, t.real), !t.folder && !t.missing:
		return "", false
	case !t.Recursive && filepath.Dir(real) != t.real:
		return "", false
	}
	path = t.named(real)
	slash := filepath.ToSlash(path)
	if real != t.real && t.exclude != nil && t.excludedAbove(real) || t.include != nil && !t.include.Match(slash) {
		return "", false
	}
	return path, workbench.Allowed(t.Guard, real, workbench.Take) == nil
}

// excludedAbove reports whether a path or a folder between it and the root is excluded. Another
// root may have it watched.
func (t *root) excludedAbove(real string) bool {
	for ; real != t.real && len(real) > len(t.real); real = filepath.Dir(real) {
		if t.excludes(real) {
			return true
		}
	}
	return false
}
