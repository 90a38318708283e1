package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
)

// Package is an opened and checked package. Its files are read when it is installed, and
// must not change until then.
type Package struct {
	ID      string // "publisher.name", as package.json writes it
	Version string
	Engine  string // engines.vscode
	Target  string // platform that it is made for, such as "linux-x64"; "" for all
	Source  string // absolute path, or what the caller sets: where the package came from

	// Digest is "sha256:" and 64 hexadecimal digits. That of a .vsix is the digest of the
	// file. That of a folder is the digest of a line for each of its files, in the order of
	// their names: its digest in hexadecimal, " x " if it may be run, else " - ", its name.
	Digest string

	entries  []entry
	manifest []byte
	closer   io.Closer
}

// maxManifest bounds, in bytes, a manifest. Scans have the same bound.
const maxManifest = 1 << 20

// Open opens the package at a path: a folder with an unpacked extension, or a .vsix file.
// The caller must close it. Errors are an [EntryError], wrap an error of this package, or
// come from reading.
//
// Of a folder, folders named .git and the links of node_modules/.bin are left out.
func Open(ctx context.Context, path string, limits Limits) (*Package, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return openFolder(ctx, path, limits.Defaults())
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%w: %s: a file or a folder expected", ErrPackage, path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return OpenFile(ctx, file, path, limits)
}

// OpenFile is like [Open] for an open .vsix file, which it closes on an error; else it is
// closed with the package. source is what the package is named by.
func OpenFile(ctx context.Context, file *os.File, source string, limits Limits) (*Package, error) {
	p, err := openVSIX(ctx, file, source, limits.Defaults())
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	p.closer = file
	return p, nil
}

// Close closes the package.
func (p *Package) Close() error { return p.closer.Close() }

// digestForm matches a digest.
var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// Verify compares the digest of the package with an expected one, "sha256:" and 64
// hexadecimal digits. The error wraps [ErrDigest].
func (p *Package) Verify(digest string) error {
	switch want := strings.ToLower(digest); {
	case !digestForm().MatchString(want):
		return fmt.Errorf("%w: sha256: and 64 hexadecimal digits expected, found %q", ErrDigest, digest)
	case want != p.Digest:
		return fmt.Errorf("%w: %s: %s expected, found %s", ErrDigest, p.Source, want, p.Digest)
	}
	return nil
}

// digestOf returns the digest of what was written to a hash.
func digestOf(sum []byte) string { return "sha256:" + hex.EncodeToString(sum) }

// contentDigest reads a file and returns its digest.
func contentDigest(ctx context.Context, r io.Reader) (string, error) {
	h := sha256.New()
	if _, err := io.Copy(h, reader{ctx, r}); err != nil {
		return "", err
	}
	return digestOf(h.Sum(nil)), nil
}

// reader ends with the error of its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}

// noPublisher is what package manifest has for a missing publisher.
const noPublisher = "undefined_publisher"

// Forms of the parts of an id. Names of packages from npm have a scope: @acme/words.
var (
	publisherForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$`) })
	nameForm      = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(@[A-Za-z0-9_-]{1,63}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)
	})
)

// ValidID reports whether text has the form publisher.name of an id that can be installed.
func ValidID(text string) bool {
	publisher, name, _ := strings.Cut(text, ".")
	return publisherForm().MatchString(publisher) && nameForm().MatchString(name)
}

// identify reads package.json among the entries.
func (p *Package) identify() error {
	data, err := p.read("package.json")
	if err != nil {
		return err
	}
	p.manifest = data
	m, err := p.parse("")
	if err != nil {
		return err
	}
	p.ID, p.Version, p.Engine = m.Value, m.Version, m.Engine
	if !publisherForm().MatchString(m.Publisher) || m.Publisher == noPublisher || !nameForm().MatchString(m.Shortname) {
		return fmt.Errorf("%w: %s: package.json: a publisher and a name of letters, digits and hyphens expected, found %q", ErrManifest, p.Source, m.Value)
	}
	return nil
}

// parse parses package.json for an editor of a version.
func (p *Package) parse(product string) (*manifest.Manifest, error) {
	at := manifest.Source{File: p.Source + ": package.json", Origin: extensions.User, Product: product}
	m, problems := manifest.Parse(p.manifest, at, nil)
	if m == nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, errors.Join(problems...))
	}
	return m, nil
}

// read returns the content of a manifest among the entries.
func (p *Package) read(name string) ([]byte, error) {
	for _, e := range p.entries {
		if e.name == name && !e.dir {
			return e.read(p.Source)
		}
	}
	return nil, fmt.Errorf("%w: %s: %s expected, found none", ErrManifest, p.Source, name)
}

// read returns the content of an entry that is a manifest.
func (e *entry) read(source string) ([]byte, error) {
	if e.size > maxManifest {
		return nil, fmt.Errorf("%w: %s: %s: at most %d bytes expected, found %d", ErrManifest, source, e.name, maxManifest, e.size)
	}
	var text bytes.Buffer
	if err := e.copy(&text); err != nil {
		return nil, fmt.Errorf("%w: %s: %s: %w", ErrPackage, source, e.name, err)
	}
	return text.Bytes(), nil
}

// copy writes the content of a file. It is an error if that has not the size, or the digest,
// that it had when the package was opened.
func (e *entry) copy(w io.Writer) error {
	r, err := e.open()
	if err != nil {
		return err
	}
	h := sha256.New()
	n, err := io.Copy(io.MultiWriter(w, h), io.LimitReader(r, e.size+1))
	switch err = errors.Join(err, r.Close()); {
	case err != nil:
		return err
	case n != e.size:
		return fmt.Errorf("%w: %d bytes expected, found another number", ErrPackage, e.size)
	case e.sum != "" && digestOf(h.Sum(nil)) != e.sum:
		return fmt.Errorf("%w: it changed while it was read", ErrPackage)
	}
	return nil
}
