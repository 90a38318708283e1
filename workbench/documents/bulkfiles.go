package documents

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// Operations of files, by their numbers in VS Code.
const (
	fileCreated = iota
	fileDeleted
	fileMoved
	fileCopied

	textOperation
	noOperation // what is not known
)

// filesRun is a file operation for ExtHostFileSystemEventService.
type filesRun struct {
	operation int
	Source    *workbench.URI `json:"source,omitempty"`
	Target    *workbench.URI `json:"target,omitempty"`
	options   fileOptions
	data      []byte
	files     disk.FS // of the host that wants it
	batch     int     // equal for operations that hosts are told together
}

// operation returns what an edit does.
func (e *change) operation() int {
	switch {
	case e.CellEdit != nil:
	case e.TextEdit != nil:
		return textOperation
	case e.OldResource != nil && e.NewResource != nil && e.Options.Copy:
		return fileCopied
	case e.OldResource != nil && e.NewResource != nil:
		return fileMoved
	case e.OldResource != nil:
		return fileDeleted
	case e.NewResource != nil:
		return fileCreated
	}
	return noOperation
}

// run returns the operation of a file that an edit is.
func (b *bulk) run(e change) (filesRun, error) {
	run := filesRun{operation: e.operation(), Source: e.OldResource, Target: e.NewResource, options: e.Options, files: b.files}
	if run.operation == fileDeleted {
		run.Source, run.Target = nil, e.OldResource
	}
	for _, uri := range []*workbench.URI{run.Source, run.Target} {
		if uri == nil {
			continue
		}
		if _, ok := uri.FilePath(); !ok {
			return run, workbench.NotSupported("workspace.applyEdit", fmt.Sprintf("%s is no file of this machine", uri))
		}
	}
	if in := e.Options.Contents; in != nil {
		if in.Type != "base64" {
			return run, workbench.NotSupported("workspace.applyEdit", "the content of a new file from a data transfer is not")
		}
		data, err := base64.StdEncoding.DecodeString(in.Value)
		if err != nil {
			return run, workbench.Invalid("the content of the new file %s: %v", run.Target, err)
		}
		run.data = data
	}
	return run, nil
}

// planFile plans the operation of a file.
func (b *bulk) planFile(run filesRun, steps []step) ([]step, error) {
	skip, err := b.skips(run)
	if err != nil || skip {
		return steps, err
	}
	b.news = append(b.news, run)
	switch run.operation {
	case fileMoved:
		b.moves = append(b.moves, [2]workbench.URI{*run.Source, *run.Target})
		for key, p := range b.docs {
			if rest, ok := below(uriOf(key, p), *run.Source); ok {
				to := *run.Target
				to.Path += rest
				delete(b.docs, key)
				b.docs[to.String()] = p
			}
		}
		return append(steps, func() error { b.markMoved(b.moveDocuments(*run.Source, *run.Target)); return nil }), nil
	case fileCreated:
		if run.options.Folder {
			return steps, nil
		}
		if from, err := decoded(run.data, ""); err == nil {
			from.uri = *run.Target
			b.docs[run.Target.String()] = &planned{text: from.text}
			return append(steps, func() error { b.created(from); return nil }), nil
		}
		return append(steps, func() error { b.closeDocuments(*run.Target); return nil }), nil // it is no text
	case fileDeleted:
		for key, p := range b.docs {
			if _, ok := below(uriOf(key, p), *run.Target); ok {
				delete(b.docs, key)
			}
		}
		return append(steps, func() error { b.closeDocuments(*run.Target); return nil }), nil
	}
	return steps, nil
}

// uriOf returns the URI that a planned document has at this point of the edit.
func uriOf(key string, p *planned) workbench.URI {
	if p.doc != nil && p.doc.key == key {
		return p.doc.uri
	}
	return workbench.File(strings.TrimPrefix(key, "file://"))
}

