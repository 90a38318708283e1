package mcphttp

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/codec"
)

// Host is a host as it is at the moment.
type Host struct {
	Protocol codec.Protocol
	Limits   codec.Limits
}

// Options configures a Server.
type Options struct {
	Hosts  []string     // the hosts that are served, at /HOST/mcp; one alone also at /mcp
	Logger hclog.Logger // nil: none

	// Find returns a host by its name. The error is for the caller.
	Find func(name string) (Host, error)
	// Attach makes rw a program that is attached to a host, as supervisor.Supervisor.Attach does.
	Attach func(ctx context.Context, host string, rw io.ReadWriteCloser) error
	// Caller returns who makes a request. A session is used by the caller alone that began
	// it. nil: all are one caller.
	Caller func(*http.Request) string
	// Stream is called before a response that may last for days is begun. May be nil.
	Stream func(http.ResponseWriter)

	MaxBody     int64         // bytes of a request's body; default 4 MiB
	MaxSessions int           // at once; default 64. When there are as many, the one that is not in use for longest ends for a new one.
	Idle        time.Duration // after which a session that is not used ends; default 30 min
}

// WithDefaults returns o with zero fields replaced by the defaults.
func (o Options) WithDefaults() Options {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Caller == nil {
		o.Caller = func(*http.Request) string { return "" }
	}
	if o.Stream == nil {
		o.Stream = func(http.ResponseWriter) {}
	}
	o.MaxBody = cmp.Or(o.MaxBody, 4<<20)
	o.MaxSessions = cmp.Or(o.MaxSessions, 64)
	o.Idle = cmp.Or(o.Idle, 30*time.Minute)
	return o
}

// Server serves MCP. It is an [http.Handler], which may be called until Close.
type Server struct {
	opt      Options
	attached sync.WaitGroup

	mu       sync.Mutex
	closed   error // why no session is begun
	sessions map[string]*session
	all      map[*session]bool // also those of one request
}

// New returns a server. Find and Attach of the options must be set.
func New(opt Options) *Server {
	return &Server{opt: opt.WithDefaults(), sessions: map[string]*session{}, all: map[*session]bool{}}
}

// Close ends all sessions with a reason, which the requests that are open are answered with.
// It returns when all programs that they stand for have been detached.
func (s *Server) Close(reason error) {
	s.mu.Lock()
	s.closed = reason
	var all []*session
	for o := range s.all {
		all = append(all, o)
	}
	s.mu.Unlock()
	for _, o := range all {
		o.end(reason)
	}
	s.attached.Wait()
}

// Headers of MCP.
const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerLast    = "Last-Event-Id"
)

// Headers returns the headers of requests that pages of other sites may send, and those of
// responses that they may read.
func Headers() (sent, read []string) {
	return []string{headerSession, headerVersion, headerMethod, headerName, headerLast}, []string{headerSession}
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := s.serve(w, r)
	if err == nil {
		return
	}
	fault := &protocolError{http.StatusInternalServerError, codeInternal, err.Error()}
	errors.As(err, &fault)
	s.opt.Logger.Debug("a request is refused", "method", r.Method, "path", r.URL.Path, "status", fault.status, "reason", err)
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(fault.status)
	_, _ = w.Write(failure("", fault.code, fault.text)) // the caller may be gone
}

// path returns the host that a path is of.
func (s *Server) path(path string) (string, error) {
	if path == "/mcp" && len(s.opt.Hosts) == 1 {
		return s.opt.Hosts[0], nil
	}
	if name, ok := strings.CutSuffix(strings.TrimPrefix(path, "/"), "/mcp"); ok && slices.Contains(s.opt.Hosts, name) {
		return name, nil
	}
	return "", wrong(http.StatusNotFound, codeInvalidRequest, "there is no server here: servers are at /%s/mcp", strings.Join(s.opt.Hosts, "/mcp, /"))
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	host, err := s.path(r.URL.Path)
	if err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	switch r.Method {
	case http.MethodPost:
		return s.post(w, r, host)
	case http.MethodGet:
		return s.get(w, r, host)
	case http.MethodDelete:
		return s.delete(w, r, host)
	}
	w.Header().Set("Allow", "POST, GET, DELETE")
	return wrong(http.StatusMethodNotAllowed, codeInvalidRequest, "%s is not used by MCP, only POST, GET and DELETE", cut(r.Method))
}

