package denial

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Suggest returns a small, readable policy under which nothing in the list would
// have been refused. It grants files as they were used. It grants a folder instead
// of four or more entries that need the same access, unless the folder is a home or
// a system folder with unrelated files. Level stays empty; Network and JIT follow
// from the list.
//
// Suggest omits what no policy can grant: system calls that are never allowed, other
// processes, limits. It also omits what every confined process has: /proc, and the
// devices null, zero, full, random, urandom and tty.
func Suggest(list []Denial) policy.Policy {
	var p policy.Policy
	paths := map[string]policy.Access{}
	targets := map[string]policy.Access{} // the targets of links
	via := map[string][]string{}
	looked := map[string]bool{}
	var allow, calls, devices []string
	host := false
	for i := range list {
		d := &list[i]
		g := d.granted()
		to := paths
		if d.Via != "" {
			to = targets
			via[g] = append(via[g], d.Via)
		}
		switch d.Field {
		case "read":
			if d.Kind == Stat && d.Via == "" {
				looked[g] = true
			} else {
				addAccess(to, g, policy.Read)
			}
		case "exec":
			addAccess(to, g, policy.Exec)
		case "write":
			addAccess(to, g, policy.Write)
		case "devices":
			if valid(policy.Policy{Devices: []string{g}}) {
				devices = append(devices, g)
			}
		case "allow":
			if valid(policy.Policy{Network: policy.NetworkAllow, Allow: []string{g}}) {
				allow = append(allow, g)
			}
		case "network":
			host = true
		case "tmp.size":
			p.Tmp.Size = max(p.Tmp.Size, d.number())
		case "tmp.inodes":
			p.Tmp.Inodes = max(p.Tmp.Inodes, d.number())
		case "jit":
			p.JIT = true
		case "syscalls.allow":
			calls = append(calls, d.Path)
		}
	}
	for file, a := range paths {
		// Running writable files needs JIT.
		p.JIT = p.JIT || a.Has(policy.Exec) && around(paths, file).Has(policy.Write)
	}
	merge(paths)
	addLooked(paths, looked)
	merge(paths)
	follow(paths, targets, via)
	for _, file := range slices.Sorted(maps.Keys(paths)) {
		a := paths[file]
		outer := around(paths, path.Dir(file))
		if file == "/" || outer.Has(a) {
			continue
		}
		// Exec and Write both include Read.
		switch {
		case a.Has(policy.Exec) && p.JIT && outer.Has(policy.Write): // JIT already allows it to run
		case a.Has(policy.Exec) && !outer.Has(policy.Exec):
			p.Exec = append(p.Exec, file)
		case !a.Has(policy.Write) && !outer.Has(policy.Read):
			p.Read = append(p.Read, file)
		}
		if a.Has(policy.Write) && !outer.Has(policy.Write) {
			p.Write = append(p.Write, file)
		}
	}
	p.Devices = sorted(devices)
	p.Syscalls.Allow = sorted(calls)
	switch {
	case host:
		p.Network = policy.NetworkHost
	case len(allow) > 0:
		p.Network, p.Allow = policy.NetworkAllow, sorted(allow)
	default:
		p.Network = policy.NetworkNone
	}
	return p
}

