//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/denial"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// confiner is what a Launcher keeps for its confined and limited children.
type confiner struct {
	strongest policy.Level
	users     users
	limiter   limiter
	holds     placeholders
	filters   filters
	spaces    spaces
	records   records

	bounding sync.Once
	bounded  *spawner // its thread has no bounding set; made when first wanted
}

// boundless starts what is to have no capability, ever. To empty the set takes
// a call for each of them, which one thread makes once for all.
func (c *confiner) boundless() *spawner {
	c.bounding.Do(func() { c.bounded = newSpawner(sys.NoBounding) })
	return c.bounded
}

// close is called after the last child is gone.
func (c *confiner) close() error {
	c.bounding.Do(func() {})
	if c.bounded != nil {
		c.bounded.stop()
	}
	c.spaces.close()
	c.users.close()
	c.records.close()
	return c.limiter.close()
}

// startHeld starts a command that has a policy or limits.
func (b *base) startHeld(cmd *Command, files []int) (*Child, error) {
	if hasZero(cmd) {
		return nil, syscall.EINVAL
	}
	s := &starting{base: b, cmd: cmd, files: files, child: newChild(cmd, time.Now())}
	s.child.held = &held{denials: denial.NewLog(0)}
	if err := s.start(); err != nil {
		s.child.held.free()
		var se *StartError
		if errors.As(err, &se) {
			return nil, err
		}
		return nil, &StartError{Name: cmd.Name, Step: StepConfine, Err: err}
	}
	return s.child, nil
}

// starting is a start under way.
type starting struct {
	*base
	cmd   *Command
	files []int
	child *Child

	r     *policy.Resolved
	level policy.Level
	plan  helper.Plan
	reach *reach

	cg  *cgroups // nil: lives have no cgroup of their own
	lot plot     // that of this one
}

// wrong is an error of the policy, or of the machine it is for.
func (s *starting) wrong(err error) error {
	return &StartError{Name: s.cmd.Name, Step: StepPolicy, Err: err}
}

func (s *starting) confineError(what string, err error) error {
	return &StartError{Name: s.cmd.Name, Step: StepConfine, Path: what, Err: err}
}

func (s *starting) start() (err error) {
	if s.r, err = policy.Resolve(s.cmd.Policy, s.cmd.Limits); err != nil {
		return s.wrong(err)
	}
	if err := s.choose(); err != nil {
		return s.wrong(err)
	}
	if s.cg, _ = s.back.(*cgroups); s.cg != nil {
		if s.lot, err = s.cg.plot(); err != nil {
			return &StartError{Name: s.cmd.Name, Step: StepTree, Path: s.cg.path, Err: err}
		}
		defer s.planted(&err)
	}
	if err = s.bound(); err != nil {
		return err
	}
	if err = s.makePlan(); err != nil {
		return err
	}
	return s.spawn()
}

// planted has a cgroup made ready for the next life, and removes that of one
// that has not come about.
func (s *starting) planted(err *error) {
	sys.Close(s.lot.dir)
	select {
	case s.cg.refill <- struct{}{}:
	default:
	}
	if *err != nil {
		sys.Close(s.lot.events)
		_ = sys.KillCgroup(s.cg.dir, s.lot.folder)
		removeCgroup(s.cg.dir, s.lot.folder, time.Second)
	}
}

