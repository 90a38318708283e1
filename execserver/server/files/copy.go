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

// Copy copies a file, a link as a link, or with Recursive a folder. Files that
// are there are replaced, with the mode of the source; folders are added to;
// a link is not put over anything. What is neither file, folder nor link is
// left out of a folder.
func (f *Files) Copy(ctx context.Context, p wire.FSCopyParams) *wire.Error {
	from, bad := f.enter(p.Sandbox, p.SourcePath, false)
	if bad != nil {
		return bad
	}
	defer from.leave()
	to, bad := f.enter(p.Sandbox, p.DestinationPath, false)
	if bad != nil {
		return bad
	}
	defer to.leave()
	if err := f.copy(ctx, p, from, to); err != nil {
		return failure(err)
	}
	return nil
}

func (f *Files) copy(ctx context.Context, p wire.FSCopyParams, from, to *place) error {
	if err := from.mayRead(); err != nil {
		return err
	}
	info, err := os.Lstat(from.at)
	if err != nil {
		return err
	}
	switch kind := info.Mode().Type(); {
	case kind == fs.ModeDir && !p.Recursive:
		return wire.InvalidRequest("fs/copy requires recursive: true when sourcePath is a directory")
	case kind == fs.ModeDir && from.rules != nil:
		// What lies in it would have to be judged piece by piece on both sides.
		return wire.InvalidRequest("fs/copy of a directory in a sandbox is not available on this server")
	case kind == fs.ModeDir:
		return copyTree(ctx, from.at, to.at)
	case kind == fs.ModeSymlink:
		if err := to.mayWrite(); err != nil {
			return err
		}
		return copyLink(from.at, to.at)
	case kind == 0:
		// The destination may be a link: then what it leads to is replaced.
		to, bad := f.enter(p.Sandbox, p.DestinationPath, true)
		if bad != nil {
			return bad
		}
		defer to.leave()
		return copyFile(ctx, from, to)
	}
	return wire.InvalidRequest("fs/copy only supports regular files, directories, and symlinks")
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// copyPiece is how much is copied before it is looked whether anybody still
// waits for it.
const copyPiece = 64 << 20

func copyFile(ctx context.Context, from, to *place) error {
	if err := to.mayWrite(); err != nil {
		return err
	}
	in, err := os.OpenFile(from.at, os.O_RDONLY|syscall.O_NONBLOCK|noFollow, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return wire.InvalidRequest("fs/copy only supports regular files, directories, and symlinks")
	}
	out, err := os.OpenFile(to.at, to.flags(os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK), info.Mode().Perm())
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
	if err := empty(out, notFile(out.Name())); err != nil {
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
	if err := makeAll(nil, to); err != nil {
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

// treeCopy copies one folder into another. Both are held open, and what is in
// them is named from there: a link that is put in its way does not lead out.
type treeCopy struct {
	source, dest *os.Root
	left         int // bytes that a path may still become longer
	depth        int // and folders
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
		return t.file(ctx, name)
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

func (t *treeCopy) file(ctx context.Context, name string) error {
	in, err := t.source.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	out, err := t.dest.OpenFile(name, os.O_WRONLY|os.O_CREATE|syscall.O_NONBLOCK, info.Mode().Perm())
	if err != nil {
		return err
	}
	defer out.Close()
	return fill(ctx, out, in, info)
}

// realFuture is the path without links that a path which is not there yet
// would have.
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
