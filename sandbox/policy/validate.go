package policy

import (
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Defaults of the bounds of a policy.
const (
	DefaultTmpSize    = 64 << 20 // bytes
	DefaultTmpInodes  = 4096
	DefaultWorkSize   = 128 << 20 // bytes
	DefaultWorkInodes = 8192
)

// Validate reports all mistakes in the form of p and l. It checks neither the file
// system nor what the machine can enforce. A nil p means an unconfined process:
// only the limits are checked. The error joins errors of type *[Error]; see
// [Errors].
func (p *Policy) Validate(l Limits) error {
	var bad Problems
	if p != nil {
		bad.Source = p.Source
		p.check(&bad)
	}
	l.check(&bad)
	return bad.Err()
}

func (p *Policy) check(bad *Problems) {
	if p.Profile != "" {
		if _, ok := Profile(p.Profile); !ok {
			bad.Add("profile", p.Profile, "there is no such profile", "use one of "+strings.Join(Profiles(), ", "))
		}
	}
	if p.Level != "" && !p.Level.Valid() {
		bad.Add("level", string(p.Level), "it is not a level", "use one of full, no-cgroup, landlock, none")
	}
	p.checkUser(bad)
	for _, l := range p.lists()[:3] {
		for i, s := range *l.at {
			p.checkGrant(bad, fmt.Sprintf("%s[%d]", l.name, i), s)
		}
	}
	for i, s := range p.ReadOnly {
		p.checkGrant(bad, fmt.Sprintf("read_only[%d]", i), s)
	}
	for i, s := range p.Absent {
		checkPath(bad, fmt.Sprintf("absent[%d]", i), s)
	}
	for i, s := range p.Deny {
		checkDeny(bad, fmt.Sprintf("deny[%d]", i), s)
	}
	for i, s := range p.Devices {
		checkDevice(bad, fmt.Sprintf("devices[%d]", i), s)
	}
	p.checkSyscalls(bad)
	p.checkNetwork(bad)
	p.checkListen(bad)
	p.checkTmp(bad)
	p.checkWork(bad)
	p.checkLevel(bad)
	if p.Within != nil {
		if err := p.Within.Validate(Limits{}); err != nil {
			bad.List = append(bad.List, err)
		}
	}
}

var userName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?$`) })

func (p *Policy) checkUser(bad *Problems) {
	switch n, err := strconv.ParseUint(p.User, 10, 32); {
	case p.User == "", p.User == "auto", p.User == Caller:
	case err == nil && n == 0, p.User == "root":
		bad.Add("user", p.User, "nothing runs confined as root", `use "auto", or the name or number of another user`)
	case err == nil && n < math.MaxUint32-1:
	case err == nil || !userName().MatchString(p.User):
		bad.Add("user", p.User, "it is neither the name nor the number of a user", `"auto" gives it a number of its own`)
	}
}

// checkPath adds the mistake if no field of a policy may have such a path, and
// reports whether the path is valid.
func checkPath(bad *Problems, field, path string) bool {
	switch {
	case path == "":
		bad.Add(field, "", "it is empty", "remove it")
	case strings.ContainsRune(path, 0):
		bad.Add(field, strings.ReplaceAll(path, "\x00", "\uFFFD"), "it contains a NUL character", "")
	case path == "~" || strings.HasPrefix(path, "~/"):
		bad.Add(field, path, "it would be a folder named ~; no shell reads it", "write the whole path")
	case !filepath.IsAbs(path):
		bad.Add(field, path, "it is not absolute", "begin it with /")
	case slices.Contains(strings.Split(path, "/"), ".."):
		bad.Add(field, path, "it goes up by ..", "write the path that is meant: "+filepath.Clean(path))
	default:
		return true
	}
	return false
}

// Optional splits the dash off an entry that is granted only where it exists.
func Optional(entry string) (path string, optional bool) {
	return strings.CutPrefix(entry, "-")
}

func (p *Policy) checkGrant(bad *Problems, field, entry string) {
	path, _ := Optional(entry)
	if !checkPath(bad, field, path) {
		return
	}
	if reason, help := Misplaced(filepath.Clean(path), strings.HasPrefix(field, "write")); reason != "" {
		bad.Add(field, entry, reason, help)
	}
}

// Misplaced returns why a clean path cannot be granted on any machine; "" if it can.
func Misplaced(path string, write bool) (reason, help string) {
	switch {
	case path == "/":
		return "it would grant the whole machine", "name the folders that are needed, such as /usr and /etc/ssl"
	case Within(path, "/proc"):
		return "a confined process has a /proc of its own, which shows its own processes", "remove it"
	case Within(path, "/dev"):
		return "a confined process has a /dev of its own", "name device files in devices; null, zero, full, random, urandom and tty are there"
	case Within(path, "/sys") && write:
		return "writing there changes the machine", "grant it in read"
	case Within(path, "/sys/fs/cgroup"), Within("/sys/fs/cgroup", path):
		return "it holds the limits of all processes", "name what is needed below /sys, such as /sys/devices/system/cpu"
	}
	return "", ""
}

// Within reports whether path is dir or below it. Both are clean.
func Within(path, dir string) bool {
	return path == dir || dir == "/" || strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// IsGlob reports whether a path is a pattern: it has *, ? or [ without a
// backslash before it.
func IsGlob(path string) bool {
	for i := 0; i < len(path); i++ {
		switch path[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return true
		}
	}
	return false
}

func checkDeny(bad *Problems, field, entry string) {
	if strings.HasPrefix(entry, "-") {
		bad.Add(field, entry, "a path that is denied holds also when it is missing", "leave the dash out")
		return
	}
	if !checkPath(bad, field, entry) {
		return
	}
	if IsGlob(entry) {
		if _, err := filepath.Match(entry, ""); err != nil {
			bad.Add(field, entry, "a bracket of the pattern is not closed", `write \[ for the character itself`)
		}
	}
}

func checkDevice(bad *Problems, field, entry string) {
	path, _ := Optional(entry)
	switch {
	case !checkPath(bad, field, path):
	case !Within(filepath.Clean(path), "/dev") || filepath.Clean(path) == "/dev":
		bad.Add(field, entry, "it is not in /dev", "name a file such as /dev/dri/renderD128")
	case slices.Contains([]string{"/dev/mem", "/dev/kmem", "/dev/port", "/dev/kmsg"}, filepath.Clean(path)):
		bad.Add(field, entry, "it is the memory of the machine or its log, which no policy may grant", "remove it")
	}
}

func (p *Policy) checkNetwork(bad *Problems) {
	switch p.Network {
	case "", NetworkNone, NetworkHost:
		if len(p.Allow) > 0 {
			bad.Add("allow", "", fmt.Sprintf("it has no meaning with network = %q", cmpOr(p.Network, NetworkNone)), `set network = "allow"`)
		}
	case NetworkAllow:
		if len(p.Allow) == 0 {
			bad.Add("network", string(p.Network), "nothing is named in allow", `set allow = ["HOST:PORT"], or network = "none"`)
		}
		checkAllow(bad, p.Allow)
	default:
		bad.Add("network", string(p.Network), "it is unknown", "use one of none, host, allow")
	}
}

// checkListen reports addresses that cannot be listened on, or need not be.
func (p *Policy) checkListen(bad *Problems) {
	ports := map[uint16]bool{}
	for i, s := range p.Listen {
		field := fmt.Sprintf("listen[%d]", i)
		a, err := netip.ParseAddrPort(s)
		switch {
		case err != nil || a.Addr().Zone() != "":
			bad.Add(field, s, "it is not an address and port", `write an address of this machine and a port, such as "127.0.0.1:8080"`)
		case a.Port() == 0:
			bad.Add(field, s, "no command can listen on port 0", "")
		case p.Network == NetworkHost:
			bad.Add(field, s, `it has no meaning with network = "host", where servers are reached as they are`, "remove it")
		case ports[a.Port()]:
			bad.Add(field, s, "the port is already in the list", "")
		}
		ports[a.Port()] = true
	}
}

func cmpOr(n, def Network) Network {
	if n == "" {
		return def
	}
	return n
}

func (p *Policy) checkTmp(bad *Problems) {
	checkBound(bad, "tmp.size", p.Tmp.Size, 64<<10)
	checkBound(bad, "tmp.inodes", p.Tmp.Inodes, 16)
	if p.boundsTmp() {
		for _, l := range p.lists()[:3] {
			for i, s := range *l.at {
				if path, _ := Optional(s); Within("/tmp", filepath.Clean(path)) && filepath.IsAbs(path) {
					bad.Add(fmt.Sprintf("%s[%d]", l.name, i), s, "it grants the machine's /tmp, which takes the place of the private one that tmp bounds",
						"remove it, or the bounds of tmp")
				}
			}
		}
	}
}

// checkBound reports a size or number that is negative, or set but too small.
func checkBound(bad *Problems, field string, n, least int64) {
	switch {
	case n < 0:
		bad.Add(field, strconv.FormatInt(n, 10), "it is negative", "0 is the default")
	case n > 0 && n < least:
		bad.Add(field, strconv.FormatInt(n, 10), fmt.Sprintf("it is less than %d, with which nothing works", least), "")
	}
}

// ImageHelp advises where a kept work folder may be.
const ImageHelp = "put work.path in a folder that root alone may write and that no sandbox grants in write"

func (p *Policy) checkWork(bad *Problems) {
	w := p.Work
	if w.Path == "" {
		if w != (Work{}) {
			bad.Add("work", "", "it has no path", `set path = "/srv/x/work"`)
		}
		return
	}
	checkBound(bad, "work.size", w.Size, 64<<10)
	checkBound(bad, "work.inodes", w.Inodes, 16)
	if !checkPath(bad, "work.path", w.Path) {
		return
	}
	path := filepath.Clean(w.Path)
	for _, top := range []string{"/proc", "/dev", "/sys", "/usr", "/etc", "/bin", "/sbin", "/lib", "/lib64", "/boot"} {
		if Within(path, top) {
			bad.Add("work.path", w.Path, top+" belongs to the system", "use a folder of the host's own, such as /srv/x/work")
			return
		}
	}
	if slices.Contains([]string{"/", "/tmp", "/home", "/root", "/srv", "/var", "/opt", "/run", "/mnt"}, path) {
		bad.Add("work.path", w.Path, "it would cover a folder that is not the host's own", "use a folder of the host's own, such as /srv/x/work")
		return
	}
	for i, s := range p.Write {
		s, _ = Optional(s)
		if w.Keep && filepath.IsAbs(s) && Within(w.Image(), filepath.Clean(s)) {
			bad.Add("work.keep", "true", fmt.Sprintf("%s would hold its file system, and write[%d] lets %s be written", w.Image(), i, filepath.Clean(s)), ImageHelp)
		}
	}
	for _, l := range p.lists()[:3] {
		for i, s := range *l.at {
			s, _ = Optional(s)
			switch inner := filepath.Clean(s); {
			case !filepath.IsAbs(s):
			case inner == path:
				bad.Add(fmt.Sprintf("%s[%d]", l.name, i), s, "it grants the folder that work bounds; bytes and files of a plain grant cannot be bounded",
					"remove it: work is readable and writable by itself")
			case Within(inner, path):
				bad.Add(fmt.Sprintf("%s[%d]", l.name, i), s, "it lies in the folder that work bounds, which begins empty; what is in a plain grant cannot be bounded",
					"put work.path beside it")
			}
		}
	}
}

// checkLevel reports fields that need mounts or namespaces and therefore cannot be
// enforced at the weakest level that the policy accepts.
func (p *Policy) checkLevel(bad *Problems) {
	level := p.Level // no default is weaker than NoCgroup
	if !level.Valid() || level.AtLeast(NoCgroup) {
		return
	}
	instead := `use level = "no-cgroup" or "full"`
	cannot := fmt.Sprintf("it cannot be enforced at level %s, which this policy accepts: ", level)
	for i, s := range p.Deny {
		bad.Add(fmt.Sprintf("deny[%d]", i), s, cannot+"without mounts, what lies in a grant cannot be taken out of it", instead+", or grants that leave it out")
	}
	for i, s := range p.ReadOnly {
		bad.Add(fmt.Sprintf("read_only[%d]", i), s, cannot+"without mounts, what can be written with the folder around it cannot be taken out of that", instead+", or grants that leave it out")
	}
	for i, s := range p.Listen {
		bad.Add(fmt.Sprintf("listen[%d]", i), s, cannot+"it needs a network namespace", instead)
	}
	if p.Network == NetworkAllow {
		bad.Add("network", string(p.Network), cannot+"it needs a network namespace", instead+`, or network = "none"`)
	}
	if p.boundsTmp() {
		bad.Add("tmp", "", cannot+"it needs a mount", instead+", or a grant of a folder for temporary files")
	}
	if p.Work.Path != "" {
		bad.Add("work", p.Work.Path, cannot+"it needs a mount", instead+", or the folder in write, which has no bounds")
	}
}

// boundsTmp reports whether the policy itself bounds tmp; bounds of its profile do
// not count.
func (p *Policy) boundsTmp() bool {
	base, _ := Profile(p.Profile)
	return p.Tmp != (Tmp{}) && p.Tmp != base.Tmp
}

func (l Limits) check(bad *Problems) {
	limit := func(field string, n, least int64, help string) {
		switch {
		case n < 0:
			bad.Add("limits."+field, strconv.FormatInt(n, 10), "it is negative", "0 is no limit")
		case n > 0 && n < least:
			bad.Add("limits."+field, strconv.FormatInt(n, 10), fmt.Sprintf("it is less than %d, with which no program starts", least), help)
		}
	}
	if l.Enforce != "" && l.Enforce != Strict && l.Enforce != BestEffort {
		bad.Add("limits.enforce", string(l.Enforce), "it is unknown", "use one of strict, best-effort")
	}
	limit("memory", l.Memory, 1<<20, "use at least 1MiB")
	limit("tasks", int64(l.Tasks), 1, "")
	limit("files", int64(l.Files), 8, "")
	limit("file_size", l.FileSize, 1, "")
	limit("address_space", l.AddressSpace, 4<<20, "use at least 4MiB")
	if c := l.CPU; c < 0 || math.IsNaN(c) || math.IsInf(c, 0) || c > 0 && c < 0.01 {
		bad.Add("limits.cpu", strconv.FormatFloat(c, 'g', -1, 64), "it is not a share of processors", "use 0.01 or more; 1.5 is one and a half")
	}
}
