//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// machine is a Machine with details for this package.
type machine struct {
	Machine
	root     bool
	landlock int  // version
	mdwe     bool // the kernel can refuse to make memory executable
	memfd    bool // executable memory files can be disabled
	memory   *memory
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

const (
	featureOwners = "mapped owners" // mounts can map the owners of files
	featureUsers  = "own user ids"  // a policy without a user gets an id that no other tree has

	// The /proc of a confined process can show memory and processors, as a policy with
	// Ordinary requires.
	featureMachine = "the machine in /proc"
)

// look tests all features once. Results of tests that need a process or a cgroup may
// come from an earlier process; see RememberProbe.
func look() *machine {
	m := &machine{root: os.Geteuid() == 0}
	if remembering.Load() {
		m.memory = openMemory()
		defer m.memory.keep()
	}
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
		err = errors.New("the kernel does not have it, or it is disabled")
	}
	add("landlock", forAll, err, fmt.Sprintf("version %d", m.landlock), "Linux 5.13, with landlock in the list of lsm= on the kernel's command line")
	m.spaces(add)
	m.limits(add)

	m.mdwe = sys.HaveMDWE()
	add("memory protection", nil, lack(m.mdwe, "the kernel does not have it; the system call filter replaces it"), "PR_SET_MDWE", "Linux 6.3")
	add("landlock: truncating", nil, version(m.landlock, sys.LandlockTruncateVersion), "", "Linux 6.2; without namespaces, files that the user may write can be truncated by their path")
	add("landlock: TCP ports", nil, version(m.landlock, sys.LandlockNetVersion), "", "Linux 6.7; without namespaces, TCP is refused by the system call filter then")
	add("landlock: signals and abstract sockets", nil, version(m.landlock, sys.LandlockScopeVersion), "", "Linux 6.12; without namespaces, processes of the same user can be signalled")
	add("landlock: sockets in files", nil, version(m.landlock, sys.LandlockUnixVersion), "", "a newer kernel; until then, a socket that lies in a granted folder can be connected to")
	if m.root {
		m.memfd = sys.HaveMemfdSwitch()
		add("memory files cannot be run", nil, lack(m.memfd, "the kernel cannot disable them; the system call filter replaces it"), "vm.memfd_noexec", "Linux 6.3")
		locks, err := openUserLocks()
		if err == nil {
			locks.Close()
		}
		add(featureUsers, nil, err, "locked in the folder hostsup of "+runtimeFolder(), "make /run writable for root (systemd: RuntimeDirectory=hostsup); until then, policies have to name a user")
		if !remembering.Load() { // a program that starts one command does not show the features
			m.records(add)
		}
	}
	add("observing", nil, sys.HaveFilter(sys.FilterNotify), "seccomp notification", "Linux 5.19")
	m.Level = m.strongest("")
	return m
}

// strongest returns the strongest level for which this machine has all features but
// without.
func (m *machine) strongest(without string) policy.Level {
	for _, level := range []policy.Level{policy.Full, policy.NoCgroup, policy.Landlock} {
		if !slices.ContainsFunc(m.lacks(level), func(f Feature) bool { return f.Name != without }) {
			return level
		}
	}
	return policy.None
}

