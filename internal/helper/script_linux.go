//go:build !hostsup_posix

package helper

import "github.com/hostsup/hostsup/internal/sys"

// Ruleset makes the plan's Landlock ruleset; -1 when it has none.
func (p *Plan) Ruleset() (int, error) {
	if p.Landlock == 0 {
		return -1, nil
	}
	fd, err := sys.NewLandlock(p.Landlock, p.LandlockNet)
	if err != nil {
		return -1, Failed("landlock", err)
	}
	for _, r := range p.Rules {
		if err := sys.AllowPath(fd, p.Landlock, r.Path, r.Rights); err != nil {
			sys.Close(fd)
			return -1, Failed("allow "+r.Path, err)
		}
	}
	return fd, nil
}

// Write makes the script of the command's process, in the order in which one
// step does not take away what the next one needs. fds are the command's
// descriptors, groups open cgroup.procs files; an observer goes to sock. The
// numbers of ruleset and sock are above the command's.
func (p *Plan) Write(s *sys.Script, fds, groups []int, ruleset, sock int) error {
	s.Step("cgroup")
	for _, fd := range groups {
		s.Write(fd, "0")
	}
	s.Step("session")
	s.Session()
	if p.Caps && !p.Bounded {
		s.Step("capabilities")
		s.NoBounding()
	}
	if p.UID >= 0 {
		s.Step("user")
		s.Groups()
		s.IDs(p.UID, p.GID)
	}
	if p.Mode == PlanSelf {
		s.Step("parent")
		s.ParentDeath() // a change of user takes it away
	}
	s.Step("descriptors")
	s.Descriptors(fds, ruleset, sock)
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
		s.Landlock(ruleset, flags)
	}
	if p.Caps {
		s.Step("capabilities")
		s.NoCapabilities()
	}
	s.Step("system call filter")
	if len(p.Observer) > 0 {
		s.Observe(sys.DecodeFilter(p.Observer), sock, Report{Kind: ReportObserver}.Encode())
	}
	s.Filter(sys.DecodeFilter(p.Filter))
	s.Step("limits")
	for _, l := range p.Limits {
		s.Limit(l.Resource, l.Value)
	}
	return Failed("exec", s.Exec(p.Path, p.Args, p.Env))
}
