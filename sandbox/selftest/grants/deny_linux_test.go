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
)

// deny adds what an entry of deny names now: a path with what it leads to, or all
// that a pattern matches.
func (m *model) deny(field, entry string) {
	found := []string{filepath.Join(m.ground, entry)}
	pattern := strings.ContainsAny(entry, "*?[")
	if pattern {
		m.may = append(m.may, reason{field, "permission denied"}) // of a granted folder that its user has closed
		found = m.match(m.ground, parts(entry))
	}
	for _, path := range found {
		l := follow(path)
		switch {
		case errors.Is(l.err, syscall.ELOOP): // it leads nowhere, and somebody may have made it so
			m.may = append(m.may, reason{field, "too many links"})
			continue
		case errors.Is(l.err, fs.ErrPermission): // the folder is denied as a whole, unless it is the grant
			m.may = append(m.may, reason{field, "permission denied"})
			m.denied = append(m.denied, deniedPath{real: filepath.Dir(l.real)})
			continue
		case errors.Is(l.err, syscall.ENOTDIR): // a file, which a folder could take the place of
			if file := filepath.Dir(l.real); m.rule(filepath.Dir(file), false).write {
				m.denied = append(m.denied, deniedPath{real: file, below: l.real})
			}
			continue
		case l.err != nil:
			m.refuse(field, "")
			continue
		}
		if !pattern && slices.ContainsFunc(l.links, func(link string) bool { return replaceable(link, m.me, m.written) }) {
			if m.rule(l.real, false).read {
				m.refuse(field, "is not followed")
			}
			m.may = append(m.may, reason{field, "is not followed"}) // where something granted is in it
		}
		if m.work != "" && inside(l.real, m.work) {
			if !pattern {
				m.refuse(field, "it lies in work")
			}
			continue
		}
		if m.bounded { // if a grant holds both
			m.may = append(m.may, reason{"", "holds the folder that work bounds"})
		}
		m.denied = append(m.denied, deniedPath{real: l.real, missing: l.missing})
		if l.missing == "" {
			continue
		}
		// It has to be kept from being made.
		if r := m.rule(filepath.Dir(l.missing), false); r.write {
			if d, err := describe(filepath.Dir(l.missing)); m.me != 0 && (err != nil || d.mode&0o300 != 0o300) {
				m.may = append(m.may, reason{"", "hold the place of"})
			}
		}
	}
}

// match returns the paths below dir that a pattern names: its parts one after the
// other, ** any number of folders. Links are followed for a part that others come
// after, and never by **.
func (m *model) match(dir string, pattern []string) []string {
	if len(pattern) == 0 {
		return []string{dir}
	}
	var out []string
	part, rest := pattern[0], pattern[1:]
	if strings.ContainsAny(part, "*?[") && !m.hasGrant(dir) {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrPermission) {
		return []string{dir} // it is denied as a whole
	}
	if err != nil {
		return nil
	}
	if part == "**" && len(rest) > 0 {
		out = m.match(dir, rest)
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if part == "**" {
			switch {
			case len(rest) == 0:
				out = append(out, path)
			case e.IsDir():
				out = append(out, m.match(path, pattern)...)
			}
			continue
		}
		if ok, _ := filepath.Match(part, e.Name()); !ok { // the patterns are well formed
			continue
		}
		if l := follow(path); len(rest) > 0 && e.Type()&fs.ModeSymlink != 0 && l.err == nil && l.missing == "" {
			path = l.real
		}
		out = append(out, m.match(path, rest)...)
	}
	return out
}

// hasGrant reports whether dir is granted, or something in it: patterns are not
// looked for elsewhere.
func (m *model) hasGrant(dir string) bool {
	return m.rule(dir, false).read || slices.ContainsFunc(m.entries, func(e grantEntry) bool {
		return e.mine && e.list != "read_only" && (inside(e.led.real, dir) || slices.ContainsFunc(e.led.links, func(link string) bool { return inside(link, dir) }))
	})
}
