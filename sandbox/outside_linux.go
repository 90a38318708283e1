//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// outside sorts out of what a command tries what its policy does not grant.
// It is used by one goroutine.
type outside struct {
	r     *policy.Resolved
	log   *denial.Log
	known map[attempt]denial.Denial // what an attempt comes to; of no kind: it is none
	tmp   scratch
}

type attempt struct {
	kind  denial.Kind
	path  string
	grant string
}

// maxKnown bounds what is remembered of a command that tries ever new paths.
const maxKnown = 1 << 14

func (o *outside) note(d denial.Denial) {
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
		// By host and port the proxy tells better, and the namespace's own
		// loopback is the command's.
		path, isPath := strings.CutPrefix(d.Path, "unix /")
		switch {
		case isPath:
			return !o.granted("/"+path, policy.Write) && there("/"+path)
		case o.r.Policy.Network == policy.NetworkHost:
			return false
		case strings.HasPrefix(d.Path, "unix "):
			return false // an abstract one, which only the namespace's own processes have
		}
		return o.r.Policy.Network == policy.NetworkNone && !loopback(d.Path)
	case denial.Resolve:
		switch o.r.Policy.Network {
		case policy.NetworkHost:
			return false
		case policy.NetworkAllow:
			rules, err := netproxy.Parse(o.r.Policy.Allow)
			return err == nil && !rules.Knows(d.Path)
		}
		return true
	case denial.Bind:
		return false
	}
	if o.own(d.Path) || o.r.PrivateTmp && o.tmp.has(d, true) {
		return false
	}
	want := map[denial.Kind]policy.Access{denial.Stat: policy.Read, denial.Read: policy.Read, denial.Write: policy.Write, denial.Exec: policy.Exec}[d.Kind]
	grantable(d)
	if d.Grant == "" && !there(d.Path) || d.Grant != "" && !there(d.Grant) {
		return false
	}
	if d.Kind == denial.Stat && o.leads(d.Path) || o.granted(d.Path, want) {
		return false
	}
	// A link that is in sight already lacks only what it points to.
	if real, err := filepath.EvalSymlinks(d.Path); err == nil && real != d.Path && d.Grant == "" && o.granted(filepath.Dir(d.Path), policy.Read) {
		d.Grant, d.Suggest, d.Field = real, "", ""
	}
	return true
}

func (o *outside) granted(path string, want policy.Access) bool { return o.r.Access(path).Has(want) }

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

func loopback(addr string) bool {
	return strings.HasPrefix(addr, "127.") || strings.HasPrefix(addr, "[::1]:")
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
