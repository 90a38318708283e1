//go:build unix && !darwin && !ios

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/workbench"
)

// HasTrash reports whether [FS.Trash] works on this system.
const HasTrash = true

// Trash moves a file, a link or a folder into the trash of the supervisor's user, by the trash
// specification of freedesktop.org: into that of the home folder, or on another file system into
// one at its top. Nothing is copied, so that it fails where neither can be. A confined host has no
// trash.
func (f FS) Trash(path string) error { return f.TrashAs(path, path) }

// TrashAs is [FS.Trash] for an entry that was moved within its folder and has the path original in the
// trash.
func (f FS) TrashAs(path, original string) error {
	return failed("put into the trash", original, f.trash(path, filepath.Base(original)))
}

func (f FS) trash(path, name string) error {
	if f.Guard != nil {
		return Fail(workbench.NameNoPermissions, "cannot put %s into the trash: a host in a sandbox has none; remove it without the trash", path)
	}
	p, err := f.at(path, workbench.Replace, false)
	if err != nil {
		return err
	}
	defer p.close()
	if _, err := p.lstat(); err != nil {
		return err
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		home, err := os.UserHomeDir()
		if err != nil {
			return err
		}
		data = filepath.Join(home, ".local", "share")
	}
	err = p.discard(filepath.Join(data, "Trash"), "", name)
	if !errors.Is(err, syscall.EXDEV) {
		return err
	}
	top, err := topOf(filepath.Dir(p.path))
	if err != nil {
		return err
	}
	uid := strconv.Itoa(os.Getuid())
	shared := filepath.Join(top, ".Trash")
	if info, err := os.Lstat(shared); err == nil && info.IsDir() && info.Mode()&fs.ModeSticky != 0 {
		if err := p.discard(filepath.Join(shared, uid), top, name); err == nil {
			return nil
		}
	}
	return p.discard(filepath.Join(top, ".Trash-"+uid), top, name)
}

// topOf returns the top folder of the file system of a folder.
func topOf(dir string) (string, error) {
	device := func(path string) (uint64, error) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return 0, errors.ErrUnsupported
		}
		return uint64(st.Dev), nil //nolint:unconvert // it has another type on other systems
	}
	own, err := device(dir)
	for err == nil {
		up := filepath.Dir(dir)
		var above uint64
		if above, err = device(up); err == nil && (above != own || up == dir) {
			return dir, nil
		}
		dir = up
	}
	return "", err
}

// discard moves an entry into one trash. The paths in a trash at the top of a file system are
// relative to it. called is the name that the entry has there.
func (p *place) discard(trash, top, called string) (err error) {
	for _, name := range []string{"files", "info"} {
		if err := os.MkdirAll(filepath.Join(trash, name), 0o700); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(trash)
	if err != nil {
		return err
	}
	defer root.Close()
	kept, err := (FS{}).enter(root, "files", making{})
	if err != nil {
		return err
	}
	defer kept.Close()
	original := filepath.Join(filepath.Dir(p.path), called)
	if top != "" {
		if original, err = filepath.Rel(top, original); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("[Trash Info]\nPath=%s\nDeletionDate=%s\n", (&url.URL{Path: original}).EscapedPath(), time.Now().Format("2006-01-02T15:04:05"))
	ext := filepath.Ext(called)
	for n := 1; ; n++ {
		name := called
		if n > 1 {
			name = strings.TrimSuffix(called, ext) + "." + strconv.Itoa(n) + ext
		}
		note := filepath.Join("info", name+".trashinfo")
		file, err := root.OpenFile(note, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, err = file.WriteString(text)
		if err = errors.Join(err, file.Close()); err == nil {
			err = sys.RenameAt(p.dir, p.name, kept, name, false)
		}
		if err == nil {
			return nil
		}
		_ = root.Remove(note)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}
