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

// remove removes a file, a link (never what it leads to), or a folder: with
// everything in it unless Recursive is false.
func (f *Files) remove(ctx context.Context, p *wire.FSRemoveParams) (any, error) {
	if !yes(p.FollowSymlinks) && yes(p.Recursive) {
		return nil, wire.Internal("recursive no-follow removal is unsupported")
	}
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	var err error
	if yes(p.FollowSymlinks) {
		err = remove(ctx, path, yes(p.Recursive))
	} else {
		err = removePlain(path)
	}
	if err != nil && yes(p.Force) && failure(err).Code == wire.CodeNotFound {
		err = nil
	}
	return nil, err
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

// removePlain removes a path that must not contain a link.
func removePlain(path string) error {
	if filepath.Clean(path) == "/" {
		return syscall.EBUSY
	}
	parent, base, info, err := pinPlain(path)
	if err != nil {
		return err
	}
	defer parent.Close()
	return sys.RemoveAt(parent, base, info.IsDir())
}

// maxTree bounds the depth of a tree that is removed or copied: a path cannot name
// a deeper folder. Each level takes a descriptor.
const maxTree = 2048

// removeTree removes name below the open folder parent. It descends by
// descriptors and never through a link, so that nobody can redirect it out of the
// tree.
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
	// Entries may be passed over while others are removed, and somebody may add new
	// ones: the folder is read again, but not for ever.
	for range 100 {
		if err := batches(ctx, dir.Readdirnames, 64, func(name string) error { return removeTree(ctx, dir, name, depth+1) }); err != nil {
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
