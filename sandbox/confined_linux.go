//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// confiner is the state of a Launcher for its confined and limited children.
type confiner struct {
	strongest policy.Level
	users     users
	limiter   limiter
	sweeper   sweeper
	filters   filters
	spaces    spaces
	records   records
	resolver  resolve.Resolver

	bounding sync.Mutex
	bounded  *spawner // its thread has an empty bounding set; created on first use
}

// unprivileged returns the spawner of processes that can never gain capabilities. Its
// thread empties its bounding set once, with a call for each capability, for all
// starts. A thread that failed to is replaced at the next start.
func (c *confiner) unprivileged() *spawner {
	c.bounding.Lock()
	defer c.bounding.Unlock()
	if c.bounded == nil || c.bounded.hasEnded() {
		c.bounded = newSpawner(func() error { return helper.Failed("capabilities", sys.NoBounding()) })
	}
	return c.bounded
}

// close must be called after the last child is gone.
func (c *confiner) close() error {
	if c.bounded != nil {
		c.bounded.stop()
	}
	c.sweeper.close()
	c.spaces.close()
	c.users.close()
	c.records.close()
	return c.limiter.close()
}

func (b *base) announce(owner string, p *policy.Policy) { b.confine.resolver.Announce(owner, p) }

// startHeld starts a command that has a policy or limits.
func (b *base) startHeld(cmd *Command, files []int) (*Child, error) {
	if hasZero(cmd) {
		return nil, syscall.EINVAL
	}
	begun := time.Now()
	unmapped := cmd.Policy != nil && cmd.Policy.Ordinary && os.Geteuid() == 0 && !mapsRoot()
	for pause := time.Millisecond; ; pause = min(2*pause, startPause) {
		s := &starting{base: b, cmd: cmd, files: files, child: newChild(cmd, time.Now()), unmapped: unmapped}
		s.child.held = &held{denials: denial.NewLog(0)}
		err := s.start()
		if err == nil {
			return s.child, nil
		}
		s.child.held.free()
		if s.cannotMap(err) {
			unmapped = true
			continue
		}
		if replacedMeanwhile(err) && time.Since(begun) < startPatience {
			time.Sleep(pause)
			continue
		}
		if cmd.Policy != nil {
			err = probe().memory.dropMemory(err)
		}
		var se *StartError
		if errors.As(err, &se) {
			return nil, err
		}
		return nil, &StartError{Name: cmd.Name, Step: StepConfine, Err: err}
	}
}

// A start that fails because other processes rename folders is repeated for
// startPatience, with pauses of up to startPause.
const (
	startPatience = 2 * time.Second
	startPause    = 50 * time.Millisecond
)

// starting is a start in progress.
type starting struct {
	*base
	cmd   *Command
	files []int
	child *Child

	r         *policy.Resolved
	level     policy.Level
	plan      helper.Plan
	reach     *reach
	listeners []net.Listener        // the addresses of the policy's listen, in order
	held      map[string]sys.FileID // placeholders, by path
	handed    []string              // calls that the observer refuses instead of the filter

	unmapped bool // an ordinary policy as root without a user, where owners cannot be mapped

	cg     *cgroups   // nil: lives have no cgroup
	cgroup lifeCgroup // the cgroup of this life
}

// wrong returns an error of StepPolicy.
func (s *starting) wrong(err error) error {
	return &StartError{Name: s.cmd.Name, Step: StepPolicy, Err: err}
}

func (s *starting) confineError(what string, err error) error {
	return &StartError{Name: s.cmd.Name, Step: StepConfine, Path: what, Err: err}
}

func (s *starting) start() (err error) {
	if s.r, err = s.confine.resolver.Resolve(resolve.Owned{Owner: s.cmd.Owner, Accept: s.cmd.Accept}, s.cmd.Policy, s.cmd.Limits); err != nil {
		return s.wrong(err)
	}
	s.unmapped = s.unmapped && s.r.UID < 0
	if err := s.choose(); err != nil {
		return s.wrong(err)
	}
	if s.cg, _ = s.back.(*cgroups); s.cg != nil {
		if s.cgroup, err = s.cg.lifeCgroup(); err != nil {
			return &StartError{Name: s.cmd.Name, Step: StepTree, Path: s.cg.path, Err: err}
		}
		defer s.finishCgroup(&err)
	}
	if err = s.bound(); err != nil {
		return err
	}
	if err = s.makePlan(); err != nil {
		return err
	}
	return s.spawn()
}

// finishCgroup prepares a cgroup for the next life, and removes that of a failed start.
func (s *starting) finishCgroup(err *error) {
	sys.Close(s.cgroup.dir)
	select {
	case s.cg.refill <- struct{}{}:
	default:
	}
	if *err != nil {
		sys.Close(s.cgroup.events)
		_ = sys.KillCgroup(s.cg.dir, s.cgroup.folder)
		removeCgroup(s.cg.dir, s.cgroup.folder, time.Second)
	}
}

