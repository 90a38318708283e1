package supervisor

import (
	"context"
	"os"
	"time"

	"github.com/hostsup/hostsup/actors"
)

// GroupStatus and HostStatus are parts of Status; see package actors.
type (
	GroupStatus = actors.GroupStatus
	HostStatus  = actors.HostStatus
)

// Status is the whole tree as `status --json` shows it.
type Status struct {
	Supervisor Info                 `json:"supervisor"`
	Groups     []actors.GroupStatus `json:"groups"`
	Hosts      []actors.HostStatus  `json:"hosts"`
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
}

// Status returns what there is to say of the tree now.
func (s *Supervisor) Status() Status {
	out := Status{
		Supervisor: Info{
			PID: os.Getpid(), Version: s.world.Version, Started: s.started,
			Kill: string(s.launcher.Kill()), Missing: s.launcher.Missing(),
		},
		Groups: []actors.GroupStatus{}, Hosts: []actors.HostStatus{}, Parts: []PartStatus{},
	}
	for _, p := range s.parts {
		if p.Status != nil {
			out.Parts = append(out.Parts, p.Status())
		}
	}
	if out.Supervisor.Missing == nil {
		out.Supervisor.Missing = []string{}
	}
	if s.spec.Config != "" {
		out.Supervisor.Config = &s.spec.Config
	}
	if s.spec.Socket != "" {
		out.Supervisor.Socket = &s.spec.Socket
	}
	groups := make(chan []actors.GroupStatus, 1)
	err := s.ask(context.Background(), func(done func(error)) any {
		return actors.AskGroups(func(g []actors.GroupStatus) {
			groups <- g
			done(nil)
		})
	})
	if err == nil {
		out.Groups = <-groups
	}
	for _, h := range s.Hosts() {
		out.Hosts = append(out.Hosts, h.Status())
	}
	return out
}
