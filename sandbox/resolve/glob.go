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

// unescape takes the backslashes out of a part of a pattern that is none.
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

// maxVisited bounds how many entries of folders one pattern looks at.
const maxVisited = 1 << 20

// A folder with a longer path, or with more folders around it, is denied as a
// whole where a pattern would have to look into it: what is in it is found by no
// path, or takes a mount for each of the folders around it.
const (
	maxPath  = 2048
	maxDepth = 128
)

var (
	errTooWide = errors.New("more than a million files were looked at")
	errTooDeep = fmt.Errorf("it lies in more than %d folders, or its path is longer than %d bytes", maxDepth, maxPath)
)

// globber finds what a pattern matches. It goes only where something is granted,
// and follows links that the pattern names a part of but none below **.
type globber struct {
	worth   func(dir string) bool // whether something below dir can be granted
	close   func(err error) bool  // has a folder be denied that cannot be looked into for err
	visited int
	found   []string
	been    map[string]bool // where walk was, for patterns with several **; nil: it is never twice at one place
}

// match adds what pattern matches, each path once.
func (g *globber) match(pattern string) error {
	parts := strings.Split(strings.Trim(filepath.Clean(pattern), "/"), "/")
	// ** twice in a row is ** once.
	parts = slices.CompactFunc(parts, func(a, b string) bool { return a == "**" && b == "**" })
	if first := slices.Index(parts, "**"); first >= 0 && slices.Contains(parts[first+1:], "**") {
		g.been = map[string]bool{}
	}
	if err := g.walk("/", parts); err != nil {
		return err
	}
	slices.Sort(g.found)
	g.found = slices.Compact(g.found)
	return nil
}

// failed returns err, or nil where nothing matches for that reason or the folder
// that it is about is denied as a whole.
func (g *globber) failed(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || g.close(err) {
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

// follow returns where a path leads, and false where it leads nowhere, or into a
// folder that cannot be looked into.
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
	if g.been != nil {
		state := strconv.Itoa(len(parts)) + dir
		if g.been[state] {
			return nil
		}
		g.been[state] = true
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
	if !g.worth(dir) {
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
		if err := g.walk(dir, rest); err != nil { // ** stands for no folder too
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
