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
	if !yes(p.FollowSymlinks) {
		return f.plainMetadata(p)
	}
	link, bad := f.enter(p.Sandbox, p.Path, false)
	if bad != nil {
		return none, bad
	}
	defer link.leave()
	self, err := os.Lstat(link.at)
	if err != nil {
		return none, failure(visible(link, err))
	}
	to := link
	if link.rules != nil && self.Mode()&fs.ModeSymlink != 0 {
		if to, bad = f.enter(p.Sandbox, p.Path, true); bad != nil {
			return none, bad
		}
		defer to.leave()
	}
	if err := to.mayRead(); err != nil {
		return none, failure(err)
	}
	info, err := to.stat()
	if err != nil {
		return none, failure(err)
	}
	m := metadata(info, sys.Born(to.at, to.rules == nil))
	m.IsSymlink = self.Mode()&fs.ModeSymlink != 0
	return m, nil
}

// plainMetadata is about a path that may have no link in it.
func (f *Files) plainMetadata(p wire.FSGetMetadataParams) (wire.FSMetadata, *wire.Error) {
	var none wire.FSMetadata
	path, bad := p.Path.Native()
	if bad != nil {
		return none, bad
	}
	rules, bad := f.rules(p.Sandbox)
	if bad != nil {
		return none, bad
	}
	path = filepath.Clean(path)
	if rules != nil {
		if err := rules.Read(path); err != nil {
			return none, failure(err)
		}
	}
	dir, base := filepath.Split(path)
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

// visible is err, or what the rules say about a path that they do not show.
func visible(p *place, err error) error {
	if bad := p.mayRead(); bad != nil {
		return bad
	}
	return err
}

// Canonicalize is a path without links.
func (f *Files) Canonicalize(_ context.Context, p wire.FSCanonicalizeParams) (wire.FSCanonicalizeResult, *wire.Error) {
	var none wire.FSCanonicalizeResult
	at, bad := f.enter(p.Sandbox, p.Path, true)
	if bad != nil {
		return none, bad
	}
	defer at.leave()
	if at.rules != nil {
		if err := at.mayRead(); err != nil && !at.rules.Sees(at.real) {
			return none, failure(err)
		}
		if _, err := os.Lstat(at.at); err != nil {
			return none, failure(err)
		}
		return wire.FSCanonicalizeResult{Path: wire.FileURI(at.real)}, nil
	}
	if _, err := os.Stat(at.at); err != nil { // ELOOP and ENOTDIR in the words of the system
		return none, failure(err)
	}
	real, err := filepath.EvalSymlinks(at.at)
	if err != nil {
		return none, failure(err)
	}
	return wire.FSCanonicalizeResult{Path: wire.FileURI(real)}, nil
}
