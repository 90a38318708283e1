package files

import (
	"context"
	"encoding/json"
	"path"
	"strings"
	"time"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// maxDepth is how deep folders that are copied between file systems may be nested.
const maxDepth = 256

// Files are the files of all schemes, as one host may use them. Its errors are those of package
// workbench/disk.
type Files struct {
	s     *Service
	guard workbench.Guard
}

// disk returns the path of a file: URI.
func (f Files) disk(u workbench.URI) (disk.FS, string, bool) {
	path, ok := u.FilePath()
	return disk.FS{Guard: f.guard}, path, ok
}

// Stat returns what is known of a file or folder.
func (f Files) Stat(ctx context.Context, u workbench.URI) (s disk.Stat, err error) {
	if d, path, ok := f.disk(u); ok {
		return d.Stat(path)
	}
	p, err := f.s.provider(ctx, u)
	if err != nil {
		return s, err
	}
	if p.own != nil {
		return ownStat(p.own, u)
	}
	return s, p.call(ctx, "$stat", &s, u)
}

// ReadDir returns the entries of a folder.
func (f Files) ReadDir(ctx context.Context, u workbench.URI) ([]disk.Entry, error) {
	if d, path, ok := f.disk(u); ok {
		return d.ReadDir(path)
	}
	s, err := f.Stat(ctx, u)
	if err != nil {
		return nil, err
	}
	if s.Type&disk.TypeDirectory == 0 {
		return nil, disk.Fail(disk.NameNotDirectory, "%s is not a folder", u)
	}
	p, err := f.s.provider(ctx, u)
	if err != nil {
		return nil, err
	}
	var raw json.RawMessage
	if err := p.call(ctx, "$readdir", &raw, u); err != nil {
		return nil, err
	}
	return parseEntries(raw)
}

// ReadFile returns the content of a file.
func (f Files) ReadFile(ctx context.Context, u workbench.URI) ([]byte, error) {
	if d, path, ok := f.disk(u); ok {
		return d.ReadFile(path, f.s.opt.MaxRead)
	}
	s, err := f.Stat(ctx, u)
	if err != nil {
		return nil, err
	}
	if s.Type&disk.TypeDirectory != 0 {
		return nil, disk.Fail(disk.NameIsDirectory, "%s is a folder", u)
	}
	p, err := f.s.provider(ctx, u)
	if err != nil {
		return nil, err
	}
	if p.own != nil {
		return p.own.ReadFile(u)
	}
	var data workbench.Bytes
	return data, p.call(ctx, "$readFile", &data, u)
}

// ownStat returns what is known of a file of the editor. It has no folders.
func ownStat(fs FileSystem, u workbench.URI) (s disk.Stat, err error) {
	data, err := fs.ReadFile(u)
	if err != nil {
		return s, err
	}
	now := time.Now().UnixMilli() // it is made when it is read
	return disk.Stat{Type: disk.TypeFile, Created: now, Modified: now, Size: int64(len(data)), Permissions: disk.ReadOnly}, nil
}

// WriteFile makes or replaces a file, with the folders above it.
func (f Files) WriteFile(ctx context.Context, u workbench.URI, data []byte) error {
	if d, path, ok := f.disk(u); ok {
		return d.WriteFile(path, data)
	}
	p, err := f.changes(ctx, u)
	if err != nil {
		return err
	}
	switch s, err := f.Stat(ctx, u); {
	case err == nil && s.Type&disk.TypeDirectory != 0:
		return disk.Fail(disk.NameIsDirectory, "%s is a folder", u)
	case disk.Named(err, disk.NameNotFound):
		if err := f.Mkdir(ctx, parent(u)); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	return p.call(ctx, "$writeFile", nil, u, workbench.Bytes(data), map[string]bool{"create": true, "overwrite": true, "unlock": false, "atomic": false})
}

// Mkdir makes a folder with those above it. An existing folder is no error.
func (f Files) Mkdir(ctx context.Context, u workbench.URI) error {
	if d, path, ok := f.disk(u); ok {
		// A host makes a folder for each channel. It makes its folder for logs itself, as a user that
		// the guard does not know.
		if g, confined := d.Guard.(interface{ ByPolicy() workbench.Guard }); confined && u.Scheme == workbench.LogScheme {
			d.Guard = g.ByPolicy()
		}
		return d.Mkdir(path)
	}
	p, err := f.changes(ctx, u)
	if err != nil {
		return err
	}
	var missing []workbench.URI
	for {
		s, err := f.Stat(ctx, u)
		if err == nil && s.Type&disk.TypeDirectory == 0 {
			return disk.Fail(disk.NameExists, "cannot make folder %s: a file has this name", u)
		}
		if err == nil || u.Path == parent(u).Path {
			break
		}
		if !disk.Named(err, disk.NameNotFound) {
			return err
		}
		missing = append(missing, u)
		u = parent(u)
	}
	for i := len(missing) - 1; i >= 0; i-- {
		if err := p.call(ctx, "$mkdir", nil, missing[i]); err != nil && !disk.Named(err, disk.NameExists) {
			return err
		}
	}
	return nil
}

// Delete removes a file or a folder; one that is not empty only if recursive is set.
func (f Files) Delete(ctx context.Context, u workbench.URI, recursive, trash bool) error {
	d, path, local := f.disk(u)
	switch {
	case local && trash:
		return d.Trash(path)
	case local:
		return d.Remove(path, recursive)
	case trash:
		return workbench.NotSupported("workspace.fs.delete with useTrash", "files of the scheme "+u.Scheme+" have no trash")
	}
	p, err := f.changes(ctx, u)
	if err != nil {
		return err
	}
	s, err := f.Stat(ctx, u)
	if err != nil {
		return err
	}
	if s.Type&disk.TypeDirectory != 0 && !recursive {
		list, err := f.ReadDir(ctx, u)
		if err != nil {
			return err
		}
		if len(list) > 0 {
			return disk.Fail(disk.NameUnknown, "cannot remove %s: the folder is not empty, and recursive is not set", u)
		}
	}
	return p.call(ctx, "$delete", nil, u, map[string]bool{"recursive": recursive, "useTrash": false, "atomic": false})
}

// Rename moves a file or a folder. What is at to stays unless overwrite is set.
func (f Files) Rename(ctx context.Context, from, to workbench.URI, overwrite bool) error {
	return f.transfer(ctx, from, to, overwrite, true)
}

// Copy copies a file or a folder with all that is in it. What is at to stays unless overwrite is set.
func (f Files) Copy(ctx context.Context, from, to workbench.URI, overwrite bool) error {
	return f.transfer(ctx, from, to, overwrite, false)
}

func (f Files) transfer(ctx context.Context, from, to workbench.URI, overwrite, move bool) error {
	d, source, one := f.disk(from)
	_, target, two := f.disk(to)
	if one && two {
		if move {
			return d.Rename(ctx, source, target, overwrite)
		}
		return d.Copy(ctx, source, target, overwrite)
	}
	if err := f.before(ctx, from, to, overwrite, move); err != nil || from == to {
		return err
	}
	if from.Scheme == to.Scheme {
		p, err := f.s.provider(ctx, from)
		if err != nil {
			return err
		}
		over := map[string]bool{"overwrite": overwrite}
		switch {
		case move:
			return p.call(ctx, "$rename", nil, from, to, over)
		case p.capabilities&canCopy != 0:
			return p.call(ctx, "$copy", nil, from, to, over)
		}
	}
	if err := f.copyTree(ctx, from, to, 0); err != nil || !move {
		return err
	}
	return f.Delete(ctx, from, true, false)
}

// before checks a move or a copy, makes room for it and makes the folders above it.
func (f Files) before(ctx context.Context, from, to workbench.URI, overwrite, move bool) error {
	for _, u := range []workbench.URI{to, from} {
		if _, _, ok := f.disk(u); !ok && (u == to || move) {
			if _, err := f.changes(ctx, u); err != nil {
				return err
			}
		}
	}
	if _, err := f.Stat(ctx, from); err != nil {
		return err
	}
	switch {
	case from == to && move:
		return nil
	case inside(to, from):
		return disk.Fail(disk.NameUnknown, "cannot move or copy %s to %s, which is within it", from, to)
	}
	_, err := f.Stat(ctx, to)
	switch {
	case err != nil && !disk.Named(err, disk.NameNotFound):
		return err
	case err != nil:
		return f.Mkdir(ctx, parent(to))
	case !overwrite:
		return disk.Fail(disk.NameExists, "cannot move or copy %s: %s exists, and overwrite is not set", from, to)
	case inside(from, to):
		return disk.Fail(disk.NameUnknown, "cannot overwrite %s with %s, which is within it", to, from)
	}
	return f.Delete(ctx, to, true, false)
}

// copyTree copies a file or a folder between file systems.
func (f Files) copyTree(ctx context.Context, from, to workbench.URI, depth int) error {
	s, err := f.Stat(ctx, from)
	if err != nil {
		return err
	}
	if s.Type&disk.TypeDirectory == 0 {
		data, err := f.ReadFile(ctx, from)
		if err != nil {
			return err
		}
		return f.WriteFile(ctx, to, data)
	}
	if depth == maxDepth {
		return disk.Fail(disk.NameUnknown, "%s: folders are nested in more than %d folders", from, maxDepth)
	}
	if err := f.Mkdir(ctx, to); err != nil {
		return err
	}
	list, err := f.ReadDir(ctx, from)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := f.copyTree(ctx, child(from, e.Name), child(to, e.Name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// changes returns the provider of a file that is to be changed.
func (f Files) changes(ctx context.Context, u workbench.URI) (*provider, error) {
	p, err := f.s.provider(ctx, u)
	if err != nil {
		return nil, err
	}
	return p, p.writable(u)
}

func parent(u workbench.URI) workbench.URI {
	u.Path = path.Dir(u.Path)
	return u
}

func child(u workbench.URI, name string) workbench.URI {
	u.Path = path.Join(u.Path, name)
	return u
}

// inside reports whether a URI is another one or below it.
func inside(u, dir workbench.URI) bool {
	path, above := u.Path, strings.TrimSuffix(dir.Path, "/")
	u.Path, dir.Path = "", ""
	return u == dir && (path == above || strings.HasPrefix(path, above+"/"))
}