// exists reports whether there will be a file at this point of the edit.
func (b *bulk) exists(uri workbench.URI) (bool, error) {
	path, _ := uri.FilePath()
	_, err := b.files.Stat(path)
	there := err == nil
	if err != nil && !missing(err) {
		return false, err
	}
	for _, before := range b.news { // what the edit itself makes and removes
		if rest, ok := below(uri, *before.Target); ok && (rest == "" || before.operation != fileCreated) {
			there = before.operation != fileDeleted
		}
		if before.operation == fileMoved {
			if _, ok := below(uri, *before.Source); ok {
				there = false
			}
		}
	}
	return there, nil
}

// skips reports whether an operation has nothing to do by its options, before any of the edit was
// done.
func (b *bulk) skips(run filesRun) (bool, error) {
	there, err := b.exists(*run.Target)
	if err != nil {
		return false, err
	}
	if run.Source != nil {
		switch from, err := b.exists(*run.Source); {
		case err != nil:
			return false, err
		case !from:
			return false, refuse("%s does not exist and can not be moved or copied", run.Source)
		}
	}
	switch o := run.options; {
	case run.operation == fileDeleted:
		if !there && !o.IgnoreIfNotExists {
			return false, refuse("%s does not exist and can not be deleted", run.Target)
		}
		return !there, nil
	case there && !o.Overwrite:
		if !o.IgnoreIfExists {
			return false, refuse("%s exists already", run.Target)
		}
		return true, nil
	}
	return false, nil
}

// changeFiles makes the operations, all or none.
func (b *bulk) changeFiles(ctx context.Context) error {
	for _, run := range b.news {
		if err := b.changeFile(ctx, run); err != nil {
			return errors.Join(&refusedEdit{err}, b.putBack())
		}
	}
	return nil
}

// putBack undoes the operations that were made.
func (b *bulk) putBack() (err error) {
	for i := len(b.back) - 1; i >= 0; i-- {
		err = errors.Join(err, b.back[i]())
	}
	b.back = nil
	return err
}

func (b *bulk) changeFile(ctx context.Context, run filesRun) error {
	target, _ := run.Target.FilePath()
	late := context.WithoutCancel(ctx)
	if run.operation == fileDeleted {
		return b.replaced(ctx, run, target, !run.options.Recursive, b.discard)
	}
	if run.options.Overwrite {
		if err := b.replaced(ctx, run, target, false, remove); err != nil && !missing(err) {
			return err
		}
	}
	switch run.operation {
	case fileMoved:
		from, _ := run.Source.FilePath()
		if err := run.files.Rename(ctx, from, target, false); err != nil {
			return err
		}
		b.carry(from, target)
		b.back = append(b.back, func() error {
			b.carry(target, from)
			return run.files.Rename(late, target, from, false)
		})
		b.made = append(b.made, fileChange{kind: changeMoved, uri: *run.Target, from: *run.Source})
		return nil
	case fileCopied:
		from, _ := run.Source.FilePath()
		if err := run.files.Copy(ctx, from, target, false); err != nil {
			return err
		}
	default:
		var err error
		if run.options.Folder {
			err = run.files.Mkdir(target)
		} else {
			err = run.files.WriteFile(target, run.data)
		}
		if err != nil {
			return err
		}
	}
	b.back = append(b.back, func() error { return run.files.Remove(target, true) })
	b.wasMade(run.files, *run.Target)
	return nil
}

// end removes at last what was moved away. original is the path at which it was.
type end func(fs disk.FS, path, original string) error

func remove(fs disk.FS, path, _ string) error { return fs.Remove(path, true) }

// discard puts a deleted file or folder into the trash, as VS Code does if "files.enableTrash" is set;
// it removes it where there is no trash.
func (b *bulk) discard(fs disk.FS, path, original string) error {
	wanted, ok := b.s.opt.Setting("files.enableTrash", workbench.File(original)).(bool)
	if fs.Guard != nil || !disk.HasTrash || ok && !wanted {
		return remove(fs, path, original)
	}
	err := fs.TrashAs(path, original)
	if err == nil || missing(err) {
		return err
	}
	b.s.opt.Warn("a deleted file is not in the trash", "path", original, "error", err)
	return remove(fs, path, original)
}

