package files

import (
	"path/filepath"
	"strings"
)

// glob is a pattern of paths: * and ? within a component, [..] sets, ** for any
// number of components.
type glob struct{ parts []string }

// maxGlob bounds a pattern, whose ** multiply the ways to match.
const (
	maxGlob      = 4096
	maxGlobStars = 4
)

// newGlobs reads a pattern that counts from cwd unless it is absolute: as it
// is, and with the folders that it begins with in place of links to them. It
// is not ok when the pattern means something that is not known here.
func newGlobs(cwd, pattern string) ([]*glob, bool) {
	if len(pattern) > maxGlob || strings.ContainsAny(pattern, "{}\\") || strings.Count(pattern, "**") > maxGlobStars {
		return nil, false
	}
	if !filepath.IsAbs(pattern) {
		if cwd == "" {
			return nil, false
		}
		pattern = escapeGlob(cwd) + "/" + pattern
	}
	var g glob
	for _, part := range strings.Split(pattern, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." || strings.Contains(part, "**") && part != "**":
			return nil, false
		}
		if part != "**" {
			part = strings.ReplaceAll(part, "[!", "[^")
			if _, err := filepath.Match(part, ""); err != nil {
				return nil, false
			}
		}
		g.parts = append(g.parts, part)
	}
	if len(g.parts) == 0 {
		return nil, false
	}
	n := 0
	for n < len(g.parts) && !strings.ContainsAny(g.parts[n], "*?[\\") {
		n++
	}
	plain := "/" + filepath.Join(g.parts[:n]...)
	real := realFuture(plain)
	if real == plain {
		return []*glob{&g}, true
	}
	parts := strings.Split(strings.Trim(escapeGlob(real), "/"), "/")
	return []*glob{&g, {parts: append(parts, g.parts[n:]...)}}, true
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// match reports whether the whole of path matches.
func (g *glob) match(path string) bool {
	path = strings.Trim(path, "/")
	if path == "" {
		return false
	}
	return matchParts(g.parts, strings.Split(path, "/"))
}

func matchParts(pattern, path []string) bool {
	for len(pattern) > 0 {
		if pattern[0] == "**" {
			for i := 0; i <= len(path); i++ {
				if matchParts(pattern[1:], path[i:]) {
					return true
				}
			}
			return false
		}
		if len(path) == 0 {
			return false
		}
		if ok, err := filepath.Match(pattern[0], path[0]); err == nil && !ok {
			return false
		}
		pattern, path = pattern[1:], path[1:]
	}
	return len(path) == 0
}
