package manifest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// Root is a folder to scan: one extension, or a folder of extensions. It is one
// extension if it has a package.json with engines.vscode, or, under development,
// any package.json.
type Root struct {
	Dir    string
	Origin extensions.Origin
}

// Options of a Scan. The zero value is usable.
type Options struct {
	Product  string // version of the editor; "": engines are not compared
	Language string // of the messages, like "de" or "pt-br"; default: the manifest's language
	MaxSize  int64  // bytes of one file; default 1 MiB
	Parallel int    // files that are read concurrently; default 2 for each processor
}

// Result is the result of a Scan.
type Result struct {
	Manifests []*Manifest
	Problems  []error // *[Problem] and *[DuplicateError], in the order of the folders
}

// Extensions returns the found extensions for a registry.
func (r Result) Extensions() []extensions.Extension {
	out := make([]extensions.Extension, len(r.Manifests))
	for i, m := range r.Manifests {
		out[i] = m.Extension
	}
	return out
}

// Keeping is like Extensions, and keeps those of before about which the scan learned
// nothing: no other extension has their id, and their package.json exists but cannot
// be read, or a folder above it cannot, or it is not JSON, for example because it is
// half written. A problem reports that.
func (r Result) Keeping(before []extensions.Extension) []extensions.Extension {
	unread := map[string]bool{}
	for _, err := range r.Problems {
		var p *Problem
		if errors.As(err, &p) && p.Key == "" && (errors.Is(p, ErrJSON) || errors.Is(p, ErrUnreadable) && !errors.Is(p, fs.ErrNotExist)) {
			unread[p.File] = true
		}
	}
	out := r.Extensions()
	if len(unread) == 0 {
		return out
	}
	there := map[extensions.ID]bool{}
	for _, x := range out {
		there[x.ID] = true
	}
	for _, x := range before {
		above := filepath.Dir(x.Folder)
		if there[x.ID] || !unread[filepath.Join(x.Folder, "package.json")] && !unread[x.Folder] && !unread[above] && !unread[filepath.Join(above, index.File)] {
			continue
		}
		at := slices.IndexFunc(out, func(other extensions.Extension) bool { return order(&x, &other) < 0 })
		if at < 0 {
			at = len(out)
		}
		out = slices.Insert(out, at, x)
	}
	return out
}

// Scan finds extensions. It skips folders without a package.json, those whose name
// begins with a dot, and those that the .obsolete file beside them marks as
// uninstalled. Of extensions that were installed with package install it finds the
// versions in use. It follows symbolic links. A root that cannot be read is a problem
// like any other. If ctx is done, the result is incomplete, and the error of ctx is
// the last problem.
func Scan(ctx context.Context, roots []Root, opt Options) Result {
	if opt.MaxSize <= 0 {
		opt.MaxSize = 1 << 20
	}
	if opt.Parallel <= 0 {
		opt.Parallel = 2 * runtime.GOMAXPROCS(0)
	}
	s := scanner{opt: opt}
	var found []finding
	for _, root := range roots {
		found = append(found, s.list(root)...)
	}
	// Each worker takes the next folder; results are stored by index.
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(opt.Parallel, len(found)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(found) {
					return
				}
				s.read(&found[i])
			}
		})
	}
	workers.Wait()

	var r Result
	for _, f := range found {
		r.Problems = append(r.Problems, f.problems...)
		if f.manifest != nil {
			r.Manifests = append(r.Manifests, f.manifest)
		}
	}
	var doubles []error
	r.Manifests, doubles = unique(r.Manifests)
	r.Problems = append(r.Problems, doubles...)
	if err := ctx.Err(); err != nil {
		r.Problems = append(r.Problems, err)
	}
	return r
}

type scanner struct{ opt Options }

// finding is a folder that may be an extension, with its result.
type finding struct {
	folder   string
	origin   extensions.Origin
	must     bool // it is a root itself
	obsolete map[string]bool
	manifest *Manifest
	problems []error
}

