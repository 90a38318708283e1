//go:build !hostsup_posix

package grants

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// A model says what a start with a policy must come to, in the tree as it is when
// the model is made, which must not change until the start is made.
type model struct {
	ground string
	level  policy.Level
	me     int // the supervisor's user
	jit    bool
	keep   bool
	// bounded tells that the policy has a work folder, also one that is refused.
	bounded bool

	entries []grantEntry
	denied  []deniedPath
	work    string // real; "" for none
	before  world
	must    []reason // why the start has to be refused
	may     []reason // why it may be

	memory
	accept bool
	leads  map[string]lead // what entries lead to now
}

// memory is what the starts before have taught a launcher.
type memory struct {
	known   map[string]lead // what the entries of this policy led to
	written []string        // folders that a policy lets be written
	images  []string        // of the work folders that are kept, one of each policy
}

// A reason belongs to a field of the policy, or to "" for the start itself.
type reason struct{ field, words string }

// grantEntry is one entry of read, exec, write or read_only.
type grantEntry struct {
	list  string // its field without the number
	path  string // as it is written
	field string
	led   led
	dir   bool
	at    object
	mine  bool // it takes part: it is there and is not refused
}

type deniedPath struct {
	real    string
	missing string // the first part that is not there
	below   string // what was named, where real is a file and has nothing in it
}

// lead is what an entry led to. With unknown it was resolved while the tree was
// being changed.
type lead struct {
	id      identity
	file    bool
	unknown bool
}

// rule is what access a path has by the policy alone.
type rule struct{ read, write, exec, maybeExec bool }

func newModel(ground string, r *rules, level policy.Level, me int, known memory, accept bool, before world) *model {
	m := &model{ground: ground, level: level, me: me, jit: r.jit, keep: r.keep, bounded: r.work != "", memory: known, accept: accept, before: before, leads: map[string]lead{}}
	m.written = writable(ground, r, me, known.written)
	for _, l := range r.lists()[:4] {
		for i, s := range *l.list {
			m.entry(l.name, field(l.name, i), s)
		}
	}
	m.idle()
	m.conflicts()
	m.workFolder(r.work)
	for i, s := range r.deny {
		m.deny(field("deny", i), s)
	}
	m.accepted(r)
	return m
}

func field(name string, i int) string { return name + "[" + string(rune('0'+i)) + "]" }

func (m *model) refuse(field, words string) { m.must = append(m.must, reason{field, words}) }

// entry looks at one entry of a grant.
func (m *model) entry(list, field, entry string) {
	rel, optional := strings.CutPrefix(entry, "-")
	path := filepath.Join(m.ground, rel)
	e := grantEntry{list: list, path: path, field: field, led: follow(path)}
	defer func() { m.entries = append(m.entries, e) }()
	switch l := &e.led; {
	case errors.Is(l.err, fs.ErrPermission):
		if !optional {
			m.refuse(field, "may not look at it")
		}
		return
	case errors.Is(l.err, syscall.ENOTDIR): // nothing is in a file
		if !optional {
			m.refuse(field, "not a directory")
		}
		return
	case l.err != nil:
		m.refuse(field, "")
		return
	case l.missing != "":
		if !optional {
			m.refuse(field, "it does not exist")
		}
		return
	}
	for _, link := range e.led.links {
		if replaceable(link, m.me, m.written) {
			m.refuse(field, "is not followed")
			return
		}
	}
	at, err := describe(e.led.real)
	if err != nil {
		m.refuse(field, "")
		return
	}
	if list == "write" && slices.ContainsFunc(m.images, func(image string) bool { return inside(image, e.led.real) }) {
		m.refuse(field, "holds the file system of the work folder")
		return
	}
	e.at, e.dir, e.mine = at, at.mode.IsDir(), true
	now := lead{id: at.id, file: !e.dir}
	before, ok := m.known[path]
	saved := before.file && at.mode.IsRegular() && at.names == 1
	if ok && !m.accept && replaceable(e.led.real, m.me, m.written) && !saved {
		switch {
		case before.unknown:
			m.may = append(m.may, reason{field, "than before"})
		case before.id != now.id || before.file != now.file:
			m.refuse(field, "than before")
		}
	}
	m.leads[path] = now
}

// writable adds to folders those that r lets be written, except through links that
// are not followed.
func writable(ground string, r *rules, me int, folders []string) []string {
	folders = slices.Clone(folders)
	list := slices.Clone(r.write)
	for i, s := range list {
		list[i], _ = strings.CutPrefix(s, "-")
	}
	slices.SortStableFunc(list, func(a, b string) int { return len(a) - len(b) })
	for _, s := range list {
		l := follow(filepath.Join(ground, s))
		doubted := slices.ContainsFunc(l.links, func(link string) bool { return replaceable(link, me, folders) })
		if l.err == nil && !doubted {
			folders = append(folders, l.real)
		}
	}
	return folders
}

