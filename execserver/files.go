package execserver

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// FS is the server's files: what package os has, with a context. Paths are plain
// paths of the server; a relative one is relative to the server's working folder.
// Errors are *fs.PathError, for which errors.Is knows fs.ErrNotExist,
// fs.ErrPermission and fs.ErrExist. An FS is safe for concurrent use.
type FS struct {
	c       *Client
	sandbox *wire.SandboxContext
}

// FS returns the server's files.
func (c *Client) FS() FS { return FS{c: c} }

// Sandboxed returns the files as a sandbox lets them be seen: the server holds
// every access to it.
func (f FS) Sandboxed(s *wire.SandboxContext) FS { return FS{c: f.c, sandbox: s} }

// pathError is what a method of FS returns.
func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// call makes a request about one path. params makes what is sent.
func (f FS) call(ctx context.Context, op, name, method string, params func(wire.URI) any, result any) error {
	l, err := f.c.ready(ctx)
	if err == nil {
		var uri wire.URI
		if uri, err = f.c.uri(name); err == nil {
			err = l.call(ctx, method, params(uri), result, nil)
		}
	}
	return pathError(op, name, err)
}

// ReadFile reads a whole file of any size. A cut connection does not end it, as
// described at Open.
func (f FS) ReadFile(ctx context.Context, name string) ([]byte, error) {
	file, err := f.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return file.readAll()
}

// writeAtOnce is how much is written by one request. More goes by blocks.
const writeAtOnce = 4 << 20

// writesBlocks reports whether the server has fs/writeBlock.
func (c *Client) writesBlocks() bool { return c.Info().Capabilities.FileWriteStreaming }

// WriteFile replaces the content of a file by data of any size, and makes the
// file when it is missing, with the permissions that the server's umask leaves
// of 0666. It is not atomic: readers may see a part of data. When the connection
// ends before the server has answered, the whole file is written again. A
// server without fs/writeBlock takes 47 MiB.
func (f FS) WriteFile(ctx context.Context, name string, data []byte) (err error) {
	for range reopenings {
		if err = f.writeOnce(ctx, name, data); !errors.Is(err, ErrDisconnected) {
			break
		}
	}
	return err
}

func (f FS) writeOnce(ctx context.Context, name string, data []byte) error {
	if _, err := f.c.ready(ctx); err != nil {
		return pathError("write", name, err)
	}
	if len(data) <= writeAtOnce || !f.c.writesBlocks() {
		if len(data) > maxRequestBody {
			return pathError("write", name, fmt.Errorf("%w: without fs/writeBlock the server takes %d bytes", ErrTooLarge, maxRequestBody))
		}
		return f.call(ctx, "write", name, wire.MethodFSWriteFile, func(u wire.URI) any {
			return wire.FSWriteFileParams{Path: u, DataBase64: base64.StdEncoding.EncodeToString(data), Sandbox: f.sandbox}
		}, nil)
	}
	file, err := f.Create(ctx, name)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return cmp.Or(err, file.Close())
}

// Mkdir makes a folder. It fails with fs.ErrExist when there is something.
func (f FS) Mkdir(ctx context.Context, name string) error { return f.mkdir(ctx, name, false) }

// MkdirAll makes a folder and those above it. One that exists is no error.
func (f FS) MkdirAll(ctx context.Context, name string) error { return f.mkdir(ctx, name, true) }

func (f FS) mkdir(ctx context.Context, name string, all bool) error {
	return f.call(ctx, "mkdir", name, wire.MethodFSCreateDirectory, func(u wire.URI) any {
		return wire.FSCreateDirectoryParams{Path: u, Recursive: &all, Sandbox: f.sandbox}
	}, nil)
}

// Remove removes a file, a link or an empty folder.
func (f FS) Remove(ctx context.Context, name string) error { return f.remove(ctx, name, false) }

// RemoveAll removes a path and all below it. A path that is missing is no error.
func (f FS) RemoveAll(ctx context.Context, name string) error { return f.remove(ctx, name, true) }

func (f FS) remove(ctx context.Context, name string, all bool) error {
	return f.call(ctx, "remove", name, wire.MethodFSRemove, func(u wire.URI) any {
		return wire.FSRemoveParams{Path: u, Recursive: &all, Force: &all, Sandbox: f.sandbox}
	}, nil)
}

// Copy copies a file, a link or a whole folder on the server.
func (f FS) Copy(ctx context.Context, from, to string) error {
	if _, err := f.c.ready(ctx); err != nil {
		return pathError("copy", from, err)
	}
	dest, err := f.c.uri(to)
	if err != nil {
		return pathError("copy", to, err)
	}
	return f.call(ctx, "copy", from, wire.MethodFSCopy, func(u wire.URI) any {
		return wire.FSCopyParams{SourcePath: u, DestinationPath: dest, Recursive: true, Sandbox: f.sandbox}
	}, nil)
}

