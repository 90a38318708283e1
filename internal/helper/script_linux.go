//go:build !hostsup_posix

package helper

import (
	"os"

	"github.com/hostsup/hostsup/internal/sys"
)

// rules writes the steps that make the plan's Landlock ruleset as the descriptor
// with the number to. It returns false if it writes no ruleset. null (-1: none) is a
// descriptor of the /dev/null that the command may have been given, which may differ
// from the one that the command sees.
func (p *Plan) rules(s *sys.Script, to, null int) (bool, error) {
	if p.Landlock == 0 {
		return false, nil
	}
	s.Step("landlock")
	ruleset := s.Ruleset(p.Landlock, p.LandlockNet)
	for _, r := range p.Rules {
		s.Step("allow " + r.Path)
		if err := s.AllowPath(ruleset, p.Landlock, r.Path, r.ID, r.Rights); err != nil {
			return false, Failed("allow "+r.Path, err)
		}
	}
	if null >= 0 {
		s.Step("allow /dev/null")
		s.AllowOpen(ruleset, p.Landlock, null, sys.LandlockReadFile|sys.LandlockWrite|sys.LandlockIoctl|sys.LandlockTruncate)
	}
	if p.Self {
		s.Step("allow this program")
		if err := s.AllowProgram(ruleset); err != nil {
			return false, Failed("allow this program", err)
		}
	}
	s.Step("landlock")
	s.Move(ruleset, to)
	return true, nil
}

// Direct writes the script of the command's process if there is no other process. The
// script makes the descriptor with the number free.
func (p *Plan) Direct(s *sys.Script, fds, groups []int, sock, free int) error {
	has, err := p.rules(s, free, -1)
	if err != nil {
		return err
	}
	if !has {
		free = -1
	}
	return p.Write(s, fds, groups, free, sock, s.This())
}

// Write makes the script of the command's process, in an order in which no step
// takes away what a later one needs. fds are the command's descriptors, groups open
// cgroup.procs files; an observer is sent to sock. The numbers of ruleset and sock
// must be above the command's. The process ends with parent, unless parent names no
// process.
func (p *Plan) Write(s *sys.Script, fds, groups []int, ruleset, sock int, parent sys.Number) error {
	s.Step("cgroup")
	for _, fd := range groups {
		s.Write(fd, "0")
	}
	if p.Unshare&sys.NewCgroup != 0 {
		s.Step("cgroup namespace") // of the cgroups just entered: their names say whose they are
		s.Unshare(sys.NewCgroup)
	}
	s.Step("session")
	s.Session()
	if p.Caps && !p.Bounded {
		s.Step("capabilities")
		if err := s.NoBounding(p.Mode != PlanInit && os.Geteuid() != 0); err != nil {
			return Failed("capabilities", err)
		}
	}
	if p.UID >= 0 {
		s.Step("user")
		s.Groups(p.Groups...)
		if p.Inner.Shown {
			s.IDs(p.Inner.UID, p.Inner.GID)
		} else {
			s.IDs(p.UID, p.GID)
		}
	}
	if !parent.None() {
		s.Step("parent")
		s.ParentDeath() // a change of user takes it away
		s.ParentIs(parent)
	}
	s.Step("descriptors")
	s.Descriptors(fds, ruleset, sock)
	if p.Terminal {
		s.Step("terminal")
		s.Terminal(0)
	}
	if p.Dir != "" {
		s.Step("dir")
		if err := s.Chdir(p.Dir); err != nil {
			return Failed("dir", err)
		}
	}
	if p.NoNewPrivs {
		s.Step("no new privileges")
		s.NoNewPrivileges()
	}
	if p.NoJIT {
		s.Step("memory protection")
		s.NoWrittenCode()
	}
	if ruleset >= 0 {
		s.Step("landlock")
		flags := uint32(0)
		if p.Audit {
			flags = sys.LandlockAudited(p.Landlock)
		}
		s.Restrict(ruleset, flags)
	}
	if p.Caps {
		s.Step("capabilities")
		s.NoCapabilities()
	}
	s.Step("limits") // before the filter, which forbids changing the limit of core dumps
	for _, l := range p.Limits {
		s.Limit(l.Resource, l.Value)
	}
	s.Step("system call filter")
	if len(p.Observer) > 0 {
		s.Observe(sys.DecodeFilter(p.Observer), sock, Report{Kind: ReportObserver}.Encode())
	}
	s.Filter(sys.DecodeFilter(p.Filter))
	return Failed("exec", s.Exec(p.Path, p.Args, p.Env))
}
