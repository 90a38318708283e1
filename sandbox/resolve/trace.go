package resolve

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys"
)

// traced is the target of a path.
type traced struct {
	real    string      // without links; missing parts are as written
	missing string      // the first part of real that does not exist; "" when all exist
	info    fs.FileInfo // of real; nil when it is missing
	links   []tracedLink
}

// tracedLink is a link on the way.
type tracedLink struct {
	path  string // no part of its folder is a link
	text  string
	final bool // the link is the path itself, not a folder on the way
}

// maxLinks is how many links one path may pass, as in the kernel.
const maxLinks = 40

var errLinks = errors.New("it passes too many links")

// seen caches the result of lstat by path, because many grants share folders.
type seen map[string]fs.FileInfo

func (s seen) lstat(path string) (fs.FileInfo, error) {
	if info, ok := s[path]; ok {
		return info, nil
	}
	info, err := os.Lstat(path)
	if err == nil && s != nil {
		s[path] = info
	}
	return info, err
}

// trace follows a clean absolute path part by part.
func trace(path string) (traced, error) { return seen(nil).trace(path) }

func (s seen) trace(path string) (traced, error) {
	var t traced
	cur, rest, changes := "/", split(path), 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		if part == ".." {
			cur = filepath.Dir(cur)
			continue
		}
		next := filepath.Join(cur, part)
		info, err := s.lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return t.missingAt(next, rest), nil
		case err != nil:
			return t, err
		case sys.Placeholder(next, info):
			return t.missingAt(next, rest), nil
		}
		t.info = info
		if info.Mode()&fs.ModeSymlink == 0 {
			cur = next
			continue
		}
		text, err := os.Readlink(next)
		if changes++; changes < maxLinks && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL)) {
			delete(s, next) // no longer a link
			rest = append([]string{part}, rest...)
			continue
		}
		if err != nil {
			return t, err
		}
		t.links = append(t.links, tracedLink{path: next, text: text, final: len(rest) == 0})
		if len(t.links) > maxLinks {
			return t, errLinks
		}
		if filepath.IsAbs(text) {
			cur = "/"
		}
		rest = append(split(text), rest...)
	}
	t.real = cur
	if t.info == nil || t.info.Mode()&fs.ModeSymlink != 0 { // "/", or a link that leads up
		info, err := s.lstat(cur)
		if err != nil {
			return t, err
		}
		t.info = info
	}
	return t, nil
}

// missingAt returns t for a path of which next, before rest, does not exist. A
// placeholder counts as missing.
func (t traced) missingAt(next string, rest []string) traced {
	t.missing, t.info = next, nil
	t.real = filepath.Join(append([]string{next}, rest...)...)
	return t
}

// split returns the parts of a path without "" and ".".
func split(path string) []string {
	parts := strings.Split(path, "/")
	out := parts[:0]
	for _, p := range parts {
		if p != "" && p != "." {
			out = append(out, p)
		}
	}
	return out
}
