package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// Remove removes a file, a link (never what it leads to), or a folder: with
// what is below it unless Recursive is false.
func (f *Files) Remove(ctx context.Context, p wire.FSRemoveParams) *wire.Error {
	if !yes(p.FollowSymlinks) && yes(p.Recursive) {
		return wire.Internal("recursive no-follow removal is unsupported")
	}
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return bad
	}
	var err error
	if yes(p.FollowSymlinks) {
		err = remove(ctx, path, yes(p.Recursive))
	} else {
		err = removePlain(path)
	}
	if err == nil {
		return nil
	}
	if bad = failure(err); bad.Code == wire.CodeNotFound && yes(p.Force) {
		return nil
	}
	return bad
}

func remove(ctx context.Context, path string, recursive bool) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() || !recursive {
		return os.Remove(path)
	}
	parent, err := sys.PinFolder(filepath.Dir(path))
	if errors.Is(err, sys.ErrUnsupported) {
		return os.RemoveAll(path)
	}
	if err != nil {
		return err
	}
	defer parent.Close()
	base := filepath.Base(path)
	if base == "/" {
		return syscall.EBUSY
	}
	return removeTree(ctx, parent, base, 0)
}

// removePlain removes a path that may have no link in it.
func removePlain(path string) error {
	dir, base := filepath.Split(filepath.Clean(path))
	if base == "" {
		return syscall.EBUSY
	}
	parent, err := sys.PinPlain(dir)
	if err != nil {
		return err
	}
	defer parent.Close()
	info, err := os.Lstat(sys.PinnedPath(parent, base))
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return errLink
	}
	return sys.RemoveAt(parent, base, info.IsDir())
}

// maxTree is how many folders deep a tree may be that is removed: what a path
// can name has fewer. Each takes a descriptor.
const maxTree = 2048

// removeTree removes name below the open folder parent. It goes down by
// descriptors and never through a link, so that nothing outside of the tree
// can be put in its way.
func removeTree(ctx context.Context, parent *os.File, name string, depth int) error {
	err := sys.RemoveAt(parent, name, false)
	if err == nil || errors.Is(err, fs.ErrNotExist) && depth > 0 {
		return nil
	}
	// A folder is EISDIR, and EPERM elsewhere than on Linux.
	if !errors.Is(err, syscall.EISDIR) && !errors.Is(err, syscall.EPERM) {
		return err
	}
	if depth >= maxTree {
		return syscall.ENAMETOOLONG
	}
	// What can be removed as an empty folder need not be opened.
	if err = sys.RemoveAt(parent, name, true); err == nil {
		return nil
	}
	if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
		return err
	}
	dir, err := sys.OpenBeneath(parent, name, openFolder, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	// Entries may be passed over while others are removed, and somebody may add
	// to them: again, as long as it helps, but not for ever.
	for range 100 {
		if err := removeEntries(ctx, dir, depth); err != nil {
			return err
		}
		if err = sys.RemoveAt(parent, name, true); err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, syscall.ENOTEMPTY) && !errors.Is(err, syscall.EEXIST) {
			return err
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
	return err
}

func removeEntries(ctx context.Context, dir *os.File, depth int) error {
	for {
		names, err := dir.Readdirnames(64)
		for _, name := range names {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := removeTree(ctx, dir, name, depth+1); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
	}
}
