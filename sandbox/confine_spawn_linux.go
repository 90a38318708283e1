//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/resolve"
)

// spawns reports whether the command's process shares our memory until its execve, so
// that the filter must enforce the rules for memory. On arm64 such a filter would
// refuse calls by which the C library protects code.
func (s *starting) spawns() bool {
	return s.plan.Mode == helper.PlanSelf && sys.HaveSpawn && !s.cmd.Observe && (runtime.GOARCH == "amd64" || s.cmd.Policy == nil || s.r.Policy.JIT)
}

// spawn starts the command's process, or the nurse that starts it.
func (s *starting) spawn() (err error) {
	h := s.child.held
	tree := func(err error) error { return &StartError{Name: s.cmd.Name, Step: StepTree, Err: err} }
	procs, err := h.bounds.procs()
	if err != nil {
		return tree(err)
	}
	defer closeAll(procs)
	if s.plan.Mode == helper.PlanSelf {
		if err = s.direct(procs); err == nil {
			s.running()
		}
		return err
	}
	d := helper.Descriptors{Files: s.files, Groups: procs}
	defer closeOwners(&d)
	if err := s.owners(&d); err != nil {
		return err
	}
	kept, err := s.keep()
	if err != nil {
		return err
	}
	if kept >= 0 {
		defer sys.Close(kept)
		d.Kept = kept
	}
	cgroup := 0
	if s.cg != nil {
		cgroup = s.cgroup.dir
		if h.bounds.init >= 0 {
			cgroup = h.bounds.init
		}
	}
	p, nurse, err := s.startNurse(&s.plan, &d, cgroup, s.cmd.Name)
	if err != nil {
		return s.explain(err)
	}
	defer nurse.Free()
	var host *watch
	if h.sweep != nil {
		err = h.sweep.begun(p.fd)
	}
	if err == nil {
		host, err = s.follow(p, nurse)
	}
	if err != nil {
		p.end()
		return err
	}
	s.adopt(p, host)
	s.running()
	return nil
}

// owners creates the user namespaces of the command and of its mounts.
func (s *starting) owners(d *helper.Descriptors) error {
	if !s.plan.UserNS {
		return nil
	}
	var err error
	if d.Strangers, err = s.confine.spaces.of(helper.NobodyKnown, helper.NobodyKnown, nil, 0); err != nil {
		return s.confineError("make a user namespace", err)
	}
	if s.plan.Inner.Shown {
		d.Own, err = s.confine.spaces.shown(s.plan.Inner, s.plan.UID, s.plan.GID, s.plan.Inotify)
	} else {
		d.Own, err = s.confine.spaces.of(s.plan.UID, s.plan.GID, s.plan.Groups, s.plan.Inotify)
	}
	if err != nil {
		return s.confineError(fmt.Sprintf("make a user namespace for %d", s.plan.UID), err)
	}
	if err := probe().memory.holdsOwners(d.Strangers); err != nil {
		return s.confineError("show files as those of other owners", err)
	}
	if what, err := makeOwners(&s.plan, d); err != nil {
		return s.confineError(what, err)
	}
	return nil
}

// makeOwners creates the user namespaces that map the owners of mounts to the command's
// user. The caller must call closeOwners.
func makeOwners(p *helper.Plan, d *helper.Descriptors) (what string, err error) {
	for i := range p.Mounts {
		op := &p.Mounts[i]
		o, ok := op.Owner()
		if _, made := d.Owners[o]; made || !ok {
			continue
		}
		fd, err := newSpace(o.IDs(p.UID, p.GID), 0)
		if err != nil {
			return "map the owner of " + op.From, err
		}
		if d.Owners == nil {
			d.Owners = map[helper.Owner]int{}
		}
		d.Owners[o] = fd
	}
	return "", nil
}

func closeOwners(d *helper.Descriptors) {
	for _, fd := range d.Owners {
		sys.Close(fd)
	}
}

// running starts what monitors a running command.
func (s *starting) running() {
	s.child.watchMemory()
	s.watchRecords()
	s.watchTmp()
	s.forwardIn()
}

// direct starts the command's process without a helper.
func (s *starting) direct(procs []int) error {
	sock, err := s.newFilterSocket()
	if err != nil {
		return s.explain(err)
	}
	defer sock.close()
	from := s.spawner
	if s.plan.Caps {
		from, s.plan.Bounded = s.confine.unprivileged(), true
	}
	var script sys.Script
	free := sock.theirs + 1
	for _, fd := range slices.Concat(s.files, procs) {
		free = max(free, fd+1)
	}
	free = max(free, len(s.files))
	if err := s.plan.Direct(&script, s.files, procs, sock.theirs, free); err != nil {
		return s.explain(err)
	}
	birth := s.cgroup.dir
	if h := s.child.held; h.bounds.host >= 0 {
		birth = h.bounds.host
	}
	by := func() (int, int, error) { return script.Spawn(birth) }
	if !s.spawns() {
		by = func() (int, int, error) {
			f, err := script.Fork(0, birth)
			if err == nil {
				sock.receive(s)
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

// follow reads the reports of the nurse until the command runs.
func (s *starting) follow(p *helperProc, nurse *sys.Nurse) (*watch, error) {
	for {
		r, fd, err := p.read()
		switch {
		case errors.Is(err, io.EOF):
			return nil, s.confineError("helper", errors.New("it ended without a report"))
		case err != nil:
			return nil, s.confineError("helper", err)
		}
		switch r.Kind {
		case helper.ReportListener:
			err = s.listener(fd)
		case helper.ReportObserver:
			err = s.observer(fd)
		case helper.ReportProblem:
			return nil, s.explain(nurse.Failure(r.Errno, r.Exit))
		case helper.ReportStarted:
			w, err := p.identify(fd)
			if err != nil {
				return nil, s.confineError("helper", err)
			}
			_ = p.sock.SetDeadline(time.Time{})
			return w, nil
		default:
			err = fmt.Errorf("it sent an unexpected report %q", r.Kind)
		}
		if err != nil {
			return nil, s.confineError("helper", err)
		}
	}
}

// explain is like problem, for an error of this process.
func (s *starting) explain(err error) error {
	what, errno := helper.StepOf(err)
	return s.problem(what, errno)
}

// problem returns an error with the failed step, and with the reason of a failed
// execve.
func (s *starting) problem(what string, errno syscall.Errno) error {
	e := &StartError{Name: s.cmd.Name, Step: StepConfine, Path: what, Err: errno}
	if errno == syscall.ESTALE {
		e.Err = fmt.Errorf("it was replaced during the start: %w", errno)
	}
	switch what {
	case "dir":
		e.Step, e.Path = StepDir, s.plan.Dir
		if _, err := os.Stat(e.Path); err == nil && s.plan.Mounts != nil && errno == syscall.ENOENT {
			e.Err = &policy.LackError{What: "it is not granted", Line: policy.Line("read", e.Path), Err: errno}
		}
	case "exec":
		if s.cmd.Self {
			e.Step, e.Path = StepExec, sys.Program
			break
		}
		e = explain(s.cmd, errno)
		if s.cmd.Policy == nil || resolve.Access(s.r, s.cmd.Path).Has(policy.Exec) {
			break
		}
		if _, err := os.Stat(s.cmd.Path); err == nil {
			e.Step, e.Path, e.Grant = StepExec, s.cmd.Path, s.cmd.Path
			e.Err = &policy.LackError{What: "it is not granted for running", Line: policy.Line("exec", s.cmd.Path), Err: errno}
		}
	case "descriptors":
		e.Step, e.Path = StepFiles, ""
	case "": // of fork
		e.Step = StepFork
	}
	return e
}