// choose selects the strongest level; it fails if the policy does not accept it.
func (s *starting) choose() error {
	h := s.child.held
	if s.cmd.Policy == nil {
		s.level = policy.None
		h.confinement.Level = policy.None
		return nil
	}
	m := probe()
	s.level = m.Level
	if s.unmapped {
		s.level = m.strongest(featureOwners)
	}
	if limit := s.confine.strongest; limit != "" && !limit.AtLeast(s.level) {
		s.level = limit
	}
	h.confinement.Level = s.level
	h.confinement.Missing = m.missing(s.level)
	if want := s.r.Policy.Level; !s.level.AtLeast(want) {
		var lacks []string
		for _, l := range m.lacks(want) {
			lacks = append(lacks, l.Name+": "+l.Detail)
		}
		if len(lacks) == 0 {
			lacks = []string{"an option of the launcher excludes it"}
		}
		return &LevelError{Want: want, Have: s.level, Lacks: lacks}
	}
	if s.level != policy.Full && s.level != policy.NoCgroup {
		if w := s.r.Policy.Work.Path; w != "" {
			return fmt.Errorf("work %s cannot be bounded at level %s", w, s.level)
		}
		if len(s.r.Policy.Listen) > 0 {
			return fmt.Errorf("listen cannot be enforced at level %s", s.level)
		}
		if s.r.Policy.Network == policy.NetworkAllow {
			return fmt.Errorf(`network = "allow" cannot be enforced at level %s`, s.level)
		}
		if i := slices.IndexFunc(s.r.Grants, func(g policy.Grant) bool { return g.ReadOnly }); i >= 0 {
			return fmt.Errorf("read_only cannot be enforced at level %s: %s", s.level, s.r.Grants[i].Path)
		}
		if len(s.r.Denied) > 0 {
			return fmt.Errorf("deny cannot be enforced at level %s: %s", s.level, s.r.Denied[0].Path)
		}
	}
	return nil
}

// bound creates the cgroups of the limits. It refuses the start if no cgroup can
// enforce a limit; with policy.BestEffort the limit is enforced by other means and
// reported.
func (s *starting) bound() error {
	h := s.child.held
	l := s.r.Limits
	s.plan.Limits = rlimits(l, s.cmd.Policy != nil && s.level != policy.None)
	b, lacks, err := s.confine.limiter.bound(s.limitName(), l, s.cg, s.cgroup)
	if err != nil {
		return s.confineError("limits", err)
	}
	h.bounds = b
	var refused []error
	for _, c := range controllers {
		err, lack := lacks[c]
		if !lack {
			continue
		}
		own := s.cmd.Policy != nil && ownCount(s.level)
		short := Shortfall{limitNames[c], err.Error(), instead(limitNames[c], own)}
		if l.Enforce != policy.BestEffort {
			refused = append(refused, short.problem(l, s.r.Policy.Source))
			continue
		}
		h.confinement.Weaker = append(h.confinement.Weaker, short)
		h.confinement.Missing = append(h.confinement.Missing, "limit "+short.String())
		switch {
		case c == "memory":
			h.sample = l.Memory
		case c == "pids" && own:
			s.plan.Limits = append(s.plan.Limits, helper.Rlimit{Resource: sys.LimitTasks, Value: uint64(l.Tasks) + initTasks})
		}
	}
	if refused != nil {
		return s.wrong(errors.Join(refused...))
	}
	return nil
}

var limitNames = map[string]string{"memory": "memory", "pids": "tasks", "cpu": "cpu"}

func (s *starting) limitName() string {
	return fmt.Sprintf("life-%d", s.confine.limiter.serial.Add(1))
}

// makePlan decides what the helper does.
func (s *starting) makePlan() (err error) {
	p, cmd, r := &s.plan, s.cmd, s.r
	p.Path, p.Dir, p.Args, p.Env = cmd.Path, cmd.Dir, cmd.Args, cmd.Env
	p.Self, p.Terminal = cmd.Self, cmd.Terminal
	p.UID, p.GID = -1, -1
	jailed := s.level.AtLeast(policy.NoCgroup)
	switch {
	case jailed || s.mode == KillPidns:
		p.Mode = helper.PlanInit
	case s.mode == KillKeeper:
		p.Mode = helper.PlanReaper
	default:
		p.Mode = helper.PlanSelf
	}
	root := os.Geteuid() == 0
	if cmd.Policy == nil || s.level == policy.None {
		if p.Mode == helper.PlanInit {
			p.Proc, p.Caps = true, !root
		}
		s.observe(nil, policy.SyscallScope{})
		return nil
	}
	if err := s.refuseFolders(); err != nil {
		return s.wrong(err)
	}
	if err := s.chooseUser(root); err != nil {
		return err
	}
	p.Caps, p.NoNewPrivs = true, true
	m := probe()
	p.NoJIT = !r.Policy.JIT && m.mdwe && !s.spawns()
	scope := s.scope()
	s.observe(r, scope)
	p.Filter = s.confine.filters.get(r, scope, s.handed)
	p.Landlock = m.landlock
	p.Audit = root
	if p.Dir == "" {
		if p.Dir = r.Policy.Work.Path; p.Dir == "" {
			p.Dir = "/"
		}
	}
	if !jailed {
		p.LandlockNet = r.Policy.Network == policy.NetworkNone
		p.Rules, err = s.plainRules()
		return err
	}
	p.UserNS, p.Inotify = root, sys.InotifyShare()
	p.Memfd = root && !r.Policy.JIT && m.memfd
	p.Unshare = sys.NewMount | sys.NewIPC | sys.NewUTS | sys.NewCgroup
	if r.Policy.Network != policy.NetworkHost {
		p.Unshare |= sys.NewNet
		p.Loopback = true
	}
	if r.Policy.Ordinary {
		s.ordinary(root)
	}
	uid, gid := p.UID, p.GID
	if uid < 0 {
		uid, gid = os.Getuid(), os.Getgid()
	}
	if err := s.holdMissing(); err != nil {
		return err
	}
	rp := planRoot(r, uid, gid, root)
	if p.Inner.Shown {
		rp.mustMap(p.Dir)
	}
	if p.Terminal && r.Policy.Ordinary {
		rp.terminal(cmd.Files[0], s.files[0])
	}
	if p.WholeProc {
		if err := rp.coverProc(s.unmapped); err != nil {
			return s.confineError("examine /proc", err)
		}
	}
	if cmd.Self {
		if err := rp.libraries(); err != nil {
			return s.confineError("find the libraries of this program", err)
		}
	}
	if err := s.network(rp); err != nil {
		return err
	}
	if err := s.listen(); err != nil {
		return err
	}
	if rp.err != nil {
		return s.confineError("examine a device", rp.err)
	}
	s.pinCovers(rp.ops)
	p.Mounts, p.RootAttrs, p.Rules = rp.ops, rp.rootAttrs(), rp.rules
	return nil
}

