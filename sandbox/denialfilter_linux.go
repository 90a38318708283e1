//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/hostsup/hostsup/internal/sys/procnet"
	"github.com/hostsup/hostsup/sandbox/allow"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// denialFilter finds the attempts of a command that its policy does not grant. It must be
// used by one goroutine.
type denialFilter struct {
	r     *policy.Resolved
	log   *denial.Log
	known map[attempt]denial.Denial // the denial by attempt; with Kind "" if it is granted
	tmp   scratch
	bound map[uint16]bool // ports that the command listens on itself
	allow *allow.Rules    // of network = "allow"
	// mounts reports whether the command has its own root.
	mounts bool
}

func newDenialFilter(r *policy.Resolved, level policy.Level, log *denial.Log) *denialFilter {
	o := &denialFilter{r: r, mounts: level.AtLeast(policy.NoCgroup), log: log, known: map[attempt]denial.Denial{}, tmp: scratch{}, bound: map[uint16]bool{}}
	if r.Policy.Network == policy.NetworkAllow {
		o.allow, _ = allow.Parse(r.Policy.Allow) // an invalid list has failed the start
	}
	return o
}

type attempt struct {
	kind  denial.Kind
	path  string
	grant string
}

// maxKnown bounds the memory for a command that always tries new paths.
const maxKnown = 1 << 14

func (o *denialFilter) note(d denial.Denial) {
	d.Path = resolve.Unmerged(d.Path)
	a := attempt{d.Kind, d.Path, d.Grant}
	n, known := o.known[a]
	if !known {
		if n = d; !o.bad(&n) {
			n = denial.Denial{}
		}
		if len(o.known) < maxKnown {
			o.known[a] = n
		}
	}
	if n.Kind != "" {
		n.First, n.Last = d.First, d.Last
		o.log.Add(n)
	}
}

// bad reports whether the policy prevents an attempt. An attempt on a path that does
// not exist on the host side either was not denied.
func (o *denialFilter) bad(d *denial.Denial) bool {
	switch d.Kind {
	case denial.Syscall:
		return d.Field != "jit" || !o.r.Policy.JIT
	case denial.Connect:
		return o.connects(d)
	case denial.Resolve:
		if o.r.Policy.Network == policy.NetworkHost || o.allow.Knows(d.Path) {
			return false
		}
		o.list(d)
		return true
	case denial.Bind:
		if a, err := netip.ParseAddrPort(d.Path); err == nil {
			o.bound[a.Port()] = true
		}
		return false
	}
	if o.own(d.Path) {
		return false
	}
	written := o.r.PrivateTmp && o.tmp.has(d, true)
	if d.Kind == denial.Exec && (written || o.granted(d.Path, policy.Write) && exists(d.Path)) {
		d.Field, d.Grant, d.Suggest, d.Detail = "jit", "", "jit = true", "it can write this file"
		return !o.r.Policy.JIT && !o.granted(d.Path, policy.Exec)
	}
	if written {
		return false
	}
	if d.Kind == denial.Read && isLibrary(d.Path) {
		d.Kind, d.Field, d.Suggest, d.Detail = denial.Exec, "", "", "a library, which is mapped to be run"
	}
	want := map[denial.Kind]policy.Access{denial.Stat: policy.Read, denial.Read: policy.Read, denial.Write: policy.Write, denial.Exec: policy.Exec}[d.Kind]
	grantable(d)
	if d.Grant == "" && !exists(d.Path) || d.Grant != "" && !exists(d.Grant) {
		return false
	}
	if o.granted(d.Path, want) {
		return false
	}
	// A folder on the way to a grant shows the grant.
	if (d.Kind == denial.Stat || d.Kind == denial.Read && o.mounts && isFolder(d.Path)) && o.leads(d.Path) {
		return false
	}
	// Of a link that is already visible only the target is missing.
	if real, err := filepath.EvalSymlinks(d.Path); err == nil && real != d.Path && d.Grant == "" && o.granted(filepath.Dir(d.Path), policy.Read) {
		d.Grant, d.Suggest, d.Field = real, "", ""
	}
	return true
}

