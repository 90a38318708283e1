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
	pick, err := s.pick(in.Names)
	if err != nil {
		return st, err
	}
	st = s.sup.StatusOf(pick)
	if s.ended() {
		return st, closed()
	}
	if s.opt.Configuration != nil {
		st.Supervisor.Configuration = s.opt.Configuration.Status()
	}
	st.Supervisor.Serves = s.opt.Serves
	if len(in.Names) > 0 {
		st.Groups = slices.DeleteFunc(slices.Clone(st.Groups), func(g record.GroupStatus) bool {
			return !slices.ContainsFunc(st.Hosts, func(h record.HostStatus) bool { return h.Group == g.Name })
		})
		st.Parts = slices.DeleteFunc(slices.Clone(st.Parts), func(p supervisor.PartStatus) bool { return !slices.Contains(in.Names, p.Name) })
	}
	return tidy(st), nil
}

// statusInput is the input of a request for the status.
type statusInput struct {
	Names []string `query:"host" doc:"only these hosts (or all instances of one), groups and exec servers; may be repeated"`
}

// pick returns a function that picks the named hosts, those of the named groups, and
// instances; without names it picks all. The error is about a name that belongs to no
// host, group or exec server.
func (s *Server) pick(names []string) (func(host, group string) bool, error) {
	if len(names) == 0 {
		return func(string, string) bool { return true }, nil
	}
	picked, unknown := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		picked[name] = true
		_, instances := s.sup.Instances(name)
		for _, i := range instances {
			picked[i] = true
		}
		unknown[name] = instances == nil
	}
	for host, group := range s.sup.Names() {
		unknown[host], unknown[group] = false, false
	}
	for _, name := range names {
		if unknown[name] && !slices.Contains(s.parts(), name) {
			return nil, s.noName(name)
		}
	}
	return func(host, group string) bool { return picked[host] || picked[group] }, nil
}

// parts returns the names of exec servers.
func (s *Server) parts() (names []string) {
	for _, p := range s.sup.StatusOf(func(string, string) bool { return false }).Parts {
		names = append(names, p.Name)
	}
	return names
}

// noName returns an error: a name belongs to no host, group or exec server. It lists
// the existing names.
func (s *Server) noName(name string) *Error {
	e := s.noHost(name)
	if e.Class != NoSuchHost {
		return e
	}
	for _, group := range s.sup.Names() {
		if !slices.Contains(e.Hosts, group) {
			e.Hosts = append(e.Hosts, group)
		}
	}
	e.Hosts = append(e.Hosts, s.parts()...)
	return e
}

// tidy makes empty lists non-nil: scripts rely on [] for an empty list, while null
// means unknown.
func tidy(st supervisor.Status) supervisor.Status {
	st.Supervisor.Missing = list(st.Supervisor.Missing)
	st.Supervisor.Serves = list(st.Supervisor.Serves)
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
