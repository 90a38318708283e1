//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
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

// spawns reports whether the command's process shares our memory until its
// execve, so that what holds for memory must be held by the filter. On arm64
// that would refuse what the C library does to protect code.
func (s *starting) spawns() bool {
	return s.plan.Mode == helper.PlanSelf && sys.HaveSpawn && !s.cmd.Observe && (runtime.GOARCH == "amd64" || s.cmd.Policy == nil || s.r.Policy.JIT)
}

// spawn starts the command's process, or the helper that does.
func (s *starting) spawn() (err error) {
	h := s.child.held
	tree := func(err error) error { return &StartError{Name: s.cmd.Name, Step: StepTree, Err: err} }
	procs, err := h.bounds.procs()
	if err != nil {
		return tree(err)
	}
	defer closeAll(procs)
	s.plan.Groups = len(procs)
	extra := procs[:len(procs):len(procs)]
	if s.plan.UserNS {
		strangers, err := s.confine.spaces.of(helper.NobodyKnown, helper.NobodyKnown)
		if err != nil {
			return s.confineError("make a user namespace", err)
		}
		own, err := s.confine.spaces.of(s.plan.UID, s.plan.GID)
		if err != nil {
			return s.confineError(fmt.Sprintf("make a user namespace for %d", s.plan.UID), err)
		}
		extra = append(extra, strangers, own)
	}
	kept, err := s.keep()
	if err != nil {
		return err
	}
	if kept >= 0 {
		defer sys.Close(kept)
		extra = append(extra, kept)
	}

	place := sys.Process{PidNS: s.plan.Mode == helper.PlanInit, DieWithUs: s.plan.Mode == helper.PlanInit}
	if os.Geteuid() != 0 && place.PidNS {
		place.UserNS = true
		place.Ambient = sys.NamespaceCapabilities
	}
	if place.PidNS && s.plan.Unshare == 0 {
		place.MountNS = true
	}
	if s.cg != nil {
		place.Cgroup = s.lot.dir
		if h.bounds.init >= 0 {
			place.Cgroup = h.bounds.init
		}
	}
	if s.plan.Mode == helper.PlanSelf {
		if err = s.direct(procs); err == nil {
			s.running()
		}
		return err
	}
	files := append(s.files[:len(s.files):len(s.files)], extra...)
	p, err := s.spawnHelper(helper.RoleConfine, place, files, helper.Pack(&s.plan), s.cmd.Name)
	if err != nil {
		return tree(err)
	}
	host, err := s.follow(p)
	if err != nil {
		p.end()
		return err
	}
	s.adopt(p, host)
	s.running()
	return nil
}

// running begins what looks at a command that runs.
func (s *starting) running() {
	s.watchMemory()
	s.watchRecords()
}

// direct starts the command's process without a helper between.
func (s *starting) direct(procs []int) error {
	ruleset, err := s.plan.Ruleset()
	if err != nil {
		return s.explain(err)
	}
	if ruleset >= 0 {
		high, err := sys.HighFD(ruleset, len(s.files))
		sys.Close(ruleset)
		if err != nil {
			return s.explain(helper.Failed("landlock", err))
		}
		ruleset = high
		defer sys.Close(high)
	}
	ear, err := s.ear()
	if err != nil {
		return s.explain(err)
	}
	defer ear.close()
	from := s.spawner
	if s.plan.Caps {
		from, s.plan.Bounded = s.confine.boundless(), true
	}
	var script sys.Script
	if err := s.plan.Write(&script, s.files, procs, ruleset, ear.theirs); err != nil {
		return s.explain(err)
	}
	birth := s.lot.dir
	if h := s.child.held; h.bounds.host >= 0 {
		birth = h.bounds.host
	}
	by := func() (int, int, error) { return script.Spawn(birth) }
	if !s.spawns() {
		by = func() (int, int, error) {
			f, err := script.Fork(0, birth)
			if err == nil {
				ear.hear(s)
				err = f.Await()
			}
			if err != nil {
				return 0, -1, err
			}
			return f.Pid, f.Pidfd, nil
		}
	}
	pid, pidfd, err := from.do(&spawn{by: by})
	if err != nil {
		return s.explain(err)
	}
	return s.adoptDirect(newWatch(pid, pidfd))
}

// follow reads what the helper says until the command runs.
func (s *starting) follow(p *helperProc) (*watch, error) {
	for {
		r, fd, err := p.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, s.confineError("helper", errors.New("it ended at once: is package sandbox initialised in this program?"))
		case err != nil:
			return nil, s.confineError("helper", err)
		}
		switch r.Kind {
		case helper.ReportListener:
			err = s.listener(fd)
		case helper.ReportObserver:
			err = s.observer(fd)
		case helper.ReportProblem:
			what, err := p.readText(r.Exit.Code)
			if err != nil {
				return nil, s.confineError("helper", err)
			}
			return nil, s.problem(what, syscall.Errno(r.Errno))
		case helper.ReportStarted:
			w, err := p.meet(fd)
			if err != nil {
				return nil, s.confineError("helper", err)
			}
			_ = p.sock.SetDeadline(time.Time{})
			return w, nil
		default:
			err = fmt.Errorf("it said %q", r.Kind)
		}
		if err != nil {
			return nil, s.confineError("helper", err)
		}
	}
}

// explain is problem for an error of our own.
func (s *starting) explain(err error) error {
	what, errno := helper.StepOf(err)
	return s.problem(what, errno)
}

// problem says which step failed, and finds out what a failed execve was
// about.
func (s *starting) problem(what string, errno syscall.Errno) error {
	e := &StartError{Name: s.cmd.Name, Step: StepConfine, Path: what, Err: errno}
	switch what {
	case "dir":
		e.Step, e.Path = StepDir, s.plan.Dir
		if _, err := os.Stat(e.Path); err == nil && s.plan.Mounts != nil && errno == syscall.ENOENT {
			e.Err = fmt.Errorf("it is not granted: %w", errno)
		}
	case "exec":
		e = explain(s.cmd, errno)
		if s.cmd.Policy == nil || s.r.Access(s.cmd.Path).Has(policy.Exec) {
			break
		}
		if _, err := os.Stat(s.cmd.Path); err == nil {
			e.Step, e.Path, e.Err = StepExec, s.cmd.Path, fmt.Errorf("the policy does not let it be run; exec = [%q] would: %w", s.cmd.Path, errno)
		}
	case "descriptors":
		e.Step, e.Path = StepFiles, ""
	case "": // of fork
		e.Step = StepFork
	}
	return e
}

const maxProblem = 8192

// readText reads the text that follows a report.
func (h *helperProc) readText(n int) (string, error) {
	b := make([]byte, min(max(n, 0), maxProblem))
	_, err := io.ReadFull(h.sock, b)
	return string(b), err
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