// connects is bad for a connection. The proxy reports connections through it.
func (o *denialFilter) connects(d *denial.Denial) bool {
	path, isPath := strings.CutPrefix(d.Path, "unix /")
	switch {
	case isPath:
		return !o.granted("/"+path, policy.Write) && exists("/"+path)
	case o.r.Policy.Network == policy.NetworkHost:
		return false
	case strings.HasPrefix(d.Path, "unix "):
		return false // abstract: it can only be a socket of the namespace's own processes
	}
	addr, udp := strings.CutPrefix(d.Path, "udp ")
	a, err := netip.ParseAddrPort(addr)
	switch {
	case err != nil:
		return true
	case udp && a.Port() == 53:
		return false // the queried name is reported
	case a.Addr().IsLoopback():
		// The loopback of the namespace is the command's own: a denial needs a listener
		// on that of the machine.
		if udp || o.bound[a.Port()] || o.allow.Allows(a.Addr().String(), a.Port()) || !listens(a) {
			return false
		}
		o.list(d)
	case o.r.Policy.Network == policy.NetworkAllow:
		d.Field, d.Grant, d.Suggest = "network", "", `network = "host"`
		if !udp {
			d.Detail = "directly; what allow names is reached by the proxy, or by its name and port"
		}
	case !udp:
		o.list(d)
	}
	return true
}

// list fills in the lines that add Grant of a denial, or else Path, to the allow list.
func (o *denialFilter) list(d *denial.Denial) {
	entry := d.Grant
	if entry == "" {
		entry = d.Path
	}
	d.Field, d.Suggest = "allow", policy.Line("allow", entry)
	if o.r.Policy.Network != policy.NetworkAllow {
		d.Suggest = `network = "allow"` + "\n" + d.Suggest
	}
}

// listens reports whether a TCP socket on the host side listens on a, which must be a
// loopback address.
func listens(a netip.AddrPort) bool {
	all, err := procnet.AllListening()
	return err == nil && anyListens(all, a)
}

// anyListens reports whether one of the listening sockets accepts connections to a.
func anyListens(all []netip.AddrPort, a netip.AddrPort) bool {
	return slices.ContainsFunc(all, func(l netip.AddrPort) bool {
		return l.Port() == a.Port() && (l.Addr() == a.Addr() || l.Addr().IsUnspecified())
	})
}

// isLibrary reports whether path is a shared library, by its name and its first bytes.
func isLibrary(path string) bool {
	if name := filepath.Base(path); !strings.HasSuffix(name, ".so") && !strings.Contains(name, ".so.") {
		return false
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 4)
	n, _ := f.Read(head)
	return string(head[:n]) == "\x7fELF"
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (o *denialFilter) granted(path string, want policy.Access) bool {
	return resolve.Access(o.r, path).Has(want)
}

// own reports whether a path is in a folder that every confined process has.
func (o *denialFilter) own(path string) bool {
	return path == "/" || path == "/dev" || within(path, "/proc") || ownDevice(path)
}

// leads reports whether a path is a folder above a grant.
func (o *denialFilter) leads(path string) bool {
	return slices.ContainsFunc(o.r.Grants, func(g policy.Grant) bool { return within(g.Path, path) })
}

// grantable changes an attempt to what a policy must grant: a device, or the folder of
// a new file.
func grantable(d *denial.Denial) {
	info, err := os.Lstat(d.Path)
	switch {
	case err == nil && info.Mode()&fs.ModeCharDevice != 0 && within(d.Path, "/dev"):
		d.Kind, d.Grant, d.Field, d.Suggest = denial.Device, "", "", ""
	case errors.Is(err, fs.ErrNotExist) && d.Kind == denial.Write && d.Grant == "":
		d.Grant, d.Field, d.Suggest = filepath.Dir(d.Path), "", ""
	}
}

// exists reports whether a path exists on the host side.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownDevice reports whether a path is a device in the private /dev of every confined
// process.
func ownDevice(path string) bool {
	name, ok := strings.CutPrefix(path, "/dev/")
	return ok && (slices.Contains(devices, name) || slices.Contains([]string{"fd", "stdin", "stdout", "stderr"}, name))
}

// scratch is the set of files that a command has created in /tmp, where a confined
// command has a private folder.
type scratch map[string]bool

// maxScratch bounds the memory for a command that always creates new files.
const maxScratch = 1 << 14

// has reports whether an attempt is about such a file. fresh means that /tmp is already
// private, so that everything written in it is new.
func (s scratch) has(d *denial.Denial, fresh bool) bool {
	root := "/tmp"
	if within(d.Path, "/dev/shm") {
		root = "/dev/shm"
	} else if !within(d.Path, root) {
		return false
	}
	for dir := d.Path; len(dir) > len(root); dir = filepath.Dir(dir) {
		if s[dir] {
			return true
		}
	}
	if d.Path == root {
		return true
	}
	if d.Kind == denial.Write && filepath.Dir(d.Path) == root && (fresh || !exists(d.Path)) {
		if len(s) < maxScratch {
			s[d.Path] = true
		}
		return true
	}
	return false
}
