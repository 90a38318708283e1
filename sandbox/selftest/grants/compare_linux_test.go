//go:build !hostsup_posix

package grants

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// judgeStart compares how a start went with what it had to come to.
func (m *model) judgeStart(err error) error {
	if err == nil {
		if len(m.must) > 0 {
			return fmt.Errorf("it started, and had to be refused: %v", m.must)
		}
		return nil
	}
	allowed := append(slices.Clone(m.must), m.may...)
	fits := func(field, text string) bool {
		return slices.ContainsFunc(allowed, func(r reason) bool {
			return (r.field == "" || field == r.field) && strings.Contains(text, r.words)
		})
	}
	list := policy.Errors(err)
	if len(list) == 0 && !fits("", err.Error()) {
		return fmt.Errorf("refused, which nothing explains: %w", err)
	}
	for _, e := range list {
		if !fits(e.Field, e.Error()) {
			return fmt.Errorf("refused, which is not to be: %w (allowed: %v)", e, allowed)
		}
		distrust := strings.Contains(e.Error(), "is not followed") || strings.Contains(e.Error(), "than before")
		if distrust && !errors.Is(e, policy.ErrUntrusted) {
			return fmt.Errorf("no ErrUntrusted: %w", e)
		}
	}
	return nil
}

// paths are what a process is asked to look at: all that is there, and what the
// policy names and is not.
func (m *model) paths() []string {
	var all []string
	for path := range m.before {
		all = append(all, path)
	}
	for i := range m.entries {
		if path := m.entries[i].led.real; inside(path, m.ground) {
			all = append(all, path)
		}
	}
	for _, d := range m.denied {
		all = append(all, d.real)
	}
	if m.work != "" {
		all = append(all, m.work)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// forbidden are the denied paths that are not there: they must not come to be.
func (m *model) forbidden() []string {
	var all []string
	for _, d := range m.denied {
		if d.missing != "" {
			all = append(all, d.missing, d.real)
		}
		if d.below != "" {
			all = append(all, d.below)
		}
	}
	return all
}

// judge compares what a process has reached with what it must and may.
func (m *model) judge(r *report) (wrong []string) {
	bad := func(path, format string, args ...any) {
		wrong = append(wrong, quoted(m.ground, path+": "+fmt.Sprintf(format, args...)))
	}
	readable := map[identity]bool{}
	known := map[identity]bool{}
	for path, o := range m.before {
		known[o.id] = true
		if m.expect(path).read.may || o.mode&fs.ModeSymlink != 0 {
			readable[o.id] = true
		}
	}
	for path, v := range r.Paths {
		e := m.expect(path)
		o := m.before[path]
		check := func(what string, b bounds, got bool) {
			if b.allows(got) {
				return
			}
			if got {
				bad(path, "%s, which is not granted", what)
			} else {
				bad(path, "not %s, which is granted", what)
			}
		}
		check("there", e.there, v.There)
		if !v.There {
			continue
		}
		if e.exact && v.ID != o.id {
			bad(path, "is another file (%v) than outside (%v)", v.ID, o.id)
		}
		if v.Mode&fs.ModeSymlink != 0 {
			m.judgeLink(path, &v, known, readable, bad)
			continue
		}
		check("read", e.read, v.Read)
		check("written", e.write, v.Write)
		check("run", e.exec, v.Exec)
		if v.Read && known[v.ID] && !readable[v.ID] {
			bad(path, "it shows what is nowhere granted")
		}
		if v.Read && v.Mode.IsDir() && m.level != policy.Landlock {
			m.judgeNames(path, &v, bad)
		}
	}
	for _, path := range r.Created {
		if m.work == "" || !inside(path, m.work) {
			bad(path, "could be made, and is denied")
		}
	}
	slices.Sort(wrong)
	return wrong
}

func (m *model) judgeLink(path string, v *view, known, readable map[identity]bool, bad func(path, format string, args ...any)) {
	if o := m.before[path]; o.text != v.Text {
		bad(path, "the link says %q, and outside %q", v.Text, o.text)
	}
	if v.LedRead && known[v.Led] && !readable[v.Led] {
		bad(path, "it leads to what is not granted")
	}
	l := follow(path)
	to, ok := m.before[l.real]
	must := l.err == nil && l.missing == "" && ok && m.expect(l.real).read.must && m.expect(l.real).exact
	for _, hop := range l.links {
		must = must && m.expect(hop).there.must
	}
	if must && (!v.LedRead || v.Led != to.id) {
		bad(path, "it does not lead to %s, which is granted", l.real)
	}
}

// judgeNames compares the names in a folder.
func (m *model) judgeNames(dir string, v *view, bad func(path, format string, args ...any)) {
	if dir == m.work {
		if len(v.Names) > 0 && !m.keep {
			bad(dir, "the folder that work bounds begins with %q", v.Names)
		}
		return
	}
	for _, name := range v.Names {
		if path := filepath.Join(dir, name); !m.expect(path).there.may && !(m.keep && path == m.image()) && !m.isMadeElsewhere(path) {
			bad(path, "is listed, which is not granted")
		}
	}
	for path := range m.before {
		if filepath.Dir(path) == dir && path != dir && m.expect(path).there.must && !slices.Contains(v.Names, filepath.Base(path)) {
			bad(path, "is not listed, which is granted")
		}
	}
}

// isMadeElsewhere reports whether path is a second name of what a start makes in a
// folder: of what stands for a missing denied path, or of the work folder.
func (m *model) isMadeElsewhere(path string) bool {
	dir, ok := m.before[filepath.Dir(path)]
	same := func(made string) bool {
		around, known := m.before[filepath.Dir(made)]
		return ok && known && around.id == dir.id && filepath.Base(made) == filepath.Base(path)
	}
	for at := m.work; inside(at, m.ground); at = filepath.Dir(at) {
		if same(at) {
			return true
		}
	}
	return slices.ContainsFunc(m.denied, func(d deniedPath) bool { return d.missing != "" && same(d.missing) })
}

// judgeChanges compares the tree before and after with what could be written.
func judgeChanges(ground string, before, after world, modes bool, writes func(path string) bool) (wrong []string) {
	places := map[identity][]string{}
	for _, w := range []world{before, after} {
		for path, o := range w {
			places[o.id] = append(places[o.id], path)
		}
	}
	anywhere := func(id identity, paths ...string) bool {
		return slices.ContainsFunc(append(paths, places[id]...), writes)
	}
	around := func(path string) bool { // whether its name could be changed
		dir := filepath.Dir(path)
		return anywhere(before[dir].id, dir) || anywhere(after[dir].id, dir)
	}
	// A user's own folder may be closed to itself now.
	closed := func(path string) bool {
		for dir := filepath.Dir(path); inside(dir, ground); dir = filepath.Dir(dir) {
			if o, ok := after[dir]; ok && o.mode&0o500 != 0o500 && (writes(dir) || !modes) {
				return true
			}
		}
		return false
	}
	for path := range before {
		was := before[path]
		is, ok := after[path]
		switch {
		case !ok && closed(path):
		case !ok && !around(path), ok && is.id != was.id && !around(path):
			wrong = append(wrong, path+" is gone or replaced")
		case !ok || is.id != was.id:
		case is.sum != was.sum && is.sum != unread && was.sum != unread && !anywhere(was.id):
			wrong = append(wrong, path+" has other content")
		case modes && (is.mode != was.mode || is.uid != was.uid) && !anywhere(was.id):
			wrong = append(wrong, path+" has another mode or owner")
		case is.names != was.names && !is.mode.IsDir() && !anywhere(was.id) && !slices.ContainsFunc(places[was.id], around):
			wrong = append(wrong, path+" has another number of names")
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok && !around(path) {
			wrong = append(wrong, path+" has been made")
		}
	}
	for i := range wrong {
		wrong[i] = quoted(ground, wrong[i])
	}
	slices.Sort(wrong)
	return wrong
}
