//go:build !hostsup_posix

package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/hostsup/hostsup/internal/helper"
	"github.com/hostsup/hostsup/internal/sys"
	"github.com/hostsup/hostsup/sandbox/policy"
)

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
