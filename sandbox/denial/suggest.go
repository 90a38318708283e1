package denial

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/policy"
)

// Suggest is the smallest policy, as far as it is still one to read, under
// which nothing in the list would have been refused: paths of the system's
// programs, and many of one folder, come together in the folder that holds
// them, unless that is somebody's home, or a folder of the system that holds
// much else. The Level is left open, Network and JIT are what the list needs.
//
// What no policy can give is left out: system calls that are never allowed,
// other processes, limits. What every confined process has of its own is left
// out too: /proc, and the devices null, zero, full, random, urandom and tty.
func Suggest(list []Denial) policy.Policy {
	var p policy.Policy
	paths := map[string]policy.Access{}
	looked := map[string]bool{}
	var allow, calls, devices []string
	host := false
	for i := range list {
		d := &list[i]
		g := d.granted()
		switch d.Field {
		case "read":
			if d.Kind == Stat {
				looked[g] = true
			} else {
				need(paths, g, policy.Read)
			}
		case "exec":
			need(paths, g, policy.Exec)
		case "write":
			need(paths, g, policy.Write)
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
	for _, file := range slices.Sorted(maps.Keys(paths)) {
		a := paths[file]
		outer := around(paths, path.Dir(file))
		if file == "/" || outer.Has(a) {
			continue
		}
		// Exec and Write both give Read.
		switch {
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

// systemFolders hold programs and what belongs to them, and nobody's secrets:
// one file of them is as good as all. The first that fits is taken.
var systemFolders = []string{
	"/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/libexec", "/usr/share", "/usr/include",
	"/usr/local/bin", "/usr/local/sbin", "/usr/local/lib", "/usr/local/libexec", "/usr/local/share",
	"/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store",
	"/etc/alternatives", "/etc/ca-certificates", "/etc/fonts", "/etc/ld.so.conf.d", "/etc/pki/tls/certs", "/etc/ssl/certs", "/etc/terminfo",
	"/sys/devices/system/cpu",
}

// wholeFolders are taken whole wherever they stand.
var wholeFolders = []string{"node_modules", "site-packages", "dist-packages", ".git"}

// many is how many entries of a folder stand for all of it.
const many = 4

// merge replaces paths by the folders that hold them.
func merge(paths map[string]policy.Access) {
	for _, file := range slices.Sorted(maps.Keys(paths)) {
		a := paths[file]
		if to := whole(file); to != "" && !a.Has(policy.Write) {
			delete(paths, file)
			paths[to] |= a
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

// whole is the folder that a path stands for; "" for none.
func whole(file string) string {
	for _, dir := range systemFolders {
		if within(file, dir) {
			return dir
		}
	}
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
		if file == "/" || seen[file] || around(paths, file) != 0 {
			continue
		}
		if to := whole(file); to != "" {
			file = to
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
