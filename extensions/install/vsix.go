package install

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"strings"
)

// prefix is the folder of a .vsix with the extension itself.
const prefix = "extension/"

// Entries of a .vsix outside of the extension.
const (
	vsixManifest = "extension.vsixmanifest"
	contentTypes = "[Content_Types].xml"
)

// openVSIX reads the list of the files in a .vsix, and its manifests.
func openVSIX(ctx context.Context, file *os.File, source string, limits Limits) (*Package, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := limits.check(source, 0, 0, info.Size()); err != nil {
		return nil, err
	}
	p := &Package{Source: source}
	listed := &directory{file: file, left: limits.directory()}
	archive, err := zip.NewReader(listed, info.Size())
	switch {
	case errors.Is(err, ErrLimit):
		return nil, fmt.Errorf("%w: %s: its list of files and folders has more than %d bytes, %d for each of %d expected", ErrLimit, source, limits.directory(), perEntry, limits.Entries)
	case err != nil:
		return nil, fmt.Errorf("%w: %s: %w", ErrPackage, source, err)
	}
	listed.open = true // of here on the contents of entries are read
	outer, err := p.list(archive, limits, info.Size())
	if err != nil {
		return nil, err
	}
	if p.Digest, err = fileDigest(ctx, file); err != nil {
		return nil, err
	}
	if err := p.identify(); err != nil {
		return nil, err
	}
	return p, p.compare(outer)
}

// directory bounds what package zip reads of a file before it returns the list of the entries.
// That takes memory for each entry, as many as there are: package zip does not rely on the
// number that the end of the archive has, so checking that number would not bound it.
type directory struct {
	file *os.File
	left int64 // bytes that may still be read
	open bool  // the list was read
}

func (d *directory) ReadAt(p []byte, at int64) (int, error) {
	if !d.open {
		if d.left -= int64(len(p)); d.left < 0 {
			return 0, ErrLimit
		}
	}
	return d.file.ReadAt(p, at)
}

func fileDigest(ctx context.Context, file *os.File) (string, error) {
	if _, err := file.Seek(0, 0); err != nil {
		return "", err
	}
	return contentDigest(ctx, file)
}

// list checks the entries of an archive and keeps those of the extension. It returns
// extension.vsixmanifest, nil if the archive lacks it.
func (p *Package) list(archive *zip.Reader, limits Limits, packed int64) (outer *entry, err error) {
	if err := limits.check(p.Source, len(archive.File), 0, packed); err != nil {
		return nil, err
	}
	seen := names{}
	var size, stored int64
	for _, f := range archive.File {
		dir := strings.HasSuffix(f.Name, "/")
		name := strings.TrimSuffix(f.Name, "/")
		rule := nameRule(name)
		if rule == "" {
			rule = zipRule(f, dir)
		}
		if rule == "" {
			rule = seen.add(name, dir)
		}
		if rule != "" {
			return nil, &EntryError{p.Source, f.Name, rule}
		}
		// Sums cannot overflow: both are checked after each entry.
		if f.UncompressedSize64 > uint64(limits.Size) || f.CompressedSize64 > uint64(packed) {
			return nil, fmt.Errorf("%w: %s: %q has %d bytes in %d", ErrLimit, p.Source, f.Name, f.UncompressedSize64, f.CompressedSize64)
		}
		size += int64(f.UncompressedSize64)
		if err := limits.check(p.Source, len(seen), size, packed); err != nil {
			return nil, err
		}
		if stored += int64(f.CompressedSize64); stored > packed {
			return nil, &EntryError{p.Source, f.Name, "entries that do not overlap expected"}
		}
		e := entry{name: strings.TrimPrefix(name, prefix), dir: dir, exec: f.Mode()&0o111 != 0, size: int64(f.UncompressedSize64), open: f.Open}
		switch {
		case strings.HasPrefix(f.Name, prefix):
			if f.Name != prefix {
				p.entries = append(p.entries, e)
			}
		case name == vsixManifest:
			outer = &e
		}
	}
	return outer, nil
}

// zipRule returns the rule that an entry of an archive breaks besides its name.
func zipRule(f *zip.File, dir bool) string {
	switch mode := f.Mode(); {
	case f.Flags&1 != 0:
		return "an entry that is not encrypted expected"
	case f.Method != zip.Store && f.Method != zip.Deflate:
		return fmt.Sprintf("an entry that is stored or deflated expected, found method %d", f.Method)
	case dir != mode.IsDir() || !dir && !mode.IsRegular():
		return fmt.Sprintf("a regular file or a folder expected, found one of mode %v", mode)
	case dir && f.UncompressedSize64 > 0:
		return "a folder without content expected"
	case !strings.HasPrefix(f.Name, prefix) && f.Name != vsixManifest && f.Name != contentTypes:
		return "an entry in extension/ expected"
	}
	return ""
}

// identity is what extension.vsixmanifest says of an extension.
type identity struct {
	ID        string `xml:"Id,attr"`
	Version   string `xml:"Version,attr"`
	Publisher string `xml:"Publisher,attr"`
	Target    string `xml:"TargetPlatform,attr"`
}

// compare compares extension.vsixmanifest with package.json, and takes the platform from it.
func (p *Package) compare(outer *entry) error {
	if outer == nil {
		return fmt.Errorf("%w: %s: %s expected, found none", ErrManifest, p.Source, vsixManifest)
	}
	data, err := outer.read(p.Source)
	if err != nil {
		return err
	}
	var m struct {
		XMLName  xml.Name `xml:"PackageManifest"`
		Identity identity `xml:"Metadata>Identity"`
	}
	if err := xml.Unmarshal(data, &m); err != nil {
		return fmt.Errorf("%w: %s: %s: %w", ErrManifest, p.Source, vsixManifest, err)
	}
	if id := m.Identity.Publisher + "." + m.Identity.ID; !strings.EqualFold(id, p.ID) || m.Identity.Version != p.Version {
		return fmt.Errorf("%w: %s: %s names %s %s, and package.json %s %s", ErrManifest, p.Source, vsixManifest, id, m.Identity.Version, p.ID, p.Version)
	}
	if p.Target = m.Identity.Target; p.Target == "universal" || p.Target == "undefined" {
		p.Target = ""
	}
	return nil
}