// cut bounds what a message repeats of a request.
func cut(text string) string {
	if len(text) > 100 {
		return text[:100] + "…"
	}
	return text
}

// begin begins a session, or with one what stands for one request alone.
func (s *Server) begin(host, caller string, one bool) (*session, error) {
	id := ""
	if !one {
		id = rand.Text()
	}
	o := newSession(id, host, caller, s.ended)
	o.users = 1
	s.mu.Lock()
	if s.closed != nil {
		s.mu.Unlock()
		return nil, wrong(http.StatusServiceUnavailable, codeInternal, "%v", s.closed)
	}
	var oldest *session
	if !one && len(s.sessions) >= s.opt.MaxSessions {
		if oldest = s.unused(); oldest == nil {
			s.mu.Unlock()
			return nil, wrong(http.StatusServiceUnavailable, codeInternal, "there are %d sessions in use, the limit", s.opt.MaxSessions)
		}
		delete(s.sessions, oldest.id)
	}
	if !one {
		s.sessions[id] = o
	}
	s.all[o] = true
	s.attached.Add(1)
	s.mu.Unlock()
	if oldest != nil {
		oldest.end(errors.New("the session was not in use, and others began"))
	}
	go func() { // ends with the session
		defer s.attached.Done()
		err := s.opt.Attach(o.ctx, host, o)
		if err == nil {
			err = fmt.Errorf("host %q has ended the session", host)
		}
		o.end(err)
	}()
	return o, nil
}

// unused returns the session that is not in use for longest, nil if all are. Under the lock.
func (s *Server) unused() (out *session) {
	var since time.Time
	for _, o := range s.sessions {
		o.mu.Lock()
		used, idle := o.used, o.users == 0
		o.mu.Unlock()
		if idle && (out == nil || used.Before(since)) {
			out, since = o, used
		}
	}
	return out
}

// ended forgets a session.
func (s *Server) ended(o *session, reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[o.id] == o {
		delete(s.sessions, o.id)
	}
	delete(s.all, o)
	if o.id != "" {
		s.opt.Logger.Info("a session has ended", "host", o.host, "reason", reason)
	}
}

// session returns the session that a request names, and counts the request as one that uses
// it. release must be called when it has been served.
func (s *Server) session(r *http.Request, host string) (o *session, release func(), err error) {
	id := r.Header.Get(headerSession)
	if id == "" {
		return nil, nil, wrong(http.StatusBadRequest, codeInvalidRequest, "the header %s is missing: a session begins with the request initialize", headerSession)
	}
	s.mu.Lock()
	o = s.sessions[id]
	s.mu.Unlock()
	// A caller must not learn which sessions of others exist.
	if o == nil || o.host != host || o.caller != s.opt.Caller(r) || !o.use() {
		return nil, nil, wrong(http.StatusNotFound, codeNoSession, "there is no such session, or it has ended: begin another one with the request initialize")
	}
	release = func() { o.unuse(s.opt.Idle) }
	if err := o.checkVersion(r.Header.Get(headerVersion)); err != nil {
		release()
		return nil, nil, err
	}
	return o, release, nil
}

// versions are the revisions with sessions. A host may speak a later one.
var versions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}

// checkVersion returns an error for a revision that the session does not speak.
func (o *session) checkVersion(version string) error {
	if version == "" || slices.Contains(versions, version) {
		return nil // without it, it is the first that had this transport
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if version == o.version {
		return nil
	}
	return wrong(http.StatusBadRequest, codeInvalidRequest, "%s: %q is not a revision of this session, which speaks %s", headerVersion, cut(version), cmp.Or(o.version, "none yet"))
}
