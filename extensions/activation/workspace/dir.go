package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hostsup/hostsup/workbench/glob"
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
	globs := make([]*glob.Glob, len(patterns))
	for i, p := range patterns {
		g, err := glob.Compile(p)
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
			if g.Match(filepath.ToSlash(rel)) {
				found = patterns[i]
				return fs.SkipAll
			}
		}
		return nil
	})
	return found, err
}