// records tests whether the kernel records denials.
func (m *machine) records(add func(name string, levels []policy.Level, err error, detail, advice string)) {
	on, err := sys.AuditEnabled()
	switch {
	case err != nil:
		err = fmt.Errorf("the audit subsystem cannot be queried: %w", err)
	case !on:
		err = errors.New("the audit subsystem is disabled")
	}
	add(FeatureRecords, nil, err, "audit", "auditctl -e 1; until then denials are found by observing only")
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

// spaces tests creating the namespaces and a root, as a start does.
func (m *machine) spaces(add func(name string, levels []policy.Level, err error, detail, advice string)) {
	var made *base
	defer func() {
		if made != nil {
			made.free()
		}
	}()
	prober := sync.OnceValues(func() (_ *base, err error) { // not created if all results are stored
		made, err = newBase()
		return made, err
	})
	advice := "allow user namespaces: user.max_user_namespaces above 0, kernel.unprivileged_userns_clone=1, " +
		"kernel.apparmor_restrict_unprivileged_userns=0 or an AppArmor profile for this program; in a container, a seccomp profile that lets unshare and mount pass"
	if m.root {
		advice = "give this program CAP_SYS_ADMIN, CAP_SETUID and CAP_SETGID; in a container, --privileged or a seccomp profile that lets unshare and mount pass"
	}
	tryFor := func(levels []policy.Level, name, detail, advice string, plan func() helper.Plan) {
		add(name, levels, m.memory.try(name, func() error {
			b, err := prober()
			if err != nil {
				return err
			}
			return b.try(plan())
		}), detail, advice)
	}
	try := func(name, detail, advice string, plan func() helper.Plan) {
		tryFor(forSpaces, name, detail, advice, plan)
	}
	r := &policy.Resolved{PrivateTmp: true, Policy: policy.Policy{Tmp: policy.Tmp{Size: policy.DefaultTmpSize, Inodes: policy.DefaultTmpInodes}}}
	try("user namespaces", "", advice, func() helper.Plan { return helper.Plan{UID: -1, UserNS: m.root} })
	try("a root of its own", "mount namespace, pivot_root, /proc of its own pid namespace", advice, func() helper.Plan {
		return helper.Plan{UID: -1, Unshare: sys.NewMount, Mounts: planRoot(r, -1, -1, false).ops}
	})
	tryFor(nil, featureMachine, "for sandboxes of exec server clients", "nothing may be mounted over parts of /proc, as containers do; until then free, lscpu and the like find nothing there", func() helper.Plan {
		return helper.Plan{UID: -1, Unshare: sys.NewMount, WholeProc: true, Mounts: planRoot(r, -1, -1, false).ops}
	})
	try("other namespaces", "pid, ipc, uts, cgroup", advice, func() helper.Plan {
		return helper.Plan{UID: -1, Unshare: sys.NewIPC | sys.NewUTS | sys.NewCgroup}
	})
	try("private network", "network namespace", advice, func() helper.Plan {
		return helper.Plan{UID: -1, Unshare: sys.NewNet, Loopback: true}
	})
	if m.root {
		add(featureOwners, forSpaces, m.memory.try(featureOwners, func() error {
			owners, err := newSpace(helper.Owner{}.IDs(firstUser, firstUser), 0)
			if err != nil {
				return err
			}
			defer sys.Close(owners)
			return sys.TryMap(ownersFolder(), owners)
		}), "idmapped mounts, tried in "+ownersFolder(), "Linux 5.19, and a file system that can: ext4, xfs, btrfs, tmpfs (6.3)")
	}
}

// ownersFolder returns where mapped owners are tested; a missing TMPDIR is not used.
func ownersFolder() string {
	dir := os.TempDir()
	if st, err := os.Stat(dir); err == nil && st.IsDir() {
		return dir
	}
	return "/"
}

// limits tests creating the cgroups of limits.
func (m *machine) limits(add func(name string, levels []policy.Level, err error, detail, advice string)) {
	var l limiter
	defer func() { _ = l.close() }()
	advice := "run it as root, or where a cgroup is delegated to it: " + delegation
	if m.root {
		advice = "run it where a cgroup is its own: systemd-run --scope -p Delegate=yes hostsup …, or a unit with Delegate=yes; the kernel must have the controller"
	}
	for _, c := range controllers {
		limits := map[string]policy.Limits{"memory": {Memory: 64 << 20}, "pids": {Tasks: 64}, "cpu": {CPU: 1}}[c]
		instead := map[string]string{"memory": "it is sampled instead", "pids": "a limit on the user's processes stands in", "cpu": "it is not enforceable"}[c]
		name := limitNames[c] + " limit"
		err := m.memory.try(name, func() error {
			b, missing, err := l.bound("probe", limits, nil, lifeCgroup{})
			if err == nil {
				err = missing[c]
			}
			b.remove()
			if err != nil {
				if v2 := tryUnified(c); v2 == nil || os.Geteuid() == 0 || errors.Is(err, sys.ErrNoHierarchy) {
					err = v2
				}
			}
			return err
		})
		add(name, forFull, err, "cgroup", advice+"; until then "+instead)
	}
}

// tryUnified tests whether a v2 controller can limit lives.
func tryUnified(controller string) error {
	parent, err := sys.OwnCgroup()
	if err != nil {
		return err
	}
	parent = sys.DelegatedCgroup(parent)
	path, dir, err := ownFolder(parent, nil)
	if err != nil {
		return err
	}
	defer func() {
		sys.Close(dir)
		_ = sys.RemoveCgroup(sys.AtCWD, path)
	}()
	return enable(parent, dir, controller)
}

// lacks returns the features that a level needs and this machine does not have.
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

// missing returns texts on what confinement at a level does not have.
func (m *machine) missing(level policy.Level) []string {
	var out []string
	for _, f := range m.Features {
		if f.Have || level == policy.Landlock && strings.HasPrefix(f.Name, "records") {
			continue
		}
		switch f.Name {
		case "memory protection", "memory files cannot be run", "landlock: TCP ports", "records of denials", "observing":
			continue // another feature replaces it
		case featureUsers:
			continue // the start is refused where it needs one
		case featureMachine:
			continue // policies that need it report it
		case "landlock: sockets in files":
			if m.root && level != policy.Landlock {
				continue // mapped owners replace it
			}
		case "landlock: signals and abstract sockets", "landlock: truncating":
			if level != policy.Landlock {
				continue // namespaces and mounts replace it
			}
		}
		out = append(out, f.Name+": "+f.Detail)
	}
	if level == policy.Landlock {
		out = append(out,
			"no namespaces: the metadata of all files (stat, chmod, chown, times, attributes) and the list of all processes can be seen, and changed as far as its user may; what the kernel counts for each user, as inotify instances, is shared",
			"no mounts: nothing can be denied within a grant, /tmp is not private, nothing bounds what is written in a folder, the machine's name can be seen",
			"no mounts without execution: what was written can be mapped into memory to be run")
	}
	return out
}
