package guard

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Errors of [PathRules]. None of their texts has a path that is not within a
// root, so that they can be given to the host.
var (
	ErrOutside = errors.New("path is outside of the workspace") // also when it does not exist there, or cannot be looked at
	ErrNotPath = errors.New("not a path of a file")             // another URI, relative, empty
	ErrPath    = errors.New("path cannot be followed")          // within a root: a loop, a file used as a folder, …
)

// PathRules say in which folders the paths have to lie that a host names.
//
// A path is followed as the kernel does it: component by component, each link
// where it points, .. as the folder above the one that was really reached. Of a
// target that does not exist yet the nearest ancestor that does has to lie within
// a root; that holds for a link that points to nothing, too: it is its target
// that would be made. Behind what does not exist a .. is refused, as nobody can
// say where it leads.
//
// A check holds for the moment. Somebody who can write within a root can make a
// link out of a folder between the check and the use. Where that matters, use
// what [PathRules.Locate] returns with [os.OpenRoot], which cannot be led out, or
// confine the host.
//
// Names are compared byte by byte: on a file system that does not tell cases
// apart, a root in other letters is outside.
type PathRules struct {
	roots []string // real paths
	names []string // the roots as they were given, absolute
}

// NewPathRules returns rules for folders, which have to exist; links in their
// own paths are followed now. Without any, every path is outside.
func NewPathRules(roots []string) (*PathRules, error) {
	r := &PathRules{}
	for _, root := range roots {
		abs, err := filepath.Abs(root)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", root, err)
		}
		real, err := filepath.EvalSymlinks(abs)
		if err != nil {
			return nil, fmt.Errorf("root %q: %w", root, reason(err))
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("root %q: not a folder", root)
		}
		r.names = append(r.names, abs)
		if !slices.Contains(r.roots, real) {
			r.roots = append(r.roots, real)
		}
	}
	return r, nil
}

// Roots returns the real paths of the roots.
func (r *PathRules) Roots() []string { return slices.Clone(r.roots) }

// Place is where a path leads.
type Place struct {
	Root string // the innermost root that it lies in
	Rel  string // from there; "." for the root itself
}

// Path returns the whole path, without links.
func (p Place) Path() string { return filepath.Join(p.Root, p.Rel) }

// Check returns nil when text, a file:// URI or an absolute path, leads into a
// root to whoever reads it. Unlike [PathRules.Locate] it does not know who does:
// it looks at the readings that are known beside the right one too (escapes of a
// URI in a path or twice, backslashes as separators, a path cut at ? or #, blanks
// around it, .. resolved before links are), and refuses text that is not UTF-8.
func (r *PathRules) Check(text string) error {
	steps := maxSteps
	return r.check(text, &steps)
}

// Locate returns where text, a file:// URI or an absolute path, leads, when that
// is within a root.
func (r *PathRules) Locate(text string) (Place, error) {
	path, err := toPath(text)
	if err != nil {
		return Place{}, err
	}
	steps := maxSteps
	return r.locate(path, &steps)
}

// locate is Locate for an absolute path.
func (r *PathRules) locate(path string, steps *int) (Place, error) {
	end, err := r.follow(path, steps)
	at, inside := r.place(end)
	switch {
	case !inside:
		return Place{}, ErrOutside // whatever else there is to say of it
	case err != nil:
		return Place{}, fmt.Errorf("%w: %q: %w", ErrPath, at.Rel, err)
	}
	return at, nil
}

// place finds the innermost root of a real path.
func (r *PathRules) place(path string) (Place, bool) {
	var best Place
	for _, root := range r.roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		if best.Root == "" || len(root) > len(best.Root) {
			best = Place{root, rel}
		}
	}
	return best, best.Root != ""
}

// toPath makes an absolute path of what a host named.
func toPath(text string) (string, error) {
	path := text
	if scheme, _, is := strings.Cut(text, ":"); is && len(scheme) > 1 && !strings.ContainsAny(scheme, `/\`) {
		u, err := url.Parse(text)
		switch {
		case err != nil, !strings.EqualFold(u.Scheme, "file"), u.Opaque != "", u.User != nil:
			return "", fmt.Errorf("%w: a file:// URI or an absolute path expected", ErrNotPath)
		case u.Host != "" && !strings.EqualFold(u.Host, "localhost"):
			return "", fmt.Errorf("%w: the URI names another machine", ErrNotPath)
		case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
			return "", fmt.Errorf("%w: the URI has more than a path", ErrNotPath)
		}
		path = u.Path
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, "/") // of /c:/dir
		}
		path = filepath.FromSlash(path)
	}
	switch {
	case strings.ContainsRune(path, 0):
		return "", fmt.Errorf("%w: it has a zero byte", ErrNotPath)
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("%w: not absolute", ErrNotPath)
	}
	return path, nil
}

// maxLinks is how many links a path may go through, as many as Linux allows.
const maxLinks = 40

// component is one name of a path.
type component struct {
	name   string
	linked bool // it comes from a link and not from the host
}

// errBack means that a .. stands where nobody can say, or the host should not
// learn, where it leads.
var errBack = errors.New("it goes back from what does not exist")

// errSteps means that more names were to be looked up than one request may have.
var errSteps = errors.New("too many names to look up")

// follow returns where a path leads, and takes the names that it looks up from
// steps. With an error it returns how far it came.
//
// A .. of the host's own is followed only within a root: otherwise
// "/etc/name/../../root/file" would tell whether there is a /etc/name.
func (r *PathRules) follow(path string, steps *int) (end string, err error) {
	end, rest := split(path, false)
	links := 0
	var missing []string // names behind the first that does not exist
	defer func() { end = filepath.Join(end, strings.Join(missing, string(filepath.Separator))) }()
	for len(rest) > 0 {
		c := rest[0]
		rest = rest[1:]
		if *steps--; *steps < 0 {
			return end, errSteps
		}
		switch {
		case c.name == ".":
			continue
		case c.name == "..":
			if _, inside := r.place(end); missing != nil || !inside && !c.linked {
				return end, errBack
			}
			end = filepath.Dir(end)
			continue
		case missing != nil:
			missing = append(missing, c.name)
			continue
		}
		next := filepath.Join(end, c.name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, c.name)
			continue
		}
		if err != nil {
			return end, reason(err)
		}
		if info.Mode().Type() != fs.ModeSymlink {
			end = next
			continue
		}
		if links++; links > maxLinks {
			return end, errors.New("too many links")
		}
		to, err := os.Readlink(next)
		if err != nil {
			return end, reason(err)
		}
		top, names := split(to, true)
		if top != "" {
			end = top
		}
		rest = append(names, rest...)
	}
	return end, nil
}

// split cuts a path into its top, "" for a relative one, and its components.
func split(path string, linked bool) (top string, names []component) {
	if filepath.IsAbs(path) {
		volume := filepath.VolumeName(path)
		top, path = volume+string(filepath.Separator), path[len(volume):]
	}
	separator := func(c rune) bool { return c < 0x80 && os.IsPathSeparator(uint8(c)) }
	for _, name := range strings.FieldsFunc(path, separator) {
		names = append(names, component{name, linked})
	}
	return top, names
}
