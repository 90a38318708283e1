package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// unescape removes the backslashes from a part of a path that is not a pattern.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// maxVisited bounds how many folder entries one pattern reads.
const maxVisited = 1 << 20

// Where a pattern would have to search a folder with a longer path, or with more
// enclosing folders, the folder is denied as a whole: no path reaches its files, or
// they take a mount for each enclosing folder.
const (
	maxPath  = 2048
	maxDepth = 128
)

var (
	errTooWide = errors.New("it would have to search more than a million files")
	errTooDeep = fmt.Errorf("it lies in more than %d folders, or its path is longer than %d bytes", maxDepth, maxPath)
)

// globber finds the paths that a pattern matches. It enters only folders with
// grants, and follows links that a part of the pattern matches, but none below **.
type globber struct {
	hasGrant   func(dir string) bool // whether a path below dir can be granted
	denyFolder func(err error) bool  // denies the folder that cannot be searched because of err
	visited    int
	found      []string
	walked     map[string]bool // the states of walk so far, for patterns with several **; nil: no state repeats
}

// match adds the paths that pattern matches, each once.
func (g *globber) match(pattern string) error {
	parts := strings.Split(strings.Trim(filepath.Clean(pattern), "/"), "/")
	// Consecutive ** are the same as one.
	parts = slices.CompactFunc(parts, func(a, b string) bool { return a == "**" && b == "**" })
	if first := slices.Index(parts, "**"); first >= 0 && slices.Contains(parts[first+1:], "**") {
		g.walked = map[string]bool{}
	}
	if err := g.walk("/", parts); err != nil {
		return err
	}
	slices.Sort(g.found)
	g.found = slices.Compact(g.found)
	return nil
}

// failed returns nil if err means that nothing matches, or if the folder of err is
// denied as a whole; otherwise err.
func (g *globber) failed(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || g.denyFolder(err) {
		return nil
	}
	return err
}

// read lists a folder.
func (g *globber) read(dir string) ([]fs.DirEntry, error) {
	if len(dir) > maxPath || strings.Count(dir, "/") > maxDepth {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: errTooDeep}
	}
	return os.ReadDir(dir)
}

// follow returns the target of a path; false if there is none, or if it is in a
// folder that cannot be searched.
func (g *globber) follow(path string) (real string, ok bool, err error) {
	real, err = filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrPermission) {
		return "", false, g.failed(err)
	}
	return real, err == nil, nil
}

func (g *globber) walk(dir string, parts []string) error {
	if len(parts) == 0 {
		g.found = append(g.found, dir)
		return nil
	}
	if g.walked != nil {
		state := strconv.Itoa(len(parts)) + dir
		if g.walked[state] {
			return nil
		}
		g.walked[state] = true
	}
	part, rest := parts[0], parts[1:]
	if part != "**" && !policy.IsGlob(part) {
		next := filepath.Join(dir, unescape(part))
		if _, err := os.Lstat(next); err != nil {
			return g.failed(err)
		}
		if len(rest) == 0 {
			return g.walk(next, rest)
		}
		real, ok, err := g.follow(next)
		if !ok {
			return err
		}
		return g.walk(real, rest)
	}
	if !g.hasGrant(dir) {
		return nil
	}
	entries, err := g.read(dir)
	if err != nil {
		return g.failed(err)
	}
	if g.visited += len(entries); g.visited > maxVisited {
		return errTooWide
	}
	if part == "**" && len(rest) > 0 {
		if err := g.walk(dir, rest); err != nil { // ** also matches no folder
			return err
		}
	}
	for _, e := range entries {
		next := filepath.Join(dir, e.Name())
		switch ok, _ := filepath.Match(part, e.Name()); {
		case part == "**" && len(rest) == 0:
			g.found = append(g.found, next)
		case part == "**":
			if e.IsDir() {
				if err := g.walk(next, parts); err != nil {
					return err
				}
			}
		case !ok:
		case len(rest) == 0:
			g.found = append(g.found, next)
		default:
			real, ok, err := g.follow(next)
			if ok {
				err = g.walk(real, rest)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}