// replaceable reports whether a confined process that may write the folders, or
// another user than root and the supervisor's, can put something else at path or
// at one of the folders above.
func replaceable(path string, me int, folders []string) bool {
	friend := func(uid int) bool { return uid == 0 || uid == me }
	for at := path; at != "/"; at = filepath.Dir(at) {
		dir := filepath.Dir(at)
		d, err := describe(dir)
		if err != nil || slices.Contains(folders, dir) || !friend(d.uid) {
			return true
		}
		if d.mode&0o002 != 0 || d.mode&0o020 != 0 && d.gid != 0 && d.gid != me {
			o, err := describe(at)
			if d.mode&fs.ModeSticky == 0 || err != nil || !friend(o.uid) {
				return true
			}
		}
	}
	return false
}

// idle leaves out what is in read_only and lies in no folder that can be written:
// such an entry grants nothing and takes nothing away.
func (m *model) idle() {
	for i := range m.entries {
		e := &m.entries[i]
		if e.list == "read_only" && !slices.ContainsFunc(m.entries, func(w grantEntry) bool {
			return w.mine && w.list == "write" && inside(e.led.real, w.led.real)
		}) {
			e.mine = false
		}
	}
}

// conflicts are entries that cannot both hold.
func (m *model) conflicts() {
	for i := range m.entries {
		e := &m.entries[i]
		if !e.mine {
			continue
		}
		for j := range m.entries {
			o := &m.entries[j]
			if !o.mine || e.list != "write" {
				continue
			}
			same := e.led.real == o.led.real
			switch {
			case o.list == "read_only" && same:
				m.refuse("", "cannot be both")
			case o.list == "exec" && !m.jit && (same || inside(o.led.real, e.led.real)):
				if same || m.rule(o.led.real, false).write {
					m.refuse("", "cannot run")
				}
				m.may = append(m.may, reason{"", "cannot run"}) // beside what is wrong with read_only
			case o.list == "exec" && !m.jit && m.level == policy.Landlock && inside(e.led.real, o.led.real):
				m.refuse("", "cannot be held apart")
			}
		}
	}
}

// rule is what the grants say of a real path, denials too if they are to count.
func (m *model) rule(path string, denials bool) (r rule) {
	if denials && m.isDenied(path) {
		return r
	}
	if m.work != "" && inside(path, m.work) {
		return rule{read: true, write: true, exec: m.jit}
	}
	deepest, fixed, runs := -1, -1, false
	for i := range m.entries {
		e := &m.entries[i]
		if !e.mine || path != e.led.real && !(e.dir && inside(path, e.led.real)) || denials && m.isDenied(e.led.real) {
			continue
		}
		switch e.list {
		case "write":
			deepest, r.read = max(deepest, len(e.led.real)), true
		case "read_only":
			fixed = max(fixed, len(e.led.real))
		case "exec":
			runs, r.read = true, true
		case "read":
			r.read = true
		}
	}
	r.write = deepest >= 0 && deepest > fixed
	switch {
	case m.jit:
		r.exec = runs || r.write
		r.maybeExec = deepest >= 0
	case runs && deepest >= 0 && fixed >= 0:
		r.maybeExec = !r.write // it was taken away with the writing around it, or given within what is read only
	case runs:
		r.exec = !r.write
	}
	r.maybeExec = r.maybeExec || r.exec
	return r
}

func (m *model) isDenied(path string) bool {
	return slices.ContainsFunc(m.denied, func(d deniedPath) bool { return inside(path, d.real) })
}

func (m *model) workFolder(rel string) {
	if rel == "" {
		return
	}
	l := follow(filepath.Join(m.ground, rel))
	if l.err != nil {
		m.refuse("work.path", "")
		return
	}
	for i := range m.entries {
		if e := &m.entries[i]; e.mine && inside(e.led.real, l.real) || inside(e.path, filepath.Join(m.ground, rel)) {
			// A grant that says nothing beside another one is not looked at.
			m.may = append(m.may, reason{"", "lies in the folder that work bounds"}, reason{"", "grants the folder that work bounds"})
		}
	}
	m.may = append(m.may, reason{"work.keep", "would hold its file system"}) // beside what is wrong with its path
	for _, link := range l.links {
		if replaceable(link, m.me, m.written) {
			m.refuse("work.path", "is not followed")
			return
		}
	}
	if l.missing == "" {
		entries, err := os.ReadDir(l.real)
		info, _ := os.Lstat(l.real)
		switch {
		case info != nil && !info.IsDir():
			m.refuse("work.path", "is not a folder")
		case len(entries) > 0 || err != nil && !errors.Is(err, fs.ErrPermission):
			m.refuse("work.path", "there are files in it")
		}
	}
	m.work = l.real
	if image := m.image(); m.keep && (replaceable(image, m.me, m.written) || slices.Contains(m.written, image)) {
		m.refuse("work.keep", "would hold its file system")
	}
}

// image is the file with what a work folder keeps.
func (m *model) image() string { return m.work + ".image" }

// accepted adds what the level does not have.
func (m *model) accepted(r *rules) {
	if m.level != policy.Landlock {
		return
	}
	for i := range r.deny {
		m.refuse(field("deny", i), "cannot be enforced")
	}
	for i := range r.readOnly {
		m.refuse(field("read_only", i), "cannot be enforced")
	}
	if r.work != "" {
		m.refuse("work", "cannot be enforced")
	}
}
