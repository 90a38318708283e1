//go:build !hostsup_posix

package grants

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// build makes the tree of a case in ground. What does not fit, such as a name for
// a file that is not there in a case made smaller, is left out.
func build(ground string, tree []entry, root bool) error {
	for _, e := range tree {
		path := filepath.Join(ground, e.path)
		var err error
		switch e.kind {
		case folder:
			err = os.Mkdir(path, 0o755)
		case regular:
			err = os.WriteFile(path, []byte("content of "+e.path), 0o644)
		case link:
			err = os.Symlink(linkText(ground, e.text), path)
		case hard:
			err = os.Link(filepath.Join(ground, e.text), path)
		case bind:
			err = mountBind(filepath.Join(ground, e.text), path)
		case tmpfs:
			if err = os.Mkdir(path, 0o755); err == nil {
				err = unix.Mount("tmpfs", path, "tmpfs", 0, "mode=0755")
			}
		}
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EXDEV) {
			continue
		}
		if err != nil {
			return err
		}
	}
	for _, e := range tree { // last, so that its maker can go everywhere
		path := filepath.Join(ground, e.path)
		if e.kind == hard || e.kind == bind || e.kind == tmpfs {
			continue
		}
		if root {
			_ = os.Lchown(path, owners[e.owner], owners[e.owner]) // what was left out
		}
		if e.kind != link {
			_ = unix.Fchmodat(unix.AT_FDCWD, path, e.mode, 0) // likewise
		}
	}
	return nil
}

func linkText(ground, text string) string {
	if rest, ok := strings.CutPrefix(text, "@/"); ok {
		return filepath.Join(ground, rest)
	}
	return text
}

func mountBind(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.Mkdir(to, 0o755)
	} else {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	return unix.Mount(from, to, "", unix.MS_BIND, "")
}

// raze removes what is in a folder, mounts first.
func raze(ground string) error {
	text, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return err
	}
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- { // the last mount first
		if f := strings.Fields(lines[i]); len(f) > 1 && strings.HasPrefix(f[1], ground+"/") {
			if err := unix.Unmount(f[1], unix.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", f[1], err)
			}
		}
	}
	_ = filepath.WalkDir(ground, func(path string, e fs.DirEntry, err error) error {
		if err != nil && e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700) // a confined process may have closed it
		}
		return nil
	})
	return os.RemoveAll(ground)
}

// identity names a file whatever its path.
type identity struct{ Dev, Ino uint64 }

// object is what is at a path.
type object struct {
	id    identity
	mode  fs.FileMode
	uid   int
	gid   int
	names int
	text  string // of a link
	sum   string // of a file's content
}

// unread is the sum of a user's file that is closed to the user.
const unread = "unread"

// world is what is there, by path, without following links.
type world map[string]object

func describe(path string) (object, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return object{}, err
	}
	st := info.Sys().(*syscall.Stat_t)
	o := object{id: identity{st.Dev, st.Ino}, mode: info.Mode(), uid: int(st.Uid), gid: int(st.Gid), names: int(st.Nlink)}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		o.text, err = os.Readlink(path)
	case info.Mode().IsRegular():
		var b []byte
		if b, err = os.ReadFile(path); errors.Is(err, fs.ErrPermission) {
			o.sum = unread
			return o, nil
		}
		o.sum = fmt.Sprintf("%d %x", len(b), sha256.Sum256(b))
	}
	return o, err
}

// survey looks at all that is in ground.
func survey(ground string) (world, error) {
	w := world{}
	err := filepath.WalkDir(ground, func(path string, _ fs.DirEntry, err error) error {
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) { // the folder of a mount may be removed
			return err
		}
		o, err := describe(path)
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil // another process changes the tree; or a user's own folder, closed to itself
		}
		w[path] = o
		return err
	})
	return w, err
}

// led is where a path leads.
type led struct {
	real    string   // no part of it is a link, as far as it is there
	missing string   // the first part that is not there; "" when all is
	links   []string // on the way
	final   bool     // the path itself is a link
	err     error
}

// follow resolves an absolute path as the kernel does.
func follow(path string) led {
	var l led
	at, rest := "/", parts(path)
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			l.missing, l.real = next, filepath.Join(append([]string{next}, rest...)...)
			return l
		}
		if err != nil {
			l.real, l.err = next, err
			return l
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if l.links = append(l.links, next); len(l.links) > 40 {
			l.err = syscall.ELOOP
			return l
		}
		l.final = l.final || next == path
		text, err := os.Readlink(next)
		if err != nil {
			l.err = err
			return l
		}
		if filepath.IsAbs(text) {
			at = "/"
		}
		rest = append(parts(text), rest...)
	}
	l.real = at
	return l
}

func parts(path string) []string {
	var out []string
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			out = append(out, name)
		}
	}
	return out
}

// inside reports whether path is dir or lies in it.
func inside(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }
