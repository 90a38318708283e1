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

// outside sorts out of what a command tries what its policy does not grant.
// It is used by one goroutine.
type outside struct {
	r     *policy.Resolved
	log   *denial.Log
	known map[attempt]denial.Denial // what an attempt comes to; of no kind: it is none
	tmp   scratch
	bound map[uint16]bool // ports that the command listens on itself
	allow *allow.Rules    // of network = "allow"
	// mounts is whether the command has a root of its own.
	mounts bool
}

func newOutside(r *policy.Resolved, level policy.Level, log *denial.Log) *outside {
	o := &outside{r: r, mounts: level.AtLeast(policy.NoCgroup), log: log, known: map[attempt]denial.Denial{}, tmp: scratch{}, bound: map[uint16]bool{}}
	if r.Policy.Network == policy.NetworkAllow {
		o.allow, _ = allow.Parse(r.Policy.Allow) // a list that is wrong has refused the start
	}
	return o
}

type attempt struct {
	kind  denial.Kind
	path  string
	grant string
}

// maxKnown bounds what is remembered of a command that tries ever new paths.
const maxKnown = 1 << 14

func (o *outside) note(d denial.Denial) {
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

// bad reports whether the policy stands in the way of what was tried. What
// would not be there without any confinement either was not denied.
func (o *outside) bad(d *denial.Denial) bool {
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
	if d.Kind == denial.Exec && (written || o.granted(d.Path, policy.Write) && there(d.Path)) {
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
	if d.Grant == "" && !there(d.Path) || d.Grant != "" && !there(d.Grant) {
		return false
	}
	if o.granted(d.Path, want) {
		return false
	}
	// A folder on the way to what is granted shows that.
	if (d.Kind == denial.Stat || d.Kind == denial.Read && o.mounts && isFolder(d.Path)) && o.leads(d.Path) {
		return false
	}
	// A link that is in sight already lacks only what it points to.
	if real, err := filepath.EvalSymlinks(d.Path); err == nil && real != d.Path && d.Grant == "" && o.granted(filepath.Dir(d.Path), policy.Read) {
		d.Grant, d.Suggest, d.Field = real, "", ""
	}
	return true
}

// connects is bad for a connection. What goes by the proxy the proxy tells.
func (o *outside) connects(d *denial.Denial) bool {
	path, isPath := strings.CutPrefix(d.Path, "unix /")
	switch {
	case isPath:
		return !o.granted("/"+path, policy.Write) && there("/"+path)
	case o.r.Policy.Network == policy.NetworkHost:
		return false
	case strings.HasPrefix(d.Path, "unix "):
		return false // an abstract one, which only the namespace's own processes have
	}
	addr, udp := strings.CutPrefix(d.Path, "udp ")
	a, err := netip.ParseAddrPort(addr)
	switch {
	case err != nil:
		return true
	case udp && a.Port() == 53:
		return false // the name that is asked for is told
	case a.Addr().IsLoopback():
		// The loopback of the namespace is the command's own. What listens on
		// that of the machine is what it cannot reach.
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

// list names the lines that add to the allow-list what a denial names in Grant, or
// in Path.
func (o *outside) list(d *denial.Denial) {
	entry := d.Grant
	if entry == "" {
		entry = d.Path
	}
	d.Field, d.Suggest = "allow", policy.Line("allow", entry)
	if o.r.Policy.Network != policy.NetworkAllow {
		d.Suggest = `network = "allow"` + "\n" + d.Suggest
	}
}

// listens reports whether a TCP socket of this machine's network listens at a,
// which is a loopback address.
func listens(a netip.AddrPort) bool {
	all, err := procnet.AllListening()
	return err == nil && anyListens(all, a)
}

// anyListens reports whether one of the listening sockets is there for
// connections to a.
func anyListens(all []netip.AddrPort, a netip.AddrPort) bool {
	return slices.ContainsFunc(all, func(l netip.AddrPort) bool {
		return l.Port() == a.Port() && (l.Addr() == a.Addr() || l.Addr().IsUnspecified())
	})
}

// isLibrary reports whether path leads to a shared library, by its name and its
// first bytes.
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

func (o *outside) granted(path string, want policy.Access) bool {
	return resolve.Access(o.r, path).Has(want)
}

// own reports whether a path is in what every confined process has.
func (o *outside) own(path string) bool {
	return path == "/" || path == "/dev" || within(path, "/proc") || ownDevice(path)
}

// leads reports whether a path is a folder above something granted.
func (o *outside) leads(path string) bool {
	return slices.ContainsFunc(o.r.Grants, func(g policy.Grant) bool { return within(g.Path, path) })
}

// grantable makes of an attempt what a policy would have to name: a device, or
// for a file that is yet to be made its folder.
func grantable(d *denial.Denial) {
	info, err := os.Lstat(d.Path)
	switch {
	case err == nil && info.Mode()&fs.ModeCharDevice != 0 && within(d.Path, "/dev"):
		d.Kind, d.Grant, d.Field, d.Suggest = denial.Device, "", "", ""
	case errors.Is(err, fs.ErrNotExist) && d.Kind == denial.Write && d.Grant == "":
		d.Grant, d.Field, d.Suggest = filepath.Dir(d.Path), "", ""
	}
}

// there reports whether a path exists outside.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// ownDevice reports whether a path is in the /dev that every confined process
// has.
func ownDevice(path string) bool {
	name, ok := strings.CutPrefix(path, "/dev/")
	return ok && (slices.Contains(devices, name) || slices.Contains([]string{"fd", "stdin", "stdout", "stderr"}, name))
}

// scratch knows what a command has made for itself in /tmp, where a confined
// one has a folder of its own.
type scratch map[string]bool

// maxScratch bounds what is remembered of a command that makes ever new files.
const maxScratch = 1 << 14

// has reports whether what was tried is about such a file. With fresh, /tmp is
// the command's own already, so that everything written in it is new.
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
	if d.Kind == denial.Write && filepath.Dir(d.Path) == root && (fresh || !there(d.Path)) {
		if len(s) < maxScratch {
			s[d.Path] = true
		}
		return true
	}
	return false
}
