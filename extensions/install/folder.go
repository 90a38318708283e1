package install

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// openFolder lists the files of an unpacked extension and computes their digests.
func openFolder(ctx context.Context, dir string, limits Limits) (_ *Package, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	p := &Package{Source: dir, closer: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Close())
		}
	}()
	if err := p.walk(ctx, root, limits); err != nil {
		return nil, err
	}
	if err := p.identify(); err != nil {
		return nil, err
	}
	sum := sha256.New()
	for i := range p.entries {
		e := &p.entries[i]
		if e.dir {
			continue
		}
		file, err := e.open()
		if err != nil {
			return nil, err
		}
		if e.sum, err = contentDigest(ctx, file); err != nil {
			return nil, errors.Join(err, file.Close())
		}
		if err := file.Close(); err != nil {
			return nil, err
		}
		mode := "-"
		if e.exec {
			mode = "x"
		}
		fmt.Fprintf(sum, "%s %s %s\n", strings.TrimPrefix(e.sum, "sha256:"), mode, e.name)
	}
	p.Digest = digestOf(sum.Sum(nil))
	return p, nil
}

// walk lists the files and folders below a root in the order of their names.
func (p *Package) walk(ctx context.Context, root *os.Root, limits Limits) error {
	seen := names{}
	var size int64
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err = errors.Join(err, ctx.Err()); err != nil || name == "." {
			return err
		}
		if isLeftOut(name, d) {
			return fs.SkipDir
		}
		rule := nameRule(name)
		if rule == "" && !d.IsDir() && !d.Type().IsRegular() {
			rule = fmt.Sprintf("a regular file or a folder expected, found one of mode %v", d.Type())
		}
		if rule == "" {
			rule = seen.add(name, d.IsDir())
		}
		if rule != "" {
			return &EntryError{p.Source, name, rule}
		}
		e := entry{name: name, dir: d.IsDir()}
		if !e.dir {
			info, err := d.Info()
			if err != nil {
				return err
			}
			e.size, e.exec = info.Size(), info.Mode()&0o111 != 0
			e.open = func() (io.ReadCloser, error) { return root.Open(name) }
		}
		p.entries = append(p.entries, e)
		size += e.size
		return limits.check(p.Source, len(seen), size, 0)
	})
}

// isLeftOut reports whether a folder is no part of an extension: what git keeps, and the
// links to programs that npm makes beside packages.
func isLeftOut(name string, d fs.DirEntry) bool {
	base := path.Base(name)
	return d.IsDir() && (base == ".git" || base == ".bin" && path.Base(path.Dir(name)) == "node_modules")
}
