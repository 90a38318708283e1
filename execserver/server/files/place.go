package files

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/internal/sys"
)

// place is where a request works. Without rules it is the path as it came.
// With rules the folder around it is held open and at leads through it, so
// that what was judged is what is worked on, whatever is renamed or replaced
// meanwhile; its last component is then never followed.
type place struct {
	at    string // what to hand to the system
	shown string // the path of the request
	real  string // with rules: the path without links that they judged
	rules Rules  // nil: none
	dir   *os.File
}

func (p *place) leave() {
	if p.dir != nil {
		_ = p.dir.Close()
	}
}

// flags adds what keeps the last component from being followed.
func (p *place) flags(flags int) int {
	if p.rules != nil {
		flags |= noFollow
	}
	return flags
}

// enter finds the place of a path. With follow a link at its end is followed
// now; it matters only under rules.
func (f *Files) enter(sb *wire.SandboxContext, uri wire.URI, follow bool) (*place, *wire.Error) {
	path, bad := uri.Native()
	if bad != nil {
		return nil, bad
	}
	rules, bad := f.rules(sb)
	if bad != nil {
		return nil, bad
	}
	p, err := placeOf(rules, path, follow)
	if err != nil {
		return nil, failure(err)
	}
	return p, nil
}

func (f *Files) rules(sb *wire.SandboxContext) (Rules, *wire.Error) {
	if sb == nil {
		return nil, nil
	}
	return f.limits.Enforce(sb)
}

// maxLinks is how many links at its end a path may lead through, as in the
// kernel.
const maxLinks = 40

func placeOf(rules Rules, path string, follow bool) (*place, error) {
	p := &place{at: path, shown: path, rules: rules}
	if rules == nil {
		return p, nil
	}
	for range maxLinks {
		dir, base := filepath.Split(path)
		if base == "" {
			base = "."
		}
		pinned, err := sys.PinFolder(dir)
		if err != nil {
			return nil, unseen(rules, dir, err)
		}
		p.dir, p.at = pinned, sys.PinnedPath(pinned, base)
		if p.real, err = sys.RealPath(pinned); err != nil {
			p.leave()
			return nil, err
		}
		if !rules.Sees(p.real) {
			p.leave()
			return nil, rules.Read(p.real)
		}
		p.real = filepath.Join(p.real, base)
		if !follow {
			return p, nil
		}
		next := linkTarget(p.at)
		if next == "" {
			return p, nil
		}
		p.leave()
		if !filepath.IsAbs(next) {
			next = join(filepath.Dir(p.real), next) // not cleaned: a .. may come after another link
		}
		path = strings.TrimRight(next, "/")
		if path == "" {
			path = "/"
		}
	}
	return nil, syscall.ELOOP
}

// linkTarget is where a link leads, or "": it is no link, or nothing is there,
// and the method says what it makes of that.
func linkTarget(at string) string {
	to, err := os.Readlink(at)
	if err != nil {
		return ""
	}
	return to
}

// unseen keeps an error from telling of what the rules hide: a part of the
// path that may not be seen reads as the rules have it.
func unseen(rules Rules, dir string, err error) error {
	if errors.Is(err, sys.ErrUnsupported) {
		return errCannotConfine
	}
	for dir = filepath.Clean(dir); ; dir = filepath.Dir(dir) {
		real, up := filepath.EvalSymlinks(dir)
		if up == nil {
			if !rules.Sees(real) {
				return rules.Read(real)
			}
			return err
		}
		if dir == filepath.Dir(dir) {
			return err
		}
	}
}

// child is the place of one entry of a folder.
func (p *place) child(name string) *place {
	c := *p
	c.dir = nil
	c.at, c.shown = join(p.at, name), join(p.shown, name)
	if p.rules != nil {
		c.real = join(p.real, name)
	}
	return &c
}

func join(dir, name string) string {
	if strings.HasSuffix(dir, "/") {
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// mayRead and mayWrite ask the rules, if there are any.
func (p *place) mayRead() error {
	if p.rules == nil {
		return nil
	}
	return p.rules.Read(p.real)
}

func (p *place) mayWrite() error {
	if p.rules == nil {
		return nil
	}
	return p.rules.Write(p.real)
}
