package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/hostsup/hostsup/supervisor"
)

// handler responds to a request, or returns an error before it has written anything.
type handler func(w http.ResponseWriter, r *http.Request) error

// hostHandler is a handler for one host.
type hostHandler func(w http.ResponseWriter, r *http.Request, h Host) error

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, h handler) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	host := func(pattern string, h hostHandler) {
		handle(pattern, func(w http.ResponseWriter, r *http.Request) error {
			found, err := s.host(r.PathValue("host"))
			if err != nil {
				return err
			}
			return h(w, r, found)
		})
	}

	handle("GET "+prefix+"/status", s.status)
	handle("GET "+prefix+"/events", s.events)
	handle("GET "+prefix+"/crashes", s.crashes)
	handle("GET "+prefix+"/crashes/{id}", s.crash)
	handle("GET "+prefix+"/extensions", s.extensions)
	handle("POST "+prefix+"/extensions/rescan", s.rescan)
	handle("POST "+prefix+"/extensions/{id}/{verb}", s.setExtension)
	handle("POST "+prefix+"/activate", s.activate)

	host("POST "+prefix+"/hosts/{host}/call", s.call)
	host("POST "+prefix+"/hosts/{host}/notify", s.notify)
	host("POST "+prefix+"/hosts/{host}/start", verb(Host.Start))
	host("POST "+prefix+"/hosts/{host}/stop", verb(Host.Stop))
	host("POST "+prefix+"/hosts/{host}/restart", verb(Host.Restart))
	host("POST "+prefix+"/hosts/{host}/reset", verb(Host.Reset))
	host("POST "+prefix+"/hosts/{host}/wait", s.wait)
	host("GET "+prefix+"/hosts/{host}/logs", s.logs)
	host("GET "+prefix+"/hosts/{host}/messages", s.messages)
	host("POST "+prefix+"/hosts/{host}/inspect", s.inspect)
	host("POST "+prefix+"/hosts/{host}/profile", s.profile)
	host("POST "+prefix+"/hosts/{host}/heap", s.heap)
	host("POST "+prefix+"/hosts/{host}"+attachSuffix, s.attach)

	handle("/", func(_ http.ResponseWriter, r *http.Request) error {
		return &Error{Class: Unknown, Message: fmt.Sprintf("this supervisor (version %s) does not know %s %s", s.opt.Version, r.Method, r.URL.Path)}
	})
	return mux
}

// host finds a host. The error lists the existing ones.
func (s *Server) host(name string) (Host, error) {
	h, err := s.sup.Host(name)
	if errors.Is(err, supervisor.ErrNoHost) {
		return nil, s.noHost(name)
	}
	return h, err
}

// noHost returns an error: the host does not exist, or the supervisor has ended.
func (s *Server) noHost(name string) *Error {
	e := &Error{Class: NoSuchHost, Message: fmt.Sprintf("no host %q is configured", name), Host: name, Hosts: []string{}}
	for _, h := range s.sup.Status().Hosts {
		e.Hosts = append(e.Hosts, h.Name)
	}
	if s.ended() {
		return closed()
	}
	return e
}

func (s *Server) ended() bool {
	select {
	case <-s.sup.Done():
		return true
	default:
		return false
	}
}

func closed() *Error { return &Error{Class: Closed, Message: "the supervisor is stopping"} }

// fail responds with err.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	e := describe(err, nil)
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		e.Class, e.Message = TooLarge, fmt.Sprintf("the request is over the limit of %d bytes", big.Limit)
	case e.Class == Cancelled && s.ctx.Err() != nil:
		e = closed()
	case e.Class == Internal:
		s.opt.Logger.Error("control request failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	w.Header().Set("Content-Type", typeJSON)
	w.WriteHeader(e.Class.status())
	_ = encoder(w).Encode(errorBody{e}) // the caller may be gone
}

// answer sends v as the whole response.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", typeJSON)
	_ = encoder(w).Encode(v) // the caller may be gone
	return nil
}

func encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// decode reads the only document of a request's body into out.
func decode(r *http.Request, out any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	err := dec.Decode(out)
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return err
	case err != nil:
		return invalid("the request is malformed: " + err.Error())
	}
	// Reading to the end also lets the server notice that a caller has gone away.
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("the request has more than one document")
	}
	return nil
}