// choose takes the strongest level, if that is as strong as the policy wants.
func (s *starting) choose() error {
	h := s.child.held
	if s.cmd.Policy == nil {
		s.level = policy.None
		h.confinement.Level = policy.None
		return nil
	}
	m := probe()
	s.level = m.Level
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
			lacks = []string{"the launcher was told so"}
		}
		return fmt.Errorf("level %s cannot be enforced here, %s at most (%s); see doctor, or accept it by level = %q",
			want, s.level, strings.Join(lacks, "; "), s.level)
	}
	if s.level != policy.Full && s.level != policy.NoCgroup {
		if w := s.r.Policy.Work.Path; w != "" {
			return fmt.Errorf("work %s cannot be bounded at level %s", w, s.level)
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

// bound makes the cgroups of the limits. What no cgroup can hold is refused
// where that was asked for, and else held by other means or told as missing.
func (s *starting) bound() error {
	h := s.child.held
	l := s.r.Limits
	s.plan.Limits = rlimits(l)
	b, lacks, err := s.confine.limiter.bound(s.limitName(), l, s.cg, s.lot)
	if err != nil {
		return s.confineError("limits", err)
	}
	h.bounds = b
	want := s.r.Policy.Level
	if s.cmd.Policy == nil {
		want = policy.DefaultLevel()
	}
	for _, c := range controllers {
		err, lack := lacks[c]
		if !lack {
			continue
		}
		if want == policy.Full {
			return s.wrong(fmt.Errorf("the limit %s needs a cgroup: %w", limitNames[c], err))
		}
		switch {
		case c == "memory":
			h.sample = l.Memory
			s.lack("memory: sampled, because " + err.Error())
		case c == "pids" && s.ownCount():
			s.plan.Limits = append(s.plan.Limits, helper.Rlimit{Resource: sys.LimitTasks, Value: uint64(l.Tasks) + initTasks})
			s.lack("tasks: by a limit of its user's processes, because " + err.Error())
		default:
			s.lack(limitNames[c] + ": not enforceable here: " + err.Error())
		}
	}
	return nil
}

// initTasks is how many threads our init may have, which count as its user's.
const initTasks = 8

// ownCount reports whether the kernel counts the command's processes apart
// from all others.
func (s *starting) ownCount() bool {
	return s.cmd.Policy != nil && (os.Geteuid() == 0 || s.level.AtLeast(policy.NoCgroup))
}

var limitNames = map[string]string{"memory": "memory", "pids": "tasks", "cpu": "cpu"}

func (s *starting) lack(what string) {
	h := s.child.held
	h.confinement.Missing = append(h.confinement.Missing, what)
}

func (s *starting) limitName() string {
	return fmt.Sprintf("life-%d", s.confine.limiter.serial.Add(1))
}

// makePlan decides what the helper is to do.
func (s *starting) makePlan() error {
	p, cmd, r := &s.plan, s.cmd, s.r
	p.Path, p.Dir, p.Args, p.Env, p.Files = cmd.Path, cmd.Dir, cmd.Args, cmd.Env, len(s.files)
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
		s.observe(nil)
		return nil
	}
	if err := s.chooseUser(root); err != nil {
		return err
	}
	p.Caps, p.NoNewPrivs = true, true
	m := probe()
	p.NoJIT = !r.Policy.JIT && m.mdwe && !s.spawns()
	p.Filter = s.confine.filters.get(s.observe(r), s.level, p.NoJIT)
	p.Landlock = m.landlock
	p.Audit = root
	if p.Dir == "" {
		if p.Dir = r.Policy.Work.Path; p.Dir == "" {
			p.Dir = "/"
		}
	}
	if !jailed {
		p.LandlockNet = r.Policy.Network == policy.NetworkNone
		p.Rules = s.plainRules()
		return nil
	}
	p.UserNS = root
	p.Memfd = root && !r.Policy.JIT && m.memfd
	p.Unshare = sys.NewMount | sys.NewIPC | sys.NewUTS | sys.NewCgroup
	if r.Policy.Network != policy.NetworkHost {
		p.Unshare |= sys.NewNet
		p.Loopback = true
	}
	uid, gid := p.UID, p.GID
	if uid < 0 {
		uid, gid = os.Getuid(), os.Getgid()
	}
	if err := s.holdMissing(); err != nil {
		return err
	}
	rp := planRoot(r, uid, gid, root)
	if err := s.network(rp); err != nil {
		return err
	}
	p.Mounts, p.RootAttrs, p.Rules = rp.ops, rp.rootAttrs(), rp.rules
	return nil
}

// chooseUser finds the ids that the command runs as. Never root's.
func (s *starting) chooseUser(root bool) error {
	if !root {
		return nil
	}
	s.plan.UID, s.plan.GID = s.r.UID, s.r.GID
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

// plainRules are what Landlock allows where there are no mounts.
func (s *starting) plainRules() []helper.LandlockRule {
	jit := s.r.Policy.JIT
	var rules []helper.LandlockRule
	for _, g := range s.r.Grants {
		rights := landlockRights(g.Access, jit)
		if g.Device {
			rights |= sys.LandlockIoctl
		}
		if g.Link == "" {
			rules = append(rules, helper.LandlockRule{Path: g.Path, Rights: rights})
		}
	}
	for _, name := range devices {
		if _, err := os.Stat("/dev/" + name); err == nil {
			rules = append(rules, helper.LandlockRule{Path: "/dev/" + name, Rights: sys.LandlockReadFile | sys.LandlockWrite | sys.LandlockIoctl | sys.LandlockTruncate})
		}
	}
	return rules
}

// heldParts are what is kept for a child with a Policy or with Limits.
type heldParts struct {
	bounds   *bounds
	sample   int64 // bytes; memory is sampled against it; 0: it is not
	peak     atomic.Int64
	exceeded atomic.Bool
	frees    []func()
}

// onFree has f called when all of the child is gone, the last one first.
func (h *held) onFree(f func()) { h.frees = append(h.frees, f) }

// free gives back what was held for the child. It may wait.
func (h *held) free() {
	for i := len(h.frees) - 1; i >= 0; i-- {
		h.frees[i]()
	}
	h.frees = nil
	h.bounds.remove()
}
