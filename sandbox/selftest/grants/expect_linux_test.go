//go:build !hostsup_posix

package grants

import (
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// expectation is what a confined process reaches at a path. Between what must be
// and what may be lies what nothing promises.
type expectation struct {
	there, read, write, exec bounds
	exact                    bool // what is there is what is there outside
}

type bounds struct{ must, may bool }

func exactly(b bool) bounds           { return bounds{b, b} }
func (b bounds) and(o bounds) bounds  { return bounds{b.must && o.must, b.may && o.may} }
func (b bounds) allows(got bool) bool { return (got || !b.must) && (!got || b.may) }

// expect is for a path on the ground that is there or not.
func (m *model) expect(path string) expectation {
	o, real := m.before[path]
	search := m.searchable(path)
	if m.level == policy.Landlock {
		return m.expectLandlock(path, o, real, search)
	}
	switch {
	case path == m.work:
		// It lies in a folder that the command may have closed to itself.
		return expectation{there: bounds{search.must, true}, read: exactly(true), write: exactly(true)}
	case m.work != "" && inside(path, m.work):
		return expectation{}
	case m.isDenied(path):
		if m.work != "" && inside(m.work, path) {
			return expectation{there: bounds{may: true}, read: bounds{may: true}} // the way to it, with nothing else
		}
		for _, d := range m.denied {
			if path == d.real || d.missing != "" && path == d.missing {
				return expectation{there: bounds{may: true}} // what covers it
			}
		}
		return expectation{}
	}
	r := m.rule(path, true)
	if real && r.read {
		e := expectation{there: search, exact: true}
		if m.isHollow(path) {
			e.there.must, e.exact = false, false
		}
		m.permissions(&e, path, o, r)
		if !e.exact && o.mode.IsDir() {
			e.read.may = true // the one that stands for it shows nothing
			e.there.may = e.there.may || m.scaffold(path).there.may
		}
		return e
	}
	for _, d := range m.denied {
		if d.missing != "" && path == d.missing {
			return expectation{there: bounds{may: true}}
		}
	}
	return m.scaffold(path)
}

// scaffold is for what is there only because something granted lies below, or
// leads over it.
func (m *model) scaffold(path string) expectation {
	if m.work != "" && inside(m.work, path) {
		return expectation{there: exactly(true), read: exactly(true)}
	}
	var e expectation
	for i := range m.entries {
		g := &m.entries[i]
		if !g.mine || g.list == "read_only" {
			continue
		}
		gone := m.isDenied(g.led.real)
		if inside(g.led.real, path) && !gone {
			return expectation{there: exactly(true), read: exactly(true)}
		}
		for _, link := range g.led.links {
			if inside(link, path) && !m.isDenied(link) {
				e.there.may, e.read.may = true, true
				if !gone {
					e.there.must = true
					e.read.must = link != path
				}
			}
		}
	}
	return e
}

// expectLandlock is for the level without mounts: names, owners and links are seen
// there.
func (m *model) expectLandlock(path string, o object, real bool, search bounds) expectation {
	if !real {
		return expectation{}
	}
	e := expectation{there: search, exact: true}
	r := m.rule(path, true)
	if o.mode.IsRegular() && o.names > 1 { // a grant of a file holds for all its names
		for other, p := range m.before {
			if p.id == o.id {
				also := m.rule(other, true)
				r.read, r.write, r.maybeExec = r.read || also.read, r.write || also.write, r.maybeExec || also.maybeExec
			}
		}
		must := m.rule(path, true)
		m.permissions(&e, path, o, r)
		e.read.must, e.write.must, e.exec.must = e.read.must && must.read, e.write.must && must.write, e.exec.must && must.exec
		return e
	}
	m.permissions(&e, path, o, r)
	return e
}

// permissions are what owners and modes leave of a rule.
func (m *model) permissions(e *expectation, path string, o object, r rule) {
	bits := func(bit fs.FileMode) bounds { return m.bits(path, o, bit) }
	e.read = e.there.and(bits(4)).and(exactly(r.read))
	e.write = e.there.and(bits(2)).and(exactly(r.write))
	if o.mode.IsDir() {
		e.write = e.write.and(bits(1))
	} else {
		e.exec = e.there.and(bits(1)).and(bounds{r.exec, r.maybeExec})
	}
	if m.me == 0 && m.level != policy.Landlock && !slices.Contains(m.personas(path).must, o.uid) {
		e.write.must = false // what belongs to others is not written, whatever its mode
	}
}

// personas are the owners whose files at path are shown as the command's.
func (m *model) personas(path string) (p struct{ must, may []int }) {
	if m.me != 0 {
		p.must, p.may = []int{m.me}, []int{m.me}
		return p
	}
	if m.level == policy.Landlock {
		return p
	}
	loose := true // nothing around it is to be written
	for i := range m.entries {
		g := &m.entries[i]
		if !g.mine || path != g.led.real && !(g.dir && inside(path, g.led.real)) {
			continue
		}
		loose = loose && g.list != "write"
		p.may = append(p.may, g.at.uid)
	}
	if loose {
		// What is root's is not shown as the command's if it is only to be read.
		p.may = slices.DeleteFunc(p.may, func(uid int) bool { return uid == 0 })
	}
	slices.Sort(p.may)
	if p.may = slices.Compact(p.may); len(p.may) == 1 {
		p.must = p.may
	}
	return p
}

// bits are what a mode gives the command at path.
func (m *model) bits(path string, o object, bit fs.FileMode) bounds {
	p := m.personas(path)
	owner, other := o.mode&(bit<<6) != 0, o.mode&bit != 0
	// What a confined process has made without mounts belongs to a user id that the
	// next one may have.
	made := m.me == 0 && m.level == policy.Landlock && !slices.Contains(owners, o.uid)
	switch {
	case slices.Contains(p.must, o.uid):
		return exactly(owner)
	case made || slices.Contains(p.may, o.uid):
		return bounds{owner && other, owner || other}
	}
	return exactly(other)
}

// searchable reports whether the command can come to path through the folders
// around it.
func (m *model) searchable(path string) bounds {
	all := exactly(true)
	for dir := filepath.Dir(path); inside(dir, m.ground); dir = filepath.Dir(dir) {
		o, ok := m.before[dir]
		if ok && (m.level == policy.Landlock || m.rule(dir, true).read && dir != m.work) {
			all = all.and(m.bits(dir, o, 1))
		}
	}
	all.may = all.may || m.level != policy.Landlock && m.isHollow(path) // what is granted by itself can be reached
	return all
}

// isHollow reports whether path lies in, or is, a folder that is closed to
// strangers and has in it something that is granted or denied by itself: then
// nothing else is to be seen there.
func (m *model) isHollow(path string) bool {
	if m.me != 0 {
		return false
	}
	for dir := path; inside(dir, m.ground); dir = filepath.Dir(dir) {
		o, ok := m.before[dir]
		if !ok || !o.mode.IsDir() || o.mode&1 != 0 || !m.rule(dir, true).read {
			continue
		}
		inner := func(real string) bool { return real != dir && inside(real, dir) }
		if slices.ContainsFunc(m.denied, func(d deniedPath) bool { return inner(d.real) }) {
			return true
		}
		if m.work != "" && inner(m.work) || slices.ContainsFunc(m.entries, func(g grantEntry) bool { return g.mine && inner(g.led.real) }) {
			return true
		}
	}
	return false
}
