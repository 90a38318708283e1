//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// machine is a Machine with what only this package asks.
type machine struct {
	Machine
	root     bool
	landlock int  // version
	mdwe     bool // memory can be kept from becoming executable
	memfd    bool // executable memory files can be switched off
}

var theMachine = sync.OnceValue(look)

func probe() *machine { return theMachine() }

func machineHere() *Machine { return &probe().Machine }

// Levels that need a feature.
var (
	forAll    = []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock}
	forSpaces = []policy.Level{policy.Full, policy.NoCgroup}
	forFull   = []policy.Level{policy.Full}
)

// look tries everything once.
func look() *machine {
	m := &machine{root: os.Geteuid() == 0}
	m.Level = policy.None
	add := func(name string, levels []policy.Level, err error, detail, advice string) {
		f := Feature{Name: name, Have: err == nil, Detail: detail, For: levels}
		if err != nil {
			f.Detail, f.Advice = err.Error(), advice
		}
		m.Features = append(m.Features, f)
	}

	add("system call filter", forAll, filterError(), "seccomp, "+runtime.GOARCH, "a kernel with CONFIG_SECCOMP_FILTER")
	m.landlock = sys.LandlockVersion()
	var err error
	if m.landlock == 0 {
		err = errors.New("the kernel has none, or it is switched off")
	}
	add("landlock", forAll, err, fmt.Sprintf("version %d", m.landlock), "Linux 5.13, with landlock in the list of lsm= on the kernel's command line")
	m.spaces(add)
	m.limits(add)

	m.mdwe = sys.HaveMDWE()
	add("memory protection", nil, lack(m.mdwe, "the kernel does not know it; the system call filter stands in"), "PR_SET_MDWE", "Linux 6.3")
	add("landlock: TCP ports", nil, version(m.landlock, sys.LandlockNetVersion), "", "Linux 6.7; without namespaces, TCP is refused by the system call filter then")
	add("landlock: signals and abstract sockets", nil, version(m.landlock, sys.LandlockScopeVersion), "", "Linux 6.12; without namespaces, processes of the same user can be signalled")
	add("landlock: sockets in files", nil, version(m.landlock, sys.LandlockUnixVersion), "", "a newer kernel; until then, a socket that lies in a granted folder can be connected to")
	if m.root {
		m.memfd = sys.HaveMemfdSwitch()
		add("memory files cannot be run", nil, lack(m.memfd, "the kernel cannot switch them off; the system call filter stands in"), "vm.memfd_noexec", "Linux 6.3")
		on, err := sys.AuditEnabled()
		switch {
		case err != nil:
			err = fmt.Errorf("the audit subsystem cannot be asked: %w", err)
		case !on:
			err = errors.New("the audit subsystem is switched off")
		}
		add("records of denials", nil, err, "audit", "auditctl -e 1; until then denials are found by observing only")
	}
	add("observing", nil, sys.HaveFilter(sys.FilterNotify), "seccomp notification", "Linux 5.19")
	for _, level := range []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock} {
		if len(m.lacks(level)) == 0 {
			m.Level = level
			break
		}
	}
	return m
}

func lack(have bool, why string) error {
	if have {
		return nil
	}
	return errors.New(why)
}

func version(have, want int) error {
	return lack(have >= want, fmt.Sprintf("landlock version %d is not %d", have, want))
}

func filterError() error {
	for _, a := range []sys.FilterAction{sys.FilterKill, sys.FilterErrno(syscall.EPERM)} {
		if err := sys.HaveFilter(a); err != nil {
			return err
		}
	}
	return nil
}

// spaces tries to make the namespaces and a root of its own, as a start does.
func (m *machine) spaces(add func(name string, levels []policy.Level, err error, detail, advice string)) {
	b, err := newBase()
	if err != nil {
		add("namespaces", forSpaces, err, "", "")
		return
	}
	defer b.free()
	advice := "allow user namespaces: user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for this program; in a container, a seccomp profile that lets unshare and mount pass"
	if m.root {
		advice = "give this program CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID; in a container, --privileged or a seccomp profile that lets unshare and mount pass"
	}
	add("user namespaces", forSpaces, b.try(helper.Plan{UID: -1, UserNS: m.root}), "", advice)
	r := &policy.Resolved{PrivateTmp: true, Policy: policy.Policy{Tmp: policy.Tmp{Size: policy.DefaultTmpSize, Inodes: policy.DefaultTmpInodes}}}
	add("a root of its own", forSpaces, b.try(helper.Plan{UID: -1, Unshare: sys.NewMount, Mounts: planRoot(r, -1, -1, false).ops}), "mount namespace, pivot_root, /proc of its own pid namespace", advice)
	add("other namespaces", forSpaces, b.try(helper.Plan{UID: -1, Unshare: sys.NewIPC | sys.NewUTS | sys.NewCgroup}), "pid, ipc, uts, cgroup", advice)
	add("private network", forSpaces, b.try(helper.Plan{UID: -1, Unshare: sys.NewNet, Loopback: true}), "network namespace", advice)
	if m.root {
		dir, err := os.MkdirTemp("", "hostsup-probe-")
		if err == nil {
			defer func() { _ = os.Remove(dir) }()
			p := planRoot(r, firstUser, firstUser, true)
			attrs := p.rootAttrs()
			p.op(helper.MountOp{Kind: helper.OpDir, Path: "/probe", Mode: 0o755})
			p.op(helper.MountOp{Kind: helper.OpBind, Path: "/probe", From: dir, UID: 0, GID: 0})
			err = b.try(helper.Plan{UID: firstUser, GID: firstUser, Unshare: sys.NewMount, Mounts: p.ops, RootAttrs: attrs})
		}
		add("mapped owners", forSpaces, err, "idmapped mounts, tried in "+os.TempDir(), "Linux 5.19, and a file system that can: ext4, xfs, btrfs, tmpfs (6.3)")
	}
}

