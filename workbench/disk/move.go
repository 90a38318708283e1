package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/workbench"
)

// maxDepth is how deep folders may be nested that are copied, or removed for a confined host.
const maxDepth = 256

// Rename moves a file, a link or a folder with all that is in it, also to another file system. What
// is at to stays unless overwrite is set; then it is there until the new one is in its place.
// Missing folders above to are made.
func (f FS) Rename(ctx context.Context, from, to string, overwrite bool) error {
	return failed("move", from, f.transfer(ctx, from, to, overwrite, true))
}

// Copy copies a file, a link as a link, or a folder with all that is in it. What is at to stays
// unless overwrite is set; then it is there until the copy is whole. Missing folders above to are
// made. It ends early with ctx.
func (f FS) Copy(ctx context.Context, from, to string, overwrite bool) error {
	return failed("copy", from, f.transfer(ctx, from, to, overwrite, false))
}

func (f FS) transfer(ctx context.Context, from, to string, overwrite, move bool) error {
	use := workbench.Take
	if move {
		use = workbench.Replace
	}
	src, err := f.at(from, use, false)
	if err != nil {
		return err
	}
	defer src.close()
	info, err := src.lstat()
	if err != nil {
		return err
	}
	if within(to, from) && filepath.Clean(to) != filepath.Clean(from) {
		return Fail(NameUnknown, "cannot move or copy %s to %s, which is within it", from, to)
	}
	dst, err := f.at(to, workbench.Replace, true)
	if err != nil {
		return err
	}
	defer dst.close()
	switch {
	case src.path == dst.path && move:
		return nil
	case within(dst.path, src.path):
		return Fail(NameUnknown, "cannot move or copy %s to %s, which is within it", from, to)
	}
	existing, err := dst.lstat()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if exists := err == nil; exists && !(move && os.SameFile(info, existing) && strings.EqualFold(src.path, dst.path)) {
		switch {
		case !overwrite:
			return Fail(NameExists, "cannot move or copy %s: %s exists, and overwrite is not set", from, to)
		case within(src.path, dst.path):
			return Fail(NameUnknown, "cannot overwrite %s with %s, which is within it", to, from)
		}
		if existing.IsDir() {
			if err := f.mayEmpty(dst.path); err != nil {
				return err
			}
		}
	} else if exists {
		existing, overwrite = nil, true // the same file in other letters
	}
	if move {
		err = put(src, dst, existing, overwrite)
		if !errors.Is(err, syscall.EXDEV) {
			return err
		}
		if info.IsDir() {
			if err := f.mayEmpty(src.path); err != nil {
				return err
			}
		}
	}
	part := &place{dst.dir, temporary(), dst.path}
	if err = f.copyTree(ctx, src, part, 0); err == nil {
		err = put(part, dst, existing, overwrite)
	}
	if err != nil {
		return errors.Join(err, dst.dir.RemoveAll(part.name))
	}
	if move {
		return src.dir.RemoveAll(src.name)
	}
	return nil
}

// put renames src to dst. existing is what is there, nil for nothing.
func put(src, dst *place, existing fs.FileInfo, overwrite bool) error {
	info, err := src.lstat()
	if err != nil {
		return err
	}
	if existing == nil || !existing.IsDir() && !info.IsDir() {
		return sys.RenameAt(src.dir, src.name, dst.dir, dst.name, overwrite)
	}
	aside := temporary()
	if err := sys.RenameAt(dst.dir, dst.name, dst.dir, aside, false); err != nil {
		return err
	}
	if err := sys.RenameAt(src.dir, src.name, dst.dir, dst.name, false); err != nil {
		return errors.Join(err, sys.RenameAt(dst.dir, aside, dst.dir, dst.name, false))
	}
	return dst.dir.RemoveAll(aside)
}

// copyTree copies a file, a link or a folder to a name that does not exist.
func (f FS) copyTree(ctx context.Context, from, to *place, depth int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	info, err := from.lstat()
	if err != nil {
		return err
	}
	if f.Guard != nil {
		if _, err := f.check(from.path, workbench.Take); err != nil {
			return err
		}
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		text, err := from.dir.Readlink(from.name)
		if err != nil {
			return err
		}
		return to.dir.Symlink(text, to.name)
	case !info.IsDir():
		return f.copyFile(from, to)
	case depth == maxDepth:
		return Fail(NameUnknown, "%s: folders are nested in more than %d folders", from.path, maxDepth)
	}
	if err := to.dir.Mkdir(to.name, 0o700); err != nil {
		return err
	}
	in, err := f.enter(from.dir, from.name, making{})
	if err != nil {
		return err
	}
	defer in.Close()
	if !f.admitsDir(in, mayList) {
		return workbench.NoPermissions(from.path)
	}
	out, err := f.enter(to.dir, to.name, making{})
	if err != nil {
		return err
	}
	defer out.Close()
	if err := f.adopt(to.dir, out); err != nil {
		return err
	}
	list, err := fs.ReadDir(in.FS(), ".")
	for _, e := range list {
		if err := f.copyTree(ctx, &place{in, e.Name(), filepath.Join(from.path, e.Name())}, &place{out, e.Name(), ""}, depth+1); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	return out.Chmod(".", info.Mode().Perm())
}

// within reports whether a path is another one or below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
