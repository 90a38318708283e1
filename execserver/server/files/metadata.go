package files

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// getMetadata describes the file at a path.
func (f *Files) getMetadata(_ context.Context, p *wire.FSGetMetadataParams) (any, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	if !yes(p.FollowSymlinks) {
		parent, base, info, err := pinPlain(path)
		if err != nil {
			return nil, err
		}
		defer parent.Close()
		return metadata(info, sys.Born(sys.PinnedPath(parent, base), false)), nil
	}
	self, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	m := metadata(info, sys.Born(path, true))
	m.IsSymlink = self.Mode()&fs.ModeSymlink != 0
	return m, nil
}

// pinPlain opens the folder of a path, which must not contain a symbolic link,
// and describes the file at the path, whose name in the folder is base.
func pinPlain(path string) (parent *os.File, base string, info fs.FileInfo, err error) {
	dir, base := filepath.Split(filepath.Clean(path))
	base = cmp.Or(base, ".") // of the root
	if parent, err = sys.PinPlain(dir); err != nil {
		return nil, "", nil, err
	}
	if info, err = os.Lstat(sys.PinnedPath(parent, base)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		err = wire.InvalidRequest("path contains a symbolic link")
	}
	if err != nil {
		_ = parent.Close()
	}
	return parent, base, info, err
}

func metadata(info fs.FileInfo, born time.Time) *wire.FSMetadata {
	m := &wire.FSMetadata{
		IsDirectory:  info.IsDir(),
		IsFile:       info.Mode().IsRegular(),
		Size:         uint64(max(info.Size(), 0)),
		ModifiedAtMs: max(0, info.ModTime().UnixMilli()),
	}
	if !born.IsZero() {
		m.CreatedAtMs = born.UnixMilli()
	}
	return m
}

// canonicalize answers with a path without links.
func (f *Files) canonicalize(_ context.Context, p *wire.FSCanonicalizeParams) (any, error) {
	path, bad := p.Path.Native()
	if bad != nil {
		return nil, bad
	}
	if _, err := os.Stat(path); err != nil { // ELOOP and ENOTDIR in the words of the system
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	return &wire.FSCanonicalizeResult{Path: wire.FileURI(real)}, err
}