// try has a helper carry a plan out up to the command.
func (b *base) try(p helper.Plan) error {
	p.Mode = helper.PlanTry
	place := sys.Process{PidNS: true, MountNS: p.Unshare&sys.NewMount == 0, UserNS: os.Geteuid() != 0}
	if place.UserNS {
		place.Ambient = sys.NamespaceCapabilities
	}
	h, err := b.spawnHelper(helper.RoleConfine, place, nil, helper.Pack(&p), "probe")
	if err != nil {
		return err
	}
	defer h.end()
	r, fd, err := h.read()
	closeFD(fd)
	switch {
	case err != nil:
		return err
	case r.Kind == helper.ReportReady:
		return nil
	}
	what, err := h.readText(r.Exit.Code)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: %w", what, syscall.Errno(r.Errno))
}

// limits tries to make the cgroups that limit.
func (m *machine) limits(add func(name string, levels []policy.Level, err error, detail, advice string)) {
	var l limiter
	defer func() { _ = l.close() }()
	advice := "run it as root, or where its own cgroup is delegated to it (systemd: Delegate=yes, DelegateSubgroup=supervisor)"
	if m.root {
		advice = "a kernel with the controller, mounted so that this program may make a folder below its own cgroup"
	}
	for _, c := range controllers {
		limits := map[string]policy.Limits{"memory": {Memory: 64 << 20}, "pids": {Tasks: 64}, "cpu": {CPU: 1}}[c]
		instead := map[string]string{"memory": "it is sampled instead", "pids": "a limit on the user's processes stands in", "cpu": "it is not enforceable"}[c]
		b, missing, err := l.bound("probe", limits, nil, plot{})
		if err == nil {
			err = missing[c]
		}
		b.remove()
		if err != nil {
			if v2 := tryUnified(c); v2 == nil || os.Geteuid() == 0 {
				err = v2
			}
		}
		add(limitNames[c]+" limit", forFull, err, "cgroup", advice+"; until then "+instead)
	}
}

// tryUnified tries whether a v2 controller can limit lives.
func tryUnified(controller string) error {
	parent, err := sys.OwnCgroup()
	if err != nil {
		return err
	}
	parent = sys.DelegatedCgroup(parent)
	path, dir, err := ownFolder(parent)
	if err != nil {
		return err
	}
	defer func() {
		sys.Close(dir)
		_ = sys.RemoveCgroup(sys.AtCWD, path)
	}()
	return enable(parent, dir, controller)
}

// lacks are the features that a level needs and this machine does not have.
func (m *machine) lacks(level policy.Level) []Feature {
	var out []Feature
	for _, f := range m.Features {
		for _, l := range f.For {
			if l == level && !f.Have {
				out = append(out, f)
			}
		}
	}
	return out
}

// missing says in words what confinement at a level does not have.
func (m *machine) missing(level policy.Level) []string {
	var out []string
	for _, f := range m.Features {
		if f.Have || level == policy.Landlock && strings.HasPrefix(f.Name, "records") {
			continue
		}
		switch f.Name {
		case "memory protection", "memory files cannot be run", "landlock: TCP ports", "records of denials", "observing":
			continue // something stands in
		case "landlock: sockets in files":
			if m.root && level != policy.Landlock {
				continue // mapped owners do it
			}
		case "landlock: signals and abstract sockets":
			if level != policy.Landlock {
				continue // namespaces do it
			}
		}
		out = append(out, f.Name+": "+f.Detail)
	}
	if level == policy.Landlock {
		out = append(out,
			"no namespaces: the metadata of all files (stat, chmod, chown, times, attributes) and the list of all processes can be seen, and changed as far as its user may",
			"no mounts: nothing can be denied within a grant, /tmp is not private, nothing bounds what is written in a folder, the machine's name can be seen",
			"no mounts without execution: what was written can be mapped into memory to be run")
	}
	return out
}
