package files

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
)

var errCopyKind = wire.InvalidRequest("fs/copy only supports regular files, directories, and symlinks")

// copy copies a file, a link as a link, or with Recursive a folder. Existing
// files are replaced, with the mode of the source; entries are added to existing
// folders; a link replaces nothing. A folder's entries that are neither file,
// folder nor link are left out.
func (f *Files) copy(ctx context.Context, p *wire.FSCopyParams) (any, error) {
	from, bad := p.SourcePath.Native()
	if bad != nil {
		return nil, bad
	}
	to, bad := p.DestinationPath.Native()
	if bad != nil {
		return nil, bad
	}
	info, err := os.Lstat(from)
	if err != nil {
		return nil, err
	}
	switch kind := info.Mode().Type(); {
	case kind == fs.ModeDir && !p.Recursive:
		return nil, wire.InvalidRequest("fs/copy requires recursive: true when sourcePath is a directory")
	case kind == fs.ModeDir:
		return nil, copyTree(ctx, from, to)
	case kind == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return nil, err
		}
		return nil, os.Symlink(target, to)
	case kind == 0:
		from := fileAt{os.OpenFile, from}
		return nil, from.copy(ctx, fileAt{os.OpenFile, to}, noFollow, errCopyKind)
	}
	return nil, errCopyKind
}

// copyPiece is how much is copied before ctx is looked at again, which also shows
// that the copy makes progress.
const copyPiece = 8 << 20

// fileAt is a file that can be opened, below an [os.Root] or not.
type fileAt struct {
	open func(name string, flag int, perm fs.FileMode) (*os.File, error)
	name string
}

// copy copies a regular file over another one. It returns otherwise if f is not a
// regular file. flags are used to open f.
func (f fileAt) copy(ctx context.Context, to fileAt, flags int, otherwise error) error {
	in, err := f.open(f.name, os.O_RDONLY|syscall.O_NONBLOCK|flags, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return otherwise
	}
	out, err := to.open(to.name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Close()
	return fill(ctx, out, in, info)
}

// fill makes the content and the mode of out those of in.
func fill(ctx context.Context, out, in *os.File, info fs.FileInfo) error {
	there, err := out.Stat()
	if err != nil {
		return err
	}
	if os.SameFile(info, there) {
		return nil // emptying it would lose it
	}
	if err := truncate(out, notFile(out.Name())); err != nil {
		return err
	}
	for {
		n, err := io.CopyN(out, in, copyPiece)
		if errors.Is(err, io.EOF) || err == nil && n < copyPiece {
			break
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
	}
	if there.Mode().IsRegular() {
		return out.Chmod(info.Mode().Perm() | info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
	}
	return nil
}

// copyTree copies a folder. It follows no link below it and keeps only the
// folders that are still to be read.
func copyTree(ctx context.Context, from, to string) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	if real == realFuture(to) || strings.HasPrefix(realFuture(to)+"/", strings.TrimSuffix(real, "/")+"/") {
		return wire.InvalidRequest("fs/copy cannot copy a directory to itself or one of its descendants")
	}
	if err := makeAll(to); err != nil {
		return err
	}
	source, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	dest, err := os.OpenRoot(to)
	if err != nil {
		_ = source.Close()
		return err
	}
	t := treeCopy{source: source, dest: dest, left: 4095 - max(len(from), len(to)), depth: maxTree}
	return t.folder(ctx)
}

// treeCopy copies one folder into another. Both are held open, and entries are
// named relative to them: a link that somebody creates meanwhile cannot lead out.
type treeCopy struct {
	source, dest *os.Root
	left         int // bytes by which a path may still become longer
	depth        int // folders by which it may become deeper
}

func (t *treeCopy) folder(ctx context.Context) error {
	defer t.source.Close()
	defer t.dest.Close()
	dir, err := t.source.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return eachEntry(ctx, dir, func(e fs.DirEntry) error { return t.entry(ctx, e.Name(), e.Type()) })
}

func (t *treeCopy) entry(ctx context.Context, name string, kind fs.FileMode) error {
	if t.left <= len(name) {
		return syscall.ENAMETOOLONG
	}
	switch kind {
	case fs.ModeDir:
		return t.below(ctx, name)
	case fs.ModeSymlink:
		target, err := t.source.Readlink(name)
		if err != nil {
			return err
		}
		return t.dest.Symlink(target, name)
	case 0:
		from := fileAt{t.source.OpenFile, name}
		return from.copy(ctx, fileAt{t.dest.OpenFile, name}, 0, nil)
	}
	return nil
}

func (t *treeCopy) below(ctx context.Context, name string) error {
	if t.depth == 0 {
		return syscall.ENAMETOOLONG
	}
	err := t.dest.Mkdir(name, 0o777)
	if errors.Is(err, fs.ErrExist) {
		info, there := t.dest.Stat(name)
		if there != nil || !info.IsDir() {
			return err
		}
	} else if err != nil {
		return err
	}
	source, err := t.source.OpenRoot(name)
	if err != nil {
		return err
	}
	dest, err := t.dest.OpenRoot(name)
	if err != nil {
		_ = source.Close()
		return err
	}
	return (&treeCopy{source: source, dest: dest, left: t.left - 1 - len(name), depth: t.depth - 1}).folder(ctx)
}

// realFuture returns the path without links that a path would have once it
// exists.
func realFuture(path string) string {
	rest := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return path
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}
