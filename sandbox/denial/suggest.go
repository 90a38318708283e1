package denial

import (
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Suggest is the smallest policy, as far as it is still one to read, under
// which nothing in the list would have been refused: files as they were used,
// and a folder in place of four or more files or folders in it that need the
// same access, unless that folder is somebody's home, or one of the system that
// holds much else. The Level is left open, Network and JIT are what the list
// needs.
//
// What no policy can give is left out: system calls that are never allowed,
// other processes, limits. What every confined process has of its own is left
// out too: /proc, and the devices null, zero, full, random, urandom and tty.
func Suggest(list []Denial) policy.Policy {
	var p policy.Policy
	paths := map[string]policy.Access{}
	targets := map[string]policy.Access{} // of links
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
				need(to, g, policy.Read)
			}
		case "exec":
			need(to, g, policy.Exec)
		case "write":
			need(to, g, policy.Write)
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
		// Running what one may write is a grant of its own.
		p.JIT = p.JIT || a.Has(policy.Exec) && around(paths, file).Has(policy.Write)
	}
	merge(paths)
	look(paths, looked)
	merge(paths)
	follow(paths, targets, via)
	for _, file := range slices.Sorted(maps.Keys(paths)) {
		a := paths[file]
		outer := around(paths, path.Dir(file))
		if file == "/" || outer.Has(a) {
			continue
		}
		// Exec and Write both give Read.
		switch {
		case a.Has(policy.Exec) && p.JIT && outer.Has(policy.Write): // what JIT lets it run
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

// number is what Grant says where it is one.
func (d *Denial) number() int64 {
	n, _ := strconv.ParseInt(d.Grant, 10, 64) // 0 asks for nothing
	return n
}

func sorted(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// need adds an access to a path that a policy may name.
func need(paths map[string]policy.Access, file string, a policy.Access) {
	p := policy.Policy{Read: []string{file}}
	if a.Has(policy.Write) {
		p = policy.Policy{Write: []string{file}}
	}
	if valid(p) {
		paths[file] |= a
	}
}

// valid reports whether a policy may say so.
func valid(p policy.Policy) bool {
	p.Level = policy.NoCgroup
	return p.Validate(policy.Limits{}) == nil
}

// around is what a path has of itself and of the folders around it.
func around(paths map[string]policy.Access, file string) policy.Access {
	a := paths[file]
	for file != "/" && file != "." {
		file = path.Dir(file)
		a |= paths[file]
	}
	return a
}

// wholeFolders are taken whole wherever they stand, when many of what is in
// them is needed.
var wholeFolders = []string{"node_modules", "site-packages", "dist-packages", ".git"}

// many is how many entries of a folder stand for all of it.
const many = 4

// follow grants the targets of links that are not granted themselves but by the
// folder that they are in: a grant of a link is one of its target too. via has
// the links that lead to a target.
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
		if !slices.ContainsFunc(via[target], func(link string) bool { return more[link].Has(a) }) { // else with that link
			paths[target] |= a
		}
	}
	if len(more) > 0 {
		merge(paths)
	}
}

// merge replaces paths by the folders that hold them.
func merge(paths map[string]policy.Access) {
	inside := map[string][]string{}
	for file, a := range paths {
		if dir := whole(file); dir != "" && !a.Has(policy.Write) {
			inside[dir] = append(inside[dir], file)
		}
	}
	for dir, files := range inside {
		if len(files) >= many {
			for _, file := range files {
				a := paths[file]
				delete(paths, file)
				paths[dir] |= a
			}
		}
	}
	// Only what has the same access comes together, so that nothing gets more
	// than a neighbour had; the deepest folders first.
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
				if len(files) >= many && (strings.Count(dir, "/") > strings.Count(deepest, "/") || strings.Count(dir, "/") == strings.Count(deepest, "/") && dir < deepest) {
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

// whole is the outermost of wholeFolders that a path is in; "" for none.
func whole(file string) string {
	parts := strings.Split(file, "/")
	for i, part := range parts {
		if i > 1 && slices.Contains(wholeFolders, part) {
			return strings.Join(parts[:i+1], "/")
		}
	}
	return ""
}

// crowded folders hold what has nothing to do with each other.
var crowded = []string{
	"/etc", "/etc/ssl", "/etc/security", "/home", "/root", "/usr", "/usr/local", "/var", "/var/lib", "/var/cache", "/var/log", "/var/tmp", "/var/run", "/run", "/run/user",
	"/tmp", "/srv", "/opt", "/mnt", "/media", "/sys", "/boot", "/Users",
}

func mergeable(dir string) bool {
	if dir == "/" || strings.Count(dir, "/") < 2 || slices.Contains(crowded, dir) || within(dir, "/sys") {
		return false
	}
	up := path.Dir(dir)
	if up == "/home" || up == "/Users" || up == "/run/user" {
		return false
	}
	// A folder with a dot in somebody's home may be all of its secrets.
	return !strings.HasPrefix(path.Base(dir), ".") || strings.HasPrefix(path.Base(up), ".")
}

// look adds what was only looked at, unless it is in sight anyway: what is
// granted, and the folders that lead there.
func look(paths map[string]policy.Access, looked map[string]bool) {
	seen := map[string]bool{}
	for file := range paths {
		for ; file != "/" && !seen[file]; file = path.Dir(file) {
			seen[file] = true
		}
	}
	extra := map[string]policy.Access{}
	for file := range looked {
		// A folder that holds much else is not granted for a look at it.
		if file == "/" || seen[file] || around(paths, file) != 0 || slices.Contains(crowded, file) {
			continue
		}
		need(extra, file, policy.Read)
	}
	// A folder that was only looked at is not granted for what is looked at
	// below it.
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
