package control

import (
	"context"
	"slices"

	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// status responds with everything, or with the hosts, groups and exec servers named
// host=….
func (s *Server) status(_ context.Context, in statusInput) (st supervisor.Status, err error) {
	st = s.sup.Status()
	if s.ended() {
		return st, closed()
	}
	if s.opt.Configuration != nil {
		st.Supervisor.Configuration = s.opt.Configuration.Status()
	}
	if len(in.Names) > 0 {
		if st, err = s.only(st, in.Names); err != nil {
			return st, err
		}
	}
	return tidy(st), nil
}

// statusInput is the input of a request for the status.
type statusInput struct {
	Names []string `query:"host" doc:"only these hosts (or all instances of one), groups and exec servers; may be repeated"`
}

// only reduces a status to some hosts and the hosts of some groups, with their
// groups, and to some exec servers.
func (s *Server) only(st supervisor.Status, names []string) (supervisor.Status, error) {
	for _, name := range names {
		_, instances := s.sup.Instances(name)
		names = append(names, instances...)
		if len(instances) == 0 && !slices.ContainsFunc(st.Hosts, func(h record.HostStatus) bool { return h.Name == name || h.Group == name }) &&
			!slices.ContainsFunc(st.Parts, func(p supervisor.PartStatus) bool { return p.Name == name }) {
			return st, s.noName(st, name)
		}
	}
	out := supervisor.Status{Supervisor: st.Supervisor}
	groups := map[string]bool{}
	for _, h := range st.Hosts {
		if slices.Contains(names, h.Name) || slices.Contains(names, h.Group) {
			out.Hosts = append(out.Hosts, h)
			groups[h.Group] = true
		}
	}
	for _, p := range st.Parts {
		if slices.Contains(names, p.Name) {
			out.Parts = append(out.Parts, p)
		}
	}
	for _, g := range st.Groups {
		if groups[g.Name] {
			out.Groups = append(out.Groups, g)
		}
	}
	return out, nil
}

// noName returns an error: a name belongs to no host, group or exec server. It lists
// the existing names.
func (s *Server) noName(st supervisor.Status, name string) *Error {
	e := s.noHost(name)
	if e.Class != NoSuchHost {
		return e
	}
	for _, g := range st.Groups {
		if !slices.Contains(e.Hosts, g.Name) {
			e.Hosts = append(e.Hosts, g.Name)
		}
	}
	for _, p := range st.Parts {
		e.Hosts = append(e.Hosts, p.Name)
	}
	return e
}

// tidy makes empty lists non-nil: scripts rely on [] for an empty list, while null
// means unknown.
func tidy(st supervisor.Status) supervisor.Status {
	st.Supervisor.Missing = list(st.Supervisor.Missing)
	st.Groups = slices.Clone(list(st.Groups))
	for i := range st.Groups {
		st.Groups[i].Hosts = list(st.Groups[i].Hosts)
	}
	st.Hosts = slices.Clone(list(st.Hosts))
	for i := range st.Hosts {
		st.Hosts[i] = tidyHost(st.Hosts[i])
	}
	st.Parts = list(st.Parts)
	return st
}

func tidyHost(h record.HostStatus) record.HostStatus {
	h.Sandbox.Missing = list(h.Sandbox.Missing)
	h.DependsOn = list(h.DependsOn)
	h.Throttle = list(h.Throttle)
	return h
}

func tidyCrash(c record.CrashReport) record.CrashReport {
	c.Command, c.Lines, c.Messages = list(c.Command), list(c.Lines), list(c.Messages)
	return c
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
