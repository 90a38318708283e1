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

// traced is where a path leads.
type traced struct {
	real    string      // no part of it is a link; what is missing of it is as written
	missing string      // the first part of real that does not exist; "" when all do
	info    fs.FileInfo // of real; nil when it is missing
	links   []tracedLink
}

// tracedLink is a link on the way.
type tracedLink struct {
	path  string // no part of its folder is a link
	text  string
	final bool // it stands for the whole path, not for a folder on the way
}

// maxLinks is how many links one path may lead over, as in the kernel.
const maxLinks = 40

var errLinks = errors.New("it leads over too many links")

// seen is what was found at paths, so that folders that many grants lead
// through are looked at once.
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
			return t.lacks(next, rest), nil
		case err != nil:
			return t, err
		case sys.Placeholder(next, info):
			return t.lacks(next, rest), nil
		}
		t.info = info
		if info.Mode()&fs.ModeSymlink == 0 {
			cur = next
			continue
		}
		text, err := os.Readlink(next)
		if changes++; changes < maxLinks && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.EINVAL)) {
			delete(s, next) // it is no link any more
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

// lacks returns t where there is no next, in which rest was to be looked for. A
// placeholder is nothing.
func (t traced) lacks(next string, rest []string) traced {
	t.missing, t.info = next, nil
	t.real = filepath.Join(append([]string{next}, rest...)...)
	return t
}

// split returns the parts of a path, without those that say nothing.
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