// EvalSymlinks returns an absolute path without links.
func (f FS) EvalSymlinks(ctx context.Context, name string) (string, error) {
	var r wire.FSCanonicalizeResult
	err := f.call(ctx, "readlink", name, wire.MethodFSCanonicalize, func(u wire.URI) any {
		return wire.FSCanonicalizeParams{Path: u, Sandbox: f.sandbox}
	}, &r)
	if err != nil {
		return "", err
	}
	real, bad := r.Path.NativeOn(f.c.serverOS())
	if bad != nil {
		return "", pathError("readlink", name, bad)
	}
	return real, nil
}

// Stat describes a file, and what it leads to if it is a link. The protocol does
// not carry permissions: Mode has 0555 for a folder and 0444 for anything else.
// Sys returns the wire.FSMetadata.
func (f FS) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	var m wire.FSMetadata
	err := f.call(ctx, "stat", name, wire.MethodFSGetMetadata, func(u wire.URI) any {
		return wire.FSGetMetadataParams{Path: u, Sandbox: f.sandbox}
	}, &m)
	if err != nil {
		return nil, err
	}
	return fileInfo{name: baseName(name), m: m}, nil
}

// ReadDir returns the entries of a folder, sorted by name. Links show what they
// lead to; those that lead nowhere are left out.
func (f FS) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	var r wire.FSReadDirectoryResult
	err := f.call(ctx, "open", name, wire.MethodFSReadDirectory, func(u wire.URI) any {
		return wire.FSReadDirectoryParams{Path: u, Sandbox: f.sandbox}
	}, &r)
	if err != nil {
		return nil, err
	}
	out := make([]fs.DirEntry, len(r.Entries))
	for i, e := range r.Entries {
		out[i] = dirEntry{f: f, ctx: ctx, dir: name, e: e}
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// baseName is the last part of a path.
func baseName(name string) string { return path.Base(strings.ReplaceAll(name, `\`, "/")) }

// fileInfo implements fs.FileInfo.
type fileInfo struct {
	name string
	m    wire.FSMetadata
}

func (i fileInfo) Name() string { return i.name }
func (i fileInfo) Size() int64  { return int64(i.m.Size) }
func (i fileInfo) Mode() fs.FileMode {
	return kindOf(i.m.IsDirectory, i.m.IsFile) | permOf(i.m.IsDirectory)
}
func (i fileInfo) ModTime() time.Time { return time.UnixMilli(i.m.ModifiedAtMs) }
func (i fileInfo) IsDir() bool        { return i.m.IsDirectory }
func (i fileInfo) Sys() any           { return i.m }
func (i fileInfo) String() string     { return fs.FormatFileInfo(i) }

func kindOf(dir, file bool) fs.FileMode {
	switch {
	case dir:
		return fs.ModeDir
	case file:
		return 0
	}
	return fs.ModeIrregular
}

func permOf(dir bool) fs.FileMode {
	if dir {
		return 0o555
	}
	return 0o444
}

// dirEntry implements fs.DirEntry.
type dirEntry struct {
	f   FS
	ctx context.Context //nolint:containedctx // Info has no room for one
	dir string
	e   wire.FSDirEntry
}

func (d dirEntry) Name() string      { return d.e.FileName }
func (d dirEntry) IsDir() bool       { return d.e.IsDirectory }
func (d dirEntry) Type() fs.FileMode { return kindOf(d.e.IsDirectory, d.e.IsFile) }
func (d dirEntry) String() string    { return fs.FormatDirEntry(d) }
func (d dirEntry) Info() (fs.FileInfo, error) {
	return d.f.Stat(d.ctx, joinPath(d.f.c.serverOS(), d.dir, d.e.FileName))
}

// Dir returns the files below a folder as package io/fs has them, the counterpart
// of os.DirFS. It implements fs.ReadDirFS, fs.StatFS and fs.ReadFileFS; ctx ends
// every access. Links may lead out of the folder.
func (f FS) Dir(ctx context.Context, root string) fs.FS { return dirFS{f: f, ctx: ctx, root: root} }

type dirFS struct {
	f    FS
	ctx  context.Context //nolint:containedctx // package io/fs has no room for one
	root string
}

var (
	_ fs.ReadDirFS  = dirFS{}
	_ fs.StatFS     = dirFS{}
	_ fs.ReadFileFS = dirFS{}
)

// in calls do with the path of a name and makes errors name what was asked for.
func in[T any](d dirFS, op, name string, do func(context.Context, string) (T, error)) (T, error) {
	var none T
	if !fs.ValidPath(name) {
		return none, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	v, err := do(d.ctx, joinPath(d.f.c.serverOS(), d.root, name))
	var p *fs.PathError
	if errors.As(err, &p) {
		return none, &fs.PathError{Op: op, Path: name, Err: p.Err}
	}
	return v, err
}

func (d dirFS) Open(name string) (fs.File, error) {
	f, err := in(d, "open", name, d.f.Open)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d dirFS) ReadDir(name string) ([]fs.DirEntry, error) {
	return in(d, "readdir", name, d.f.ReadDir)
}
func (d dirFS) Stat(name string) (fs.FileInfo, error) { return in(d, "stat", name, d.f.Stat) }
func (d dirFS) ReadFile(name string) ([]byte, error)  { return in(d, "read", name, d.f.ReadFile) }
