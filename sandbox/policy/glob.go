package policy

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// isGlob reports whether a path has a character that makes it a pattern: *, ?
// or [. A backslash before one takes that away; see unescape.
func isGlob(path string) bool {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

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

var errTooWide = errors.New("more than a million files were looked at")

// globber finds what a pattern matches. It goes only where something is granted,
// and follows links that the pattern names a part of but none below **.
type globber struct {
	worth   func(dir string) bool // whether something below dir can be granted
	visited int
	found   []string
}

// match adds what pattern matches, each path once.
func (g *globber) match(pattern string) error {
	parts := strings.Split(strings.Trim(filepath.Clean(pattern), "/"), "/")
	if err := g.walk("/", parts); err != nil {
		return err
	}
	slices.Sort(g.found)
	g.found = slices.Compact(g.found)
	return nil
}

func (g *globber) walk(dir string, parts []string) error {
	if len(parts) == 0 {
		g.found = append(g.found, dir)
		return nil
	}
	part, rest := parts[0], parts[1:]
	if part != "**" && !isGlob(part) {
		next := filepath.Join(dir, unescape(part))
		if _, err := os.Lstat(next); err != nil {
			return nil //nolint:nilerr // what is not there does not match
		}
		if len(rest) > 0 {
			if real, err := filepath.EvalSymlinks(next); err == nil {
				next = real
			}
		}
		return g.walk(next, rest)
	}
	if !g.worth(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
		return err // what is below it might match
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
			if real, err := filepath.EvalSymlinks(next); err == nil {
				if err := g.walk(real, rest); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