// aside moves a file or folder away, for which end is called when the whole edit was made. With empty,
// a folder that has entries is an error.
func (b *bulk) aside(ctx context.Context, fs disk.FS, path string, empty bool, end end) error {
	about, err := fs.Stat(path)
	if err != nil {
		return err
	}
	if empty && about.Type&disk.TypeDirectory != 0 && about.Type&disk.TypeSymbolicLink == 0 {
		list, err := fs.ReadDir(path)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(list, func(e disk.Entry) bool { return !b.isOld(filepath.Join(path, e.Name)) }) {
			return fmt.Errorf("%s is a folder with entries, and recursive is not set", path)
		}
	}
	b.s.mu.Lock()
	n := b.s.nextID()
	b.s.mu.Unlock()
	to := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.old", filepath.Base(path), n))
	if err := fs.Rename(ctx, path, to, false); err != nil {
		return err
	}
	b.carry(path, to)
	at := &to
	b.old[to] = at
	late := context.WithoutCancel(ctx)
	b.back = append(b.back, func() error {
		delete(b.old, *at)
		b.carry(*at, path)
		return fs.Rename(late, *at, path, false)
	})
	b.done = append(b.done, func() error { return end(fs, *at, path) })
	return nil
}

// isOld reports whether a path is one where something is that will be removed.
func (b *bulk) isOld(path string) bool { return b.old[path] != nil }

// carry notes that a folder was moved, in which something may be that will be removed.
func (b *bulk) carry(from, to string) {
	for path, at := range b.old {
		if rest, ok := strings.CutPrefix(path, from+string(filepath.Separator)); ok {
			delete(b.old, path)
			*at = filepath.Join(to, rest)
			b.old[*at] = at
		}
	}
}

// moveDocuments gives documents that were moved their new URIs, and returns them. The caller must hold
// Service.mu.
func (b *bulk) moveDocuments(from, to workbench.URI) (moved []*document) {
	for _, d := range b.documentsBelow(to) { // what was there is overwritten
		b.s.remove(d)
	}
	moves := func(uri workbench.URI) workbench.URI {
		rest, _ := below(uri, from)
		now := to
		now.Path += rest
		return now
	}
	for key, made := range b.fresh {
		if _, ok := below(made.uri, from); ok {
			delete(b.fresh, key)
			made.uri = moves(made.uri)
			b.fresh[made.uri.String()] = made
		}
	}
	for _, d := range b.documentsBelow(from) {
		now := b.s.replace(d, moves(d.uri))
		for _, set := range []map[*document]bool{b.touched, b.marked} {
			if set[d] {
				delete(set, d)
				set[now] = true
			}
		}
		moved = append(moved, now)
	}
	return moved
}

func (b *bulk) documentsBelow(folder workbench.URI) (out []*document) {
	for _, d := range b.s.documents {
		if _, ok := below(d.uri, folder); ok {
			out = append(out, d)
		}
	}
	return out
}

// closeDocuments closes those of a file or folder that was deleted, also with changes. The caller
// must hold Service.mu.
func (b *bulk) closeDocuments(folder workbench.URI) {
	for _, d := range b.documentsBelow(folder) {
		b.s.remove(d)
	}
}

// created notes a file that the edit has made, which is opened if its text is edited, and replaces the
// text of one that is open. The caller must hold Service.mu.
func (b *bulk) created(from source) {
	b.fresh[from.uri.String()] = from
	if d := b.s.documents[from.uri.String()]; d != nil {
		e := d.model.Reset(from.text)
		d.onDisk, d.saved = from.onDisk, d.model.State()
		b.s.changed(d, e)
	}
}
