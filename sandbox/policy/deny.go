package policy

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// deny finds what is denied, takes away the grants that lie in it, and keeps
// what lies in a grant.
func (r *resolver) deny() {
	for i, s := range r.out.Policy.Deny {
		field := fmt.Sprintf("deny[%d]", i)
		if !isGlob(s) {
			r.denyPath(field, "", unescape(filepath.Clean(s)))
			continue
		}
		g := globber{worth: r.worth}
		if err := g.match(s); err != nil {
			help := "name the folder whose files are meant"
			if !errors.Is(err, errTooWide) {
				help = "what it matches cannot be known"
			}
			r.bad.add(field, s, reason(err), help)
			continue
		}
		for _, path := range g.found {
			r.denyPath(field, s, path)
		}
	}
	r.sift()
}

// worth reports whether something at or below dir is granted.
func (r *resolver) worth(dir string) bool {
	return slices.ContainsFunc(r.out.Grants, func(g Grant) bool {
		return g.Link == "" && (within(g.Path, dir) || g.Dir && within(dir, g.Path))
	})
}

// denyPath denies what path leads to, and the link itself when it is one.
func (r *resolver) denyPath(field, pattern, path string) {
	t, err := trace(path)
	if err != nil {
		r.bad.add(field, path, reason(err), "")
		return
	}
	if w := r.out.Policy.Work.Path; w != "" && within(t.real, w) {
		if pattern == "" {
			r.bad.add(field, path, "it lies in work, which begins empty and is the host's own", "remove it")
		}
		return
	}
	for _, l := range t.links {
		if l.final {
			r.out.Denied = append(r.out.Denied, Denied{Path: l.path, Link: true, Pattern: pattern, Field: field, Anchor: l.path})
		}
	}
	d := Denied{Path: t.real, Pattern: pattern, Field: field, Anchor: t.real}
	if t.missing != "" {
		d.Missing, d.Anchor = true, t.missing
	} else {
		d.Dir = t.info.IsDir()
	}
	r.out.Denied = append(r.out.Denied, d)
}

func (r *resolver) sift() {
	all := r.out.Denied
	slices.SortStableFunc(all, func(a, b Denied) int { return strings.Compare(a.Path, b.Path) })
	r.out.Grants = slices.DeleteFunc(r.out.Grants, func(g Grant) bool {
		return slices.ContainsFunc(all, func(d Denied) bool { return within(g.Path, d.Path) })
	})
	var out []Denied
	for _, d := range all {
		if slices.ContainsFunc(out, func(o Denied) bool { return within(d.Path, o.Path) }) {
			continue // it is denied with the folder around it
		}
		around := nearest(r.out.Grants, d.Path)
		if around == nil || d.Missing && !around.Access.Has(Write) {
			continue // nothing is there, and nothing can come to be there
		}
		d.Pinned = r.pinned(d.Anchor)
		out = append(out, d)
	}
	r.out.Denied = out
}

// pinned are the folders between the outermost grant that can be written and
// path.
func (r *resolver) pinned(path string) []string {
	for _, g := range r.out.Grants {
		if !g.Dir || !g.Access.Has(Write) || g.Path == path || !within(path, g.Path) {
			continue
		}
		var out []string
		for dir := filepath.Dir(path); dir != g.Path; dir = filepath.Dir(dir) {
			out = append(out, dir)
		}
		slices.Reverse(out)
		return out
	}
	return nil
}
