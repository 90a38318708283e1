//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/netproxy"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// records are the kernel's audit records, for all confined children of a
// Launcher; read only where the machine makes them anyway.
type records struct {
	once  sync.Once
	audit *denial.Audit // nil: none can be read
}

func (r *records) open() *denial.Audit {
	r.once.Do(func() {
		if os.Geteuid() == 0 {
			r.audit, _ = denial.OpenAudit() // without them there are the other sources
		}
	})
	return r.audit
}

// close is called after the last child is gone.
func (r *records) close() {
	if r.audit != nil {
		_ = r.audit.Close()
	}
}

// watchRecords has the kernel's records of a child that runs go to its log.
func (s *starting) watchRecords() {
	if s.cmd.Policy == nil || s.level == policy.None {
		return
	}
	a := s.confine.records.open()
	if a == nil {
		return
	}
	c, log := s.child, s.child.held.denials
	stop := a.Watch(func(pid int) bool {
		if pid == c.pid {
			return true
		}
		pids, _ := c.tree.pids()
		return slices.Contains(pids, pid)
	}, log.Add)
	c.held.onFree(stop)
}

// observe plans that the command is watched, and returns the policy that the
// filter is still to hold: calls that are refused whatever their arguments are
// refused by the observer then, because only so they come to light.
func (s *starting) observe(r *policy.Resolved) *policy.Resolved {
	if !s.cmd.Observe {
		return r
	}
	calls := denial.WatchedCalls()
	s.plan.NoNewPrivs = true // or the kernel takes no filter
	if r != nil {
		left := *r
		left.RefusedSyscalls = nil
		for _, name := range r.RefusedSyscalls {
			n, ok := policy.SyscallNumber(name)
			if !ok || slices.ContainsFunc(calls, func(c sys.WatchedCall) bool { return c.NR == n }) {
				left.RefusedSyscalls = append(left.RefusedSyscalls, name)
			} else {
				calls = append(calls, sys.WatchedCall{NR: n})
			}
		}
		r = &left
	}
	s.plan.Observer = sys.WatchProgram(calls).Encode()
	return r
}

// observer watches the command through the filter's descriptor.
func (s *starting) observer(fd int) error {
	if !s.cmd.Observe || fd < 0 {
		closeFD(fd)
		return errors.New("no observer is awaited")
	}
	h := s.child.held
	sink := h.denials.Add
	if s.cmd.observed != nil {
		sink = s.cmd.observed
	} else if s.cmd.Policy != nil && s.level != policy.None {
		sink = (&outside{r: s.r, log: h.denials, known: map[attempt]denial.Denial{}, tmp: scratch{}}).note
	}
	o, err := denial.Observe(fd, sink)
	if err != nil {
		return err
	}
	h.onFree(func() { _ = o.Close() })
	return nil
}

// noteLimits counts the limits that were reached. It is called once, when the
// command has ended and before its cgroups are removed.
func (h *held) noteLimits(e *Exit) {
	reached := h.bounds.reached()
	if e.Limit != "" {
		reached[e.Limit] = max(reached[e.Limit], 1)
	}
	for limit, n := range reached {
		h.denials.Add(denial.Denial{
			Kind: denial.Limit, Path: limit, Field: "limits." + limit, Source: denial.Cgroup, Count: n, First: e.At, Last: e.At,
		})
	}
}

// reached is how often each limit stood in the way, as the kernel counted.
func (b *bounds) reached() map[string]uint64 {
	out := map[string]uint64{}
	if b == nil {
		return out
	}
	for i := range b.groups {
		g := &b.groups[i]
		file, key := "", ""
		switch {
		case g.controller == "pids":
			file, key = "pids.events", "max"
		case g.controller == "memory" && g.v2:
			file, key = "memory.events", "oom_kill"
		case g.controller == "memory":
			file, key = "memory.oom_control", "oom_kill"
		default:
			continue
		}
		if n, err := sys.CgroupNumber(g.dir, file, key); err == nil && n > 0 {
			out[limitNames[g.controller]] = uint64(n)
		}
	}
	return out
}

// ear is where the observing filter of a command without a helper comes to.
type ear struct {
	ours   *os.File // nil: nothing comes
	theirs int      // -1: nothing comes
}

func (s *starting) ear() (*ear, error) {
	e := &ear{theirs: -1}
	if !s.cmd.Observe {
		return e, nil
	}
	ours, theirs, err := sys.SocketPair()
	if err != nil {
		return nil, failed("observe", err)
	}
	defer theirs.Close()
	if e.theirs, err = sys.HighFD(int(theirs.Fd()), len(s.files)); err != nil {
		ours.Close()
		return nil, failed("observe", err)
	}
	e.ours = ours
	return e, nil
}

// hear waits for the filter and begins to observe: without that the execve
// that comes next would wait for ever. A command that ends before is found by
// who waits for its execve; one that cannot be observed fails in it.
func (e *ear) hear(s *starting) {
	if e.ours == nil {
		return
	}
	sys.Close(e.theirs)
	e.theirs = -1
	if _, fd, err := sys.RecvFD(e.ours, make([]byte, reportSize)); err == nil && fd >= 0 {
		_ = s.observer(fd)
	}
}

func (e *ear) close() {
	closeFD(e.theirs)
	if e.ours != nil {
		e.ours.Close()
	}
}

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
