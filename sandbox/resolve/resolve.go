package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Policy applies p and l to this machine: it follows links, expands globs and fills
// in defaults. It reads the file system and changes nothing. A missing path is an
// error, except in Deny and where the entry begins with a dash. The error joins
// errors of type *[policy.Error], among them those of [policy.Policy.Validate]. A
// nil p resolves to level None without any grant.
//
// Policy does not follow a symbolic link in a folder that p makes writable, or that
// users other than root and this one may write. [Resolver] also knows the other
// policies of a supervisor.
func Policy(p *policy.Policy, l policy.Limits) (*policy.Resolved, error) {
	return new(Resolver).Resolve(Owned{}, p, l)
}

func (r *resolver) resolve(p *policy.Policy, l policy.Limits) error {
	r.out = &policy.Resolved{Policy: p.WithDefaults(os.Geteuid() == 0), Limits: l, UID: -1, GID: -1}
	r.bad.Source = p.Source
	r.writable(p)
	r.user()
	r.grants()
	r.work()
	r.deny()
	if p.Within != nil && len(r.bad.List) == 0 {
		if around, ok := r.around(p.Within, l); ok {
			r.narrow(p, around)
		}
	}
	if err := r.bad.Err(); err != nil {
		return err
	}
	r.out.RefusedSyscalls = r.out.Policy.Refused()
	return nil
}

type resolver struct {
	bad policy.Problems
	out *policy.Resolved

	seen seen

	owned      Owned
	written    map[string]string // by any policy before: owners, by folder
	ownWritten map[string]string // by this one: field by folder
	images     map[string]string // owners, by path
	exposures  map[string]string // what exposed has found out, by path
	before     map[string]file   // what entries led to
	found      map[string]file   // what they lead to now
}

// user finds the numbers of the user that the policy names.
func (r *resolver) user() {
	name := r.out.Policy.User
	if name == "" || name == "auto" {
		return
	}
	if name == policy.Caller {
		if os.Geteuid() != 0 {
			return // the command runs as this user in any case
		}
		// sudo sets the id of its caller, and only root could set another one.
		if name = os.Getenv("SUDO_UID"); name == "" || name == "0" {
			r.bad.Add("user", policy.Caller, "root is the caller, and nothing runs confined as root", `use "auto", or the name or number of another user`)
			return
		}
		if n, err := strconv.ParseUint(name, 10, 32); err != nil || n == 0 || n >= math.MaxUint32-1 {
			r.bad.Add("user", policy.Caller, fmt.Sprintf("SUDO_UID is %q, which is not a user id", name), "")
			return
		}
	}
	var u *user.User
	n, err := strconv.ParseUint(name, 10, 32)
	if err == nil {
		r.out.UID, r.out.GID = int(n), int(n) // a number needs no entry in the user database
		u, _ = user.LookupId(name)
	} else if u, err = user.Lookup(name); err != nil {
		r.bad.Add("user", name, "there is no such user on this machine", `"auto" gives it a number of its own`)
		return
	}
	if u != nil {
		uid, err := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err != nil || err2 != nil {
			r.bad.Add("user", name, "users have no numbers on this system", "remove it")
			return
		}
		r.out.UID, r.out.GID = uid, gid
		if os.Geteuid() == 0 {
			r.groups(u)
		}
	}
	switch euid := os.Geteuid(); {
	case r.out.UID == 0:
		r.bad.Add("user", name, "nothing runs confined as root", `use "auto", or the name or number of another user`)
	case euid != 0 && euid != r.out.UID:
		r.bad.Add("user", name, "only root can change the user", "remove it, or run the supervisor as root")
	case euid != 0:
		r.out.UID, r.out.GID = -1, -1
	}
}

// maxGroups is how many groups the maps of a user namespace have room for.
const maxGroups = 300

// groups finds the supplementary groups of a user.
func (r *resolver) groups(u *user.User) {
	list, err := u.GroupIds()
	if err != nil {
		r.bad.Add("user", u.Username, "its groups cannot be found: "+reason(err), "")
		return
	}
	for _, id := range list {
		if g, err := strconv.Atoi(id); err == nil && g > 0 && g != r.out.GID {
			r.out.Groups = append(r.out.Groups, g)
		}
	}
	slices.Sort(r.out.Groups)
	r.out.Groups = slices.Compact(r.out.Groups)
	if n := len(r.out.Groups); n > maxGroups {
		r.bad.Add("user", u.Username, fmt.Sprintf("it is in %d groups, and at most %d are possible", n, maxGroups), "")
	}
}

// work checks the bounded folder.
func (r *resolver) work() {
	w := &r.out.Policy.Work
	if w.Path == "" {
		return
	}
	if w.Keep && os.Geteuid() != 0 {
		r.bad.Add("work.keep", "true", "only root can keep a folder of bounded size: it takes a loop device", "use keep = false, or run the supervisor as root")
	}
	t, err := r.seen.trace(filepath.Clean(w.Path))
	if !r.checkLinks("work.path", w.Path, &t) {
		return
	}
	var pe *fs.PathError
	switch {
	case errors.Is(err, syscall.ENOTDIR) && errors.As(err, &pe):
		r.workNeedsFolder(filepath.Dir(pe.Path))
		return
	case err != nil:
		r.bad.Add("work.path", w.Path, reason(err), "")
		return
	}
	for _, g := range r.out.Grants {
		if g.Link == "" && policy.Within(g.Path, t.real) {
			r.bad.Add(g.Field, g.Path, "it lies in the folder that work bounds; what is in a plain grant cannot be bounded", "put work.path beside it")
		}
	}
	if t.missing == "" {
		if !t.info.IsDir() {
			r.workNeedsFolder(t.real)
			return
		}
		entries, err := os.ReadDir(t.real)
		switch {
		case err != nil && !errors.Is(err, fs.ErrPermission):
			r.bad.Add("work.path", w.Path, reason(err), "")
		case len(entries) > 0:
			r.bad.Add("work.path", w.Path, fmt.Sprintf("there are files in it (%s), and this folder cannot be bounded without hiding them", entries[0].Name()),
				"name an empty or missing folder, or grant this one in write, without bounds")
		}
	}
	w.Path = t.real
	if w.Keep {
		r.image(w.Image())
	}
}

// workNeedsFolder reports a file that stands where the work folder, or a folder
// above it, belongs. The file stays, because it may be the user's, even if a host
// could have put it there; the message says so.
func (r *resolver) workNeedsFolder(file string) {
	path := r.out.Policy.Work.Path
	text := file + " is not a folder, and work.path needs one there"
	if why := r.exposed(file); why != "" {
		r.bad.Distrust("work.path", path, text+"; a host may have put it there: "+why, "move it away, or put work.path in a folder that no sandbox grants in write")
		return
	}
	r.bad.Add("work.path", path, text, "move it away, or name another folder")
}

// image reports an image, which is mounted as root, that others than the supervisor
// could write or replace.
func (r *resolver) image(path string) {
	why := r.exposed(path)
	if why == "" {
		why = r.letWritten(path)
	}
	if why != "" {
		r.bad.Distrust("work.keep", "true", path+" would hold its file system, and only the supervisor may be able to change that file: "+why, policy.ImageHelp)
	}
}