// number returns Grant as a number.
func (d *Denial) number() int64 {
	n, _ := strconv.ParseInt(d.Grant, 10, 64) // 0 means no limit
	return n
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// addAccess adds an access to a path if a policy may contain the path.
func addAccess(paths map[string]policy.Access, file string, a policy.Access) {
	p := policy.Policy{Read: []string{file}}
	if a.Has(policy.Write) {
		p = policy.Policy{Write: []string{file}}
	}
	if valid(p) {
		paths[file] |= a
	}
}

// valid reports whether p is a valid policy.
func valid(p policy.Policy) bool {
	p.Level = policy.NoCgroup
	return p.Validate(policy.Limits{}) == nil
}

// around returns the access of a path from its own grant and those of its folders.
func around(paths map[string]policy.Access, file string) policy.Access {
	a := paths[file]
	for file != "/" && file != "." {
		file = path.Dir(file)
		a |= paths[file]
	}
	return a
}

// wholeFolders lists folders that are granted as a whole, wherever they are, if many
// of their files are needed.
var wholeFolders = []string{"node_modules", "site-packages", "dist-packages", ".git"}

// minEntries is how many entries of a folder are replaced by the folder.
const minEntries = 4

// follow grants the targets of links that are granted through their folder only: a
// grant of a link itself includes its target. via has the links to each target.
func follow(paths, targets map[string]policy.Access, via map[string][]string) {
	var comes func(target string, a policy.Access, deep int) bool
	comes = func(target string, a policy.Access, deep int) bool {
		return deep < 40 && slices.ContainsFunc(via[target], func(link string) bool { return paths[link].Has(a) || comes(link, a, deep+1) })
	}
	more := map[string]policy.Access{}
	for target, a := range targets {
		if !comes(target, a, 0) && !around(paths, target).Has(a) {
			more[target] = a
		}
	}
	for target, a := range more {
		if !slices.ContainsFunc(via[target], func(link string) bool { return more[link].Has(a) }) { // otherwise granted with that link
			paths[target] |= a
		}
	}
	if len(more) > 0 {
		merge(paths)
	}
}

// merge replaces paths by their folders.
func merge(paths map[string]policy.Access) {
	inside := map[string][]string{}
	for file, a := range paths {
		if dir := wholeFolder(file); dir != "" && !a.Has(policy.Write) {
			inside[dir] = append(inside[dir], file)
		}
	}
	for dir, files := range inside {
		if len(files) >= minEntries {
			for _, file := range files {
				a := paths[file]
				delete(paths, file)
				paths[dir] |= a
			}
		}
	}
	// Only paths with the same access are merged, so that no path gets more access;
	// the deepest folders come first.
	for _, a := range []policy.Access{policy.Read, policy.Exec, policy.Write, policy.Exec | policy.Write} {
		for {
			count := map[string][]string{}
			for file, b := range paths {
				if dir := path.Dir(file); a == b && mergeable(dir) {
					count[dir] = append(count[dir], file)
				}
			}
			deepest := ""
			for dir, files := range count {
				if len(files) >= minEntries && (strings.Count(dir, "/") > strings.Count(deepest, "/") || strings.Count(dir, "/") == strings.Count(deepest, "/") && dir < deepest) {
					deepest = dir
				}
			}
			if deepest == "" {
				break
			}
			for _, file := range count[deepest] {
				delete(paths, file)
			}
			paths[deepest] |= a
		}
	}
}

// wholeFolder returns the outermost folder of a path that is in wholeFolders; "" for
// no such folder.
func wholeFolder(file string) string {
	parts := strings.Split(file, "/")
	for i, part := range parts {
		if i > 1 && slices.Contains(wholeFolders, part) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// sharedFolders lists folders with unrelated content, which are not granted as a whole.
var sharedFolders = []string{
	"/etc", "/etc/ssl", "/etc/security", "/home", "/root", "/usr", "/usr/local", "/var", "/var/lib", "/var/cache", "/var/log", "/var/tmp", "/var/run", "/run", "/run/user",
	"/tmp", "/srv", "/opt", "/mnt", "/media", "/sys", "/boot", "/Users",
}

func mergeable(dir string) bool {
	if dir == "/" || strings.Count(dir, "/") < 2 || slices.Contains(sharedFolders, dir) || within(dir, "/sys") {
		return false
	}
	up := path.Dir(dir)
	if up == "/home" || up == "/Users" || up == "/run/user" {
		return false
	}
	// A dot folder in a home may contain all secrets of a user.
	return !strings.HasPrefix(path.Base(dir), ".") || strings.HasPrefix(path.Base(up), ".")
}

// addLooked adds the paths that were only looked at, unless they are visible anyway:
// granted paths and the folders that lead there.
func addLooked(paths map[string]policy.Access, looked map[string]bool) {
	seen := map[string]bool{}
	for file := range paths {
		for ; file != "/" && !seen[file]; file = path.Dir(file) {
			seen[file] = true
		}
	}
	extra := map[string]policy.Access{}
	for file := range looked {
		// A look at a folder with unrelated content does not grant it.
		if file == "/" || seen[file] || around(paths, file) != 0 || slices.Contains(sharedFolders, file) {
			continue
		}
		addAccess(extra, file, policy.Read)
	}
	// A folder that was only looked at does not cover paths below it.
	for file := range extra {
		above := false
		for other := range extra {
			above = above || other != file && within(other, file)
		}
		if !above && around(paths, file) == 0 {
			paths[file] |= policy.Read
		}
	}
}

// within reports whether file is dir or below it.
func within(file, dir string) bool {
	return file == dir || strings.HasPrefix(file, dir) && file[len(dir)] == '/'
}
