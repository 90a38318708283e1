package server

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/execserver/wire"
)

// Status is the state of a server.
type Status struct {
	URL      string          `json:"url"`
	Started  time.Time       `json:"started"`
	Kill     string          `json:"kill"` // how trees are ended, of sandbox.Kill
	Sessions []SessionStatus `json:"sessions"`
	Metrics  Metrics         `json:"metrics"`
}

// SessionStatus is one session.
type SessionStatus struct {
	ID        string          `json:"id"`
	Client    string          `json:"client"` // what it calls itself
	Since     time.Time       `json:"since"`
	Peer      *string         `json:"peer"`         // address of its connection's other end; null without one, and where it has no address
	Detached  *time.Time      `json:"detached"`     // since when it has no connection
	Keep      float64         `json:"keep_seconds"` // how long it lives without one
	Processes []ProcessStatus `json:"processes"`
	Left      []LeftStatus    `json:"left"` // what processes that are closed have left behind, such as daemons
}

// LeftStatus is what one closed process has left behind. It ends with the session.
type LeftStatus struct {
	Command []string `json:"command"` // of the process that has ended
	PIDs    []int    `json:"pids"`
}

// ProcessStatus is one process of a session, the oldest first.
type ProcessStatus struct {
	ID            string       `json:"id"`  // the client's name for it
	PID           *int         `json:"pid"` // null before it runs and after its end
	Command       []string     `json:"command"`
	Dir           wire.URI     `json:"dir"`
	TTY           bool         `json:"tty"`
	Since         time.Time    `json:"since"`
	State         ProcessState `json:"state"`
	ExitCode      *int32       `json:"exit_code"` // null before its end
	RetainedBytes int          `json:"retained_bytes"`
	DroppedBytes  uint64       `json:"dropped_bytes"` // of its output, no longer retained
	Paused        bool         `json:"paused"`        // it has no connection, and waits for room for its output
}

// ProcessState is how far a process has come.
type ProcessState string

// The states of a process, in their order.
const (
	ProcessStarting ProcessState = "starting"
	ProcessRunning  ProcessState = "running"
	ProcessExited   ProcessState = "exited" // something it has left behind has its output open
	ProcessClosed   ProcessState = "closed" // can only be read any more
)

// Metrics are sums since the start, but for those named otherwise.
type Metrics struct {
	Connections   uint64 `json:"connections"`
	Open          int    `json:"open"` // connections now
	Sessions      uint64 `json:"sessions"`
	OpenSessions  int    `json:"open_sessions"` // now, also those without a connection
	Takeovers     uint64 `json:"takeovers"`
	Requests      uint64 `json:"requests"`
	Messages      uint64 `json:"messages"` // that came in
	BytesIn       uint64 `json:"bytes_in"` // of them
	BytesOut      uint64 `json:"bytes_out"`
	Starts        uint64 `json:"starts"`
	StartFailures uint64 `json:"start_failures"`
	Processes     int64  `json:"processes"`    // not closed, now
	OutputBytes   uint64 `json:"output_bytes"` // that processes have put out
	LostBytes     uint64 `json:"lost_bytes"`   // of them, given up before their session's connection had been sent them
}

// Ended returns what remains of m when its server has ended: the sums, without the
// current numbers.
func (m Metrics) Ended() Metrics {
	m.Open, m.OpenSessions, m.Processes = 0, 0, 0
	return m
}

// Add returns the sums of m and o.
func (m Metrics) Add(o Metrics) Metrics {
	return Metrics{
		Connections: m.Connections + o.Connections, Open: m.Open + o.Open, Sessions: m.Sessions + o.Sessions,
		OpenSessions: m.OpenSessions + o.OpenSessions, Takeovers: m.Takeovers + o.Takeovers, Requests: m.Requests + o.Requests,
		Messages: m.Messages + o.Messages, BytesIn: m.BytesIn + o.BytesIn, BytesOut: m.BytesOut + o.BytesOut,
		Starts: m.Starts + o.Starts, StartFailures: m.StartFailures + o.StartFailures, Processes: m.Processes + o.Processes,
		OutputBytes: m.OutputBytes + o.OutputBytes, LostBytes: m.LostBytes + o.LostBytes,
	}
}

// Status returns a copy of the server's state.
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

// Metrics returns the server's sums.
func (s *Server) Metrics() Metrics {
	s.mu.Lock()
	open, sessions := len(s.conns), len(s.sessions)
	s.mu.Unlock()
	c := &s.count
	return Metrics{
		Connections: c.connections.Load(), Open: open, Sessions: c.sessions.Load(), OpenSessions: sessions, Takeovers: c.takeovers.Load(), Requests: c.requests.Load(),
		Messages: c.messagesIn.Load(), BytesIn: c.bytesIn.Load(), BytesOut: c.bytesOut.Load(), Starts: c.starts.Load(), StartFailures: c.failed.Load(),
		Processes: c.processes.Load(), OutputBytes: c.output.Load(), LostBytes: c.lost.Load(),
	}
}

func (s *session) status() SessionStatus {
	s.mu.Lock()
	st := SessionStatus{ID: s.id, Client: s.client, Since: s.since, Keep: s.keep.Seconds(), Processes: []ProcessStatus{}, Left: []LeftStatus{}}
	if s.conn != nil {
		if peer := s.conn.peer; peer != "" {
			st.Peer = &peer
		}
	} else {
		since := s.detached
		st.Detached = &since
	}
	procs := slices.Collect(maps.Values(s.procs))
	for _, l := range s.left {
		pids, err := l.child.Pids()
		pids = slices.DeleteFunc(pids, func(pid int) bool { return pid == l.child.Pid() })
		if err == nil && len(pids) > 0 {
			st.Left = append(st.Left, LeftStatus{Command: l.argv, PIDs: pids})
		}
	}
	s.mu.Unlock()
	for _, p := range procs {
		st.Processes = append(st.Processes, p.status())
	}
	slices.SortFunc(st.Processes, func(a, b ProcessStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.ID, b.ID))
	})
	return st
}

func (p *process) status() ProcessStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	st := ProcessStatus{ID: p.id, Command: p.params.argv, Dir: p.params.cwd, TTY: p.params.tty, Since: p.since,
		State: ProcessStarting, RetainedBytes: p.kept.bytes, DroppedBytes: p.kept.lostBytes, Paused: p.pausing > 0 && p.owner == nil}
	if p.child != nil {
		pid := p.child.Pid()
		st.PID, st.State = &pid, ProcessRunning
	}
	if p.exited {
		code := p.code
		st.PID, st.State, st.ExitCode = nil, ProcessExited, &code
	}
	if p.closed {
		st.State = ProcessClosed
	}
	return st
}
