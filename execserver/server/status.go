package server

import (
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Status is what a server does at the moment.
type Status struct {
	URL      string          `json:"url"`
	Started  time.Time       `json:"started"`
	Kill     string          `json:"kill"` // how trees are ended, of sandbox.Kill
	Sessions []SessionStatus `json:"sessions"`
	Metrics  Metrics         `json:"metrics"`
}

// SessionStatus is one session.
type SessionStatus struct {
	ID        string             `json:"id"`
	Client    string             `json:"client"`
	Since     time.Time          `json:"since"`
	Peer      string             `json:"peer"`     // of its connection; "" without one
	Detached  *time.Time         `json:"detached"` // since when it has none
	Processes []wire.ProcessInfo `json:"processes"`
}

// Metrics are sums since the start, but for those named otherwise.
type Metrics struct {
	Connections   uint64 `json:"connections"`
	Open          int    `json:"open"` // connections now
	Takeovers     uint64 `json:"takeovers"`
	Requests      uint64 `json:"requests"`
	Messages      uint64 `json:"messages"` // that came in
	BytesOut      uint64 `json:"bytes_out"`
	Starts        uint64 `json:"starts"`
	StartFailures uint64 `json:"start_failures"`
	Processes     int64  `json:"processes"` // not closed, now
}

// Status is a copy of the server's state.
func (s *Server) Status() Status {
	st := Status{URL: s.url, Started: s.started, Sessions: []SessionStatus{}, Metrics: s.Metrics()}
	if l, err := s.launch(); err == nil {
		st.Kill = string(l.Kill())
	}
	for _, se := range s.all() {
		st.Sessions = append(st.Sessions, se.status())
	}
	slices.SortFunc(st.Sessions, func(a, b SessionStatus) int { return a.Since.Compare(b.Since) })
	return st
}

// Metrics are the server's sums.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	c := &s.count
	return Metrics{
		Connections: c.connections.Load(), Open: open, Takeovers: c.takeovers.Load(), Requests: c.requests.Load(),
		Messages: c.messagesIn.Load(), BytesOut: c.bytesOut.Load(), Starts: c.starts.Load(), StartFailures: c.failed.Load(),
		Processes: c.processes.Load(),
	}
}

func (s *session) status() SessionStatus {
	s.mu.Lock()
	st := SessionStatus{ID: s.id, Client: s.client, Since: s.since, Processes: []wire.ProcessInfo{}}
	if s.conn != nil {
		st.Peer = s.conn.peer
	} else {
		since := s.detached
		st.Detached = &since
	}
	procs := make([]*process, 0, len(s.procs))
	for _, p := range s.procs {
		procs = append(procs, p)
	}
	s.mu.Unlock()
	for _, p := range procs {
		i := p.info()
		i.AttachToken = "" // it is a secret
		st.Processes = append(st.Processes, i)
	}
	slices.SortFunc(st.Processes, func(a, b wire.ProcessInfo) int {
		if a.StartedAtMs != b.StartedAtMs {
			return int(a.StartedAtMs - b.StartedAtMs)
		}
		return strings.Compare(a.ProcessID, b.ProcessID)
	})
	return st
}
