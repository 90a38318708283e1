package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/hostsup/hostsup/supervisor"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, op := range operations() {
		mux.HandleFunc(op.method+" "+op.at(), func(w http.ResponseWriter, r *http.Request) {
			if err := s.run(&op, w, r); err != nil {
				s.fail(w, r, err)
			}
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, r, s.unknown(r))
	})
	return mux
}

// unknown returns an error: there is no such operation.
func (s *Server) unknown(r *http.Request) error {
	return &Error{Class: Unknown, Message: fmt.Sprintf("this supervisor (version %s) does not know %s %s", s.opt.Version, cut(r.Method), cut(r.URL.Path))}
}

// run serves one request for an operation.
func (s *Server) run(op *operation, w http.ResponseWriter, r *http.Request) error {
	if err := op.allow(r); err != nil {
		return err
	}
	instead, leave, err := s.gate.enter(r.Context(), op)
	if err != nil {
		return err
	}
	if instead != nil {
		instead.ServeHTTP(w, r)
		return nil
	}
	defer leave()
	if c := callerOf(r.Context()); c.token != "" && op.role != RoleRead {
		s.opt.Logger.Info("a caller of the console changes something", "token", c.token, "operation", op.name, "path", r.URL.Path, "from", r.RemoteAddr)
	}
	t, _ := w.(*timed) // of every request that comes through a door
	defer func() {
		if t.late != "" {
			s.opt.Logger.Info("cut off a slow caller", "reason", t.late, "operation", op.name, "path", cut(r.URL.Path), "from", r.RemoteAddr)
		}
	}()
	if !op.endless {
		r.Body = http.MaxBytesReader(t.ResponseWriter, r.Body, s.opt.MaxBody)
		return op.serve(s, w, r)
	}
	t.beginDuplex(callerOf(r.Context()).token == "")
	if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
		return err // another version of HTTP, which Client does not use
	}
	defer stopReading(w)
	return op.serve(s, w, r)
}

// host finds a host, or with several any instance of that name. The error lists the
// existing ones.
func (s *Server) host(name string, several bool) (Host, error) {
	h, err := s.sup.Host(name)
	if errors.Is(err, supervisor.ErrNoHost) {
		all, names := s.sup.Instances(name)
		switch {
		case all == nil:
			return nil, s.noHost(name)
		case several:
			return all, nil
		}
		e := s.noHost(name)
		e.Message = fmt.Sprintf("host %q has several instances: name one of %s", name, strings.Join(names, ", "))
		return nil, e
	}
	return h, err
}

// noHost returns an error: the host does not exist, or the supervisor has ended.
func (s *Server) noHost(name string) *Error {
	name = cut(name)
	e := &Error{Class: NoSuchHost, Message: fmt.Sprintf("no host %q is configured", name), Host: name, Hosts: []string{}}
	for host := range s.sup.Names() {
		e.Hosts = append(e.Hosts, host)
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
	e := s.gate.cutOff(describe(err, nil))
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
	case errors.Is(err, os.ErrDeadlineExceeded):
		return invalid("the request did not arrive in time: its body was sent too slowly")
	case err != nil:
		return invalid("the request is malformed: " + err.Error())
	}
	// Reading to the end also lets the server notice that a caller has gone away.
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return invalid("the request has more than one document")
	}
	return nil
}