// list finds the folders below a root.
func (s scanner) list(root Root) []finding {
	dir, err := filepath.Abs(root.Dir)
	if err != nil {
		return []finding{{problems: []error{unreadable(root.Dir, err)}}}
	}
	// A folder of extensions may have a package.json that is not an extension's. If
	// it cannot be read, that is unknown.
	name := filepath.Join(dir, "package.json")
	own, err := s.file(name)
	if err == nil && (root.Origin == extensions.Development || jsonwalk.KindOf(jsonwalk.Find(clean(own), "engines.vscode")) == jsonwalk.String) {
		return []finding{{folder: dir, origin: root.Origin, must: true}}
	}
	if err == nil {
		if err = jsonwalk.Check(clean(own), nil); err != nil {
			err = fmt.Errorf("%w: %w", ErrJSON, err)
		}
	} else if errors.Is(err, fs.ErrNotExist) || notFolder(dir) {
		err = nil // errors of dir are found below
	}
	var problems []error
	if err != nil {
		problems = append(problems, unreadable(name, err))
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []finding{{problems: []error{unreadable(dir, err)}}}
	}
	obsolete, wrong := s.obsolete(filepath.Join(dir, ".obsolete"))
	out := []finding{{problems: append(problems, wrong...)}}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.Type().IsRegular() {
			continue
		}
		out = append(out, finding{folder: filepath.Join(dir, e.Name()), origin: root.Origin, obsolete: obsolete})
	}
	return append(out, installed(dir, root.Origin)...)
}

// installed returns the versions in use of the extensions that package install has installed in
// a folder.
func installed(dir string, origin extensions.Origin) []finding {
	x, err := index.Read(dir)
	if err != nil {
		return []finding{{problems: []error{unreadable(index.Path(dir), err)}}}
	}
	out := make([]finding, len(x.Extensions))
	for i, folder := range x.InUse() {
		out[i] = finding{folder: filepath.Join(dir, index.Folder, folder), origin: origin, must: true}
	}
	return out
}

// obsolete reads which extensions are uninstalled but not deleted yet: an object with
// true for each "publisher.name-version".
func (s scanner) obsolete(file string) (map[string]bool, []error) {
	data, err := s.file(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = jsonwalk.Check(data, nil)
	}
	if err != nil {
		return nil, []error{&Problem{File: file, Cause: fmt.Errorf("%w: %w", ErrUnreadable, err), Warning: true}}
	}
	out := map[string]bool{}
	jsonwalk.Object(data, func(name string, value []byte) bool {
		out[strings.ToLower(name)] = truthy(value)
		return true
	})
	return out, nil
}

// read reads the manifest of a finding.
func (s scanner) read(f *finding) {
	if f.folder == "" {
		return
	}
	file := filepath.Join(f.folder, "package.json")
	data, err := s.file(file)
	if err != nil {
		if f.must || !errors.Is(err, fs.ErrNotExist) && !notFolder(f.folder) {
			f.problems = append(f.problems, unreadable(file, err))
		}
		return
	}
	var messages *Messages
	if bytes.Contains(data, []byte(`"%`)) {
		messages, f.problems = s.messages(f.folder)
	}
	m, problems := Parse(data, Source{File: file, Folder: f.folder, Origin: f.origin, Product: s.opt.Product}, messages)
	f.problems = append(f.problems, problems...)
	if m == nil || f.obsolete[strings.ToLower(m.Value+"-"+m.Version)] {
		return
	}
	f.manifest = m
}

