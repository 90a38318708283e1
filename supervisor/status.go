package supervisor

import (
	"context"
	"os"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// GroupStatus and HostStatus are parts of Status; see package actors.
type (
	GroupStatus = record.GroupStatus
	HostStatus  = record.HostStatus
)

// Status is the whole tree as `status --json` shows it.
type Status struct {
	Supervisor Info                 `json:"supervisor"`
	Groups     []record.GroupStatus `json:"groups"`
	Hosts      []record.HostStatus  `json:"hosts"`
	// Parts are those that have a status, in the order of the spec. Scripts know
	// them as exec_servers, which are the parts of the binary that do.
	Parts []PartStatus `json:"exec_servers"`
}

// Info is the supervisor's own part of the status.
type Info struct {
	PID     int       `json:"pid"`
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Config  *string   `json:"config"`
	Socket  *string   `json:"socket"`
	Kill    string    `json:"kill"`    // how process trees are ended: cgroup, pidns, keeper, group
	Missing []string  `json:"missing"` // why stronger ways are not in force
	// Configuration is nil in a program that does not load a file again.
	Configuration *ConfigStatus `json:"configuration"`
	// Serves has the addresses at which hosts are served over HTTP, which the program that
	// serves them fills in.
	Serves []ServeStatus `json:"serves"`
}

// ServeStatus is an address at which hosts are served over HTTP.
type ServeStatus struct {
	Name  string   `json:"name"`
	URL   string   `json:"url"` // of one host; HOST in it stands for the name of each
	Hosts []string `json:"hosts"`
	// TokenFile is the file with the token that the supervisor made; nil: it has others, or
	// needs none.
	TokenFile *string `json:"token_file"`
}

// ConfigStatus is what the status of the tree shows of the loading of its file, which
// whoever loads it fills in.
type ConfigStatus struct {
	Loaded  time.Time      `json:"loaded"`  // when that in force was read
	Refused *ConfigRefusal `json:"refused"` // nil: the last one that was read is in force
	Added   []string       `json:"added"`   // hosts that were added without the file
}

// ConfigRefusal says why the last configuration that was read is not in force.
type ConfigRefusal struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // what is wrong with the file, the first of it
}

// Parts returns the status of each part that has one, in the order of the spec.
func (s *Supervisor) Parts() (list []PartStatus) {
	for _, p := range s.parts {
		if p.Status != nil {
			list = append(list, p.Status())
		}
	}
	return list
}

// Status returns the state of the tree and of all its hosts.
func (s *Supervisor) Status() Status {
	return s.StatusOf(func(string, string) bool { return true })
}

// StatusOf returns Status with only those hosts for which pick returns true. It reads
// nothing of the others.
func (s *Supervisor) StatusOf(pick func(host, group string) bool) Status {
	out := Status{
		Supervisor: Info{
			PID: os.Getpid(), Version: s.world.Version, Started: s.started,
			Kill: string(s.launcher.Kill()), Missing: s.launcher.Missing(),
		},
		Groups: []record.GroupStatus{}, Hosts: []record.HostStatus{}, Parts: []PartStatus{},
	}
	out.Parts = append(out.Parts, s.Parts()...)
	if out.Supervisor.Missing == nil {
		out.Supervisor.Missing = []string{}
	}
	if s.spec.Config != "" {
		out.Supervisor.Config = &s.spec.Config
	}
	if s.spec.Socket != "" {
		out.Supervisor.Socket = &s.spec.Socket
	}
	groups := make(chan []record.GroupStatus, 1)
	err := s.ask(context.Background(), func(done func(error)) any {
		return actors.AskGroups(func(g []record.GroupStatus) {
			groups <- g
			done(nil)
		})
	})
	if err == nil {
		out.Groups = <-groups
	}
	for _, h := range s.Hosts() {
		if pick(h.Name(), h.Group()) {
			out.Hosts = append(out.Hosts, h.Status())
		}
	}
	return out
}
