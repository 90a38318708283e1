package files

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// GetMetadata says what a path is.
func (f *Files) GetMetadata(_ context.Context, p wire.FSGetMetadataParams) (wire.FSMetadata, *wire.Error) {
	var none wire.FSMetadata
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return none, bad
	}
	if !yes(p.FollowSymlinks) {
		return plainMetadata(path)
	}
	self, err := os.Lstat(path)
	if err != nil {
		return none, failure(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return none, failure(err)
	}
	m := metadata(info, sys.Born(path, true))
	m.IsSymlink = self.Mode()&fs.ModeSymlink != 0
	return m, nil
}

// plainMetadata is about a path that may have no link in it.
func plainMetadata(path string) (wire.FSMetadata, *wire.Error) {
	var none wire.FSMetadata
	dir, base := filepath.Split(filepath.Clean(path))
	parent, err := sys.PinPlain(dir)
	if err != nil {
		return none, failure(err)
	}
	defer parent.Close()
	if base == "" {
		base = "."
	}
	at := sys.PinnedPath(parent, base)
	info, err := os.Lstat(at)
	switch {
	case err != nil:
		return none, failure(err)
	case info.Mode()&fs.ModeSymlink != 0:
		return none, errLink
	}
	return metadata(info, sys.Born(at, false)), nil
}

var errLink = wire.InvalidRequest("path contains a symbolic link")

func metadata(info fs.FileInfo, born time.Time) wire.FSMetadata {
	m := wire.FSMetadata{
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

// Canonicalize is a path without links.
func (f *Files) Canonicalize(_ context.Context, p wire.FSCanonicalizeParams) (wire.FSCanonicalizeResult, *wire.Error) {
	var none wire.FSCanonicalizeResult
	path, bad := native(p.Sandbox, p.Path)
	if bad != nil {
		return none, bad
	}
	if _, err := os.Stat(path); err != nil { // ELOOP and ENOTDIR in the words of the system
		return none, failure(err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return none, failure(err)
	}
	return wire.FSCanonicalizeResult{Path: wire.FileURI(real)}, nil
}
