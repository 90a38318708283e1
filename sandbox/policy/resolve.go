package policy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

// Resolve says what p and l come to on this machine now: it follows links,
// finds what globs match and fills in defaults. It looks at the file system and
// changes nothing. A path that does not exist is an error, except in Deny and
// where its entry begins with a dash. The error joins errors of type *[Error],
// those of [Policy.Validate] among them. A nil p resolves to level None without
// any grant.
func Resolve(p *Policy, l Limits) (*Resolved, error) {
	if err := p.Validate(l); err != nil {
		return nil, err
	}
	if p == nil {
		return &Resolved{Policy: Policy{Level: None}, Limits: l, UID: -1, GID: -1}, nil
	}
	r := resolver{seen: seen{}, out: &Resolved{Policy: p.WithDefaults(), Limits: l, UID: -1, GID: -1}}
	r.bad.source = p.Source
	r.user()
	r.grants()
	r.work()
	r.deny()
	if err := r.bad.err(); err != nil {
		return nil, err
	}
	r.out.RefusedSyscalls = p.refused()
	return r.out, nil
}

type resolver struct {
	bad problems
	out *Resolved

	fixedLinks []Grant // links that read_only went over
	seen       seen
}

// user finds the number of a user that is named.
func (r *resolver) user() {
	name := r.out.Policy.User
	if name == "" || name == "auto" {
		return
	}
	var u *user.User
	n, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		r.out.UID, r.out.GID = int(n), int(n) // a number needs no entry
		u, _ = user.LookupId(name)
	} else if u, err = user.Lookup(name); err != nil {
		r.bad.add("user", name, "there is no such user here", `"auto" gives it a number of its own`)
		return
	}
	if u != nil {
		uid, err := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err != nil || err2 != nil {
			r.bad.add("user", name, "users have no numbers here", "remove it")
			return
		}
		r.out.UID, r.out.GID = uid, gid
	}
	switch euid := os.Geteuid(); {
	case r.out.UID == 0:
		r.bad.add("user", name, "nothing runs confined as root", `use "auto", or the name or number of another user`)
	case euid != 0 && euid != r.out.UID:
		r.bad.add("user", name, "only root can change the user", "remove it, or run the supervisor as root")
	case euid != 0:
		r.out.UID, r.out.GID = -1, -1
	}
}

// work checks the bounded folder.
func (r *resolver) work() {
	w := &r.out.Policy.Work
	if w.Path == "" {
		return
	}
	if w.Keep && os.Geteuid() != 0 {
		r.bad.add("work.keep", "true", "only root can keep a folder of bounded size: it takes a loop device", "use keep = false, or run the supervisor as root")
	}
	t, err := trace(filepath.Clean(w.Path))
	if err != nil {
		r.bad.add("work.path", w.Path, reason(err), "")
		return
	}
	for _, g := range r.out.Grants {
		if g.Link == "" && within(g.Path, t.real) {
			r.bad.add(g.Field, g.Path, "it lies in the folder that work bounds; what is in a plain grant cannot be bounded", "put work.path beside it")
		}
	}
	if t.missing == "" {
		if !t.info.IsDir() {
			r.bad.add("work.path", w.Path, "it is no folder", "")
			return
		}
		entries, err := os.ReadDir(t.real)
		switch {
		case err != nil && !errors.Is(err, fs.ErrPermission):
			r.bad.add("work.path", w.Path, reason(err), "")
		case len(entries) > 0:
			r.bad.add("work.path", w.Path, fmt.Sprintf("there are files in it (%s), and this folder cannot be bounded without hiding them", entries[0].Name()),
				"name an empty or missing folder, or grant this one in write, without bounds")
		}
	}
	w.Path = t.real
}
