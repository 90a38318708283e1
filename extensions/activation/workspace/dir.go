package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Dir searches folders of this machine. A search skips .git, .svn and .hg, and
// folders that it may not read.
type Dir struct{}

// Exists implements [Finder]. It returns false for a name that leads out of the
// folder.
func (Dir) Exists(_ context.Context, folder, name string) (bool, error) {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return false, nil
	}
	_, err := os.Stat(filepath.Join(folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Search implements [Finder].
func (Dir) Search(ctx context.Context, folder string, patterns []string) (string, error) {
	globs := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		g, err := Glob(p)
		if err != nil {
			return "", err
		}
		globs[i] = g
	}
	found := ""
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && path == folder:
			return err
		case err != nil:
			return nil //nolint:nilerr // an unreadable folder has no matches
		case d.IsDir() && (d.Name() == ".git" || d.Name() == ".svn" || d.Name() == ".hg"):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		for i, g := range globs {
			if g.MatchString(filepath.ToSlash(rel)) {
				found = patterns[i]
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, err
}

// Glob compiles a pattern: * matches anything within a name, ** anything across
// folders, ? one character of a name, [ab] and [!ab] one of a set, {x,y} one of
// several patterns. It matches whole paths with slashes.
func Glob(pattern string) (*regexp.Regexp, error) {
	var b strings.Builder
	b.WriteString("(?s)^")
	depth := 0
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '{':
			depth++
			b.WriteString("(?:")
		case c == '}' && depth > 0:
			depth--
			b.WriteByte(')')
		case c == ',' && depth > 0:
			b.WriteByte('|')
		case c == '[':
			end := strings.IndexByte(pattern[i:], ']')
			if end < 2 {
				return nil, fmt.Errorf("pattern %q: a ] is missing", pattern)
			}
			set := pattern[i+1 : i+end]
			b.WriteByte('[')
			if set[0] == '!' || set[0] == '^' {
				b.WriteString("^/")
				set = set[1:]
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, `[`, `\[`, `^`, `\^`).Replace(set))
			b.WriteByte(']')
			i += end
		default:
			b.WriteString(regexp.QuoteMeta(pattern[i : i+1]))
		}
	}
	if depth > 0 {
		return nil, fmt.Errorf("pattern %q: a } is missing", pattern)
	}
	b.WriteByte('$')
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return re, nil
}