// scope returns what the rules for system calls depend on.
func (s *starting) scope() policy.SyscallScope {
	p := &s.r.Policy
	return policy.SyscallScope{Level: s.level, JIT: p.JIT, Network: p.Network, Protected: s.plan.NoJIT, Sampled: s.child.held.sample > 0, Unmapped: s.unmapped && s.level.AtLeast(policy.NoCgroup)}
}

// chooseUser selects the ids of the command: those of root only if owners cannot be
// mapped.
func (s *starting) chooseUser(root bool) error {
	if !root {
		return nil
	}
	if s.unmapped && s.level.AtLeast(policy.NoCgroup) {
		s.plan.UID, s.plan.GID = os.Geteuid(), os.Getegid()
		return nil
	}
	s.plan.UID, s.plan.GID, s.plan.Groups = s.r.UID, s.r.GID, s.r.Groups
	if s.r.UID >= 0 {
		return nil
	}
	id, err := s.confine.users.take()
	if err != nil {
		return s.confineError("user", err)
	}
	s.child.held.onFree(func() { s.confine.users.give(id) })
	s.plan.UID, s.plan.GID = id, id
	return nil
}

// plainRules returns the Landlock rules at the level without mounts.
func (s *starting) plainRules() ([]helper.LandlockRule, error) {
	jit := s.r.Policy.JIT
	var rules []helper.LandlockRule
	for i := range s.r.Grants {
		g := &s.r.Grants[i]
		rights := landlockRights(g.Access, jit)
		if g.Device {
			rights |= sys.LandlockIoctl
		}
		if g.Link == "" {
			rules = append(rules, helper.LandlockRule{Path: g.Path, ID: identity(g), Rights: rights})
		}
	}
	if s.cmd.Self {
		list, err := thisLibraries.get()
		if err != nil {
			return nil, s.confineError("find the libraries of this program", err)
		}
		for _, l := range list {
			rules = append(rules, helper.LandlockRule{Path: l.from, Rights: landlockRights(policy.Exec, false)})
		}
	}
	for _, name := range devices {
		switch _, err := os.Stat("/dev/" + name); {
		case err == nil:
			rules = append(rules, helper.LandlockRule{Path: "/dev/" + name, Rights: sys.LandlockReadFile | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
		case !errors.Is(err, fs.ErrNotExist):
			return nil, s.confineError("examine a device", err)
		}
	}
	return rules, nil
}

// heldParts are the resources of a child with a Policy or with Limits.
type heldParts struct {
	bounds   *bounds
	sample   int64 // the limit for sampled memory, in bytes; 0: memory is not sampled
	peak     atomic.Int64
	exceeded atomic.Bool
	tmp      room
	sweep    *sweep // nil without placeholders
	frees    []func()
}

// account returns the cgroup of its limits that counts memory, or -1 and "".
func (h *held) account() (dir int, folder string) { return h.bounds.account() }

// bound changes the limits that cgroups enforce.
func (h *held) bound(l policy.Limits, dry bool) error { return h.bounds.change(l, dry) }

// onFree registers f to be called when the child is released and gone, in reverse
// order.
func (h *held) onFree(f func()) { h.frees = append(h.frees, f) }

// free releases the resources of the child. It may block.
func (h *held) free() {
	h.release()
	h.bounds.remove()
}

// release releases the resources but the cgroups.
func (h *held) release() {
	for i := len(h.frees) - 1; i >= 0; i-- {
		h.frees[i]()
	}
	h.frees = nil
}