// messages reads the messages of the language, from its longest name to its
// shortest, over the default ones; nil if there are no messages.
func (s scanner) messages(folder string) (*Messages, []error) {
	var problems []error
	load := func(name string) *Messages {
		file := filepath.Join(folder, name)
		data, err := s.file(file)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			var m *Messages
			if m, err = ParseMessages(data, file); err == nil {
				return m
			}
			problems = append(problems, err)
			return nil
		}
		p := unreadable(file, err)
		p.Warning = true
		problems = append(problems, p)
		return nil
	}
	m := load("package.nls.json")
	for language := strings.ToLower(s.opt.Language); language != "" && filepath.Base(language) == language; {
		if local := load("package.nls." + language + ".json"); local != nil {
			m = local.Over(m)
			break
		}
		i := strings.LastIndexByte(language, '-')
		language = language[:max(i, 0)]
	}
	return m, problems
}

// file reads a regular file of at most MaxSize bytes. It opens the file without
// blocking, because opening a pipe waits for a writer.
func (s scanner) file(name string) ([]byte, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: not a regular file", ErrUnreadable)
	case info.Size() > s.opt.MaxSize:
		return nil, fmt.Errorf("%w: over %d bytes", ErrTooLarge, s.opt.MaxSize)
	}
	// One read with room for one more byte than the size shows whether this was all.
	data := make([]byte, info.Size()+1)
	n, err := io.ReadAtLeast(file, data, int(info.Size()))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the file was truncated meanwhile
	case err != nil:
		return nil, err
	case n == len(data):
		return nil, fmt.Errorf("%w: it grows while it is read", ErrUnreadable)
	}
	return data[:n], nil
}

// notFolder reports whether a link or a special file is not a folder.
func notFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && !info.IsDir()
}

func unreadable(file string, err error) *Problem {
	if !errors.Is(err, ErrTooLarge) && !errors.Is(err, ErrUnreadable) && !errors.Is(err, ErrJSON) {
		err = fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return &Problem{File: file, Cause: err}
}

// rank is the order of the kinds of extensions.
var rank = map[extensions.Origin]int{extensions.Builtin: 0, extensions.User: 1, extensions.Development: 2}

// order compares extensions by their order in a registry.
func order(a, b *extensions.Extension) int {
	return cmp.Or(cmp.Compare(rank[a.Origin], rank[b.Origin]),
		strings.Compare(strings.ToLower(filepath.Base(a.Folder)), strings.ToLower(filepath.Base(b.Folder))),
		strings.Compare(a.Folder, b.Folder))
}

// unique keeps one manifest of each id, in the order of a registry. It keeps the
// newer one; one under development in any case, and a builtin one if the other is not
// newer. A manifest that replaces a builtin one is described as builtin itself, as VS
// Code does.
func unique(list []*Manifest) ([]*Manifest, []error) {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b *Manifest) int { return order(&a.Extension, &b.Extension) })
	var out []*Manifest
	var problems []error
	at := map[extensions.ID]int{}
	for _, m := range sorted {
		i, ok := at[m.ID]
		if !ok {
			at[m.ID] = len(out)
			out = append(out, m)
			continue
		}
		kept, refused := out[i], m
		why := "it was found first"
		newer := compareVersions(m.Version, kept.Version)
		switch {
		case m.Folder == kept.Folder:
			continue // one root is in another
		case m.Origin == extensions.Development && kept.Origin != m.Origin:
			kept, refused, why = m, kept, "it is under development"
		case newer > 0:
			kept, refused, why = m, kept, "it is newer"
		case newer < 0:
			why = "it is newer"
		case kept.Origin == extensions.Builtin && m.Origin != kept.Origin:
			why = "it is builtin"
		}
		if kept == m && (refused.Origin == extensions.Builtin || refused.replaces) {
			kept.replaces = true
			kept.Description = kept.describe()
		}
		out[i] = kept
		problems = append(problems, &DuplicateError{ID: m.ID, Kept: kept.Folder, Refused: refused.Folder, KeptVersion: kept.Version, RefusedVersion: refused.Version, Why: why})
	}
	// A replacement is sorted by its own kind.
	slices.SortStableFunc(out, func(a, b *Manifest) int { return cmp.Compare(rank[a.Origin], rank[b.Origin]) })
	return out, problems
}
