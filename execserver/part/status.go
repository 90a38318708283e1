package part

import (
	"encoding/json"
	"time"

	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// Status is one exec server as `status --json` shows it.
type Status struct {
	Name           string                 `json:"name"`
	URL            string                 `json:"url"`
	State          lifecycle.State        `json:"state"` // starting, running, restarting, stopping, stopped
	Reason         *string                `json:"reason"`
	Since          time.Time              `json:"since"`
	Restarts       uint64                 `json:"restarts"`
	RetryInSeconds *float64               `json:"retry_in_seconds"` // restarting: until it is tried again
	Sessions       []server.SessionStatus `json:"sessions"`
	Metrics        server.Metrics         `json:"metrics"` // over all its restarts
}

// Part returns the status as a part of the supervisor's. Lists that are empty read
// as [] in its JSON.
func (s Status) Part() supervisor.PartStatus {
	s.Sessions = append([]server.SessionStatus{}, s.Sessions...)
	for i := range s.Sessions {
		if s.Sessions[i].Processes == nil {
			s.Sessions[i].Processes = []server.ProcessStatus{}
		}
		if s.Sessions[i].Left == nil {
			s.Sessions[i].Left = []server.LeftStatus{}
		}
	}
	return supervisor.PartStatus{Kind: Kind, Name: s.Name, Detail: s}
}

// Statuses returns the exec servers of a supervisor's status, which may have come as
// JSON.
func Statuses(st *supervisor.Status) ([]Status, error) {
	out := make([]Status, 0, len(st.Parts))
	for _, p := range st.Parts {
		switch d := p.Detail.(type) {
		case Status:
			out = append(out, d)
		case json.RawMessage:
			var s Status
			if err := json.Unmarshal(d, &s); err != nil {
				return nil, err
			}
			out = append(out, s)
		}
	}
	return out, nil
}
