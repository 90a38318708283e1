package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/service"
)

// activateRequest is the body of an activation event.
type activateRequest struct {
	Event string `json:"event"`
	Host  string `json:"host,omitempty"` // "": every host that it concerns
}

// extensionList is the response to all requests: to an activation, the extensions
// that it made active.
type extensionList struct {
	Extensions []service.Status `json:"extensions"`
}

// differenceList is the response to a rescan of the folders.
type differenceList struct {
	Differences []service.Difference `json:"differences"`
}

var extensionVerbs = []service.Verb{service.Enable, service.Disable, service.Isolate, service.Release}

// activate waits as long as its caller stays connected.
func (s *Server) activate(w http.ResponseWriter, r *http.Request) error {
	var q activateRequest
	if err := decode(r, &q); err != nil {
		return err
	}
	if q.Event == "" {
		return invalid("no event to request")
	}
	if err := s.sup.Activate(r.Context(), q.Host, q.Event); err != nil {
		return s.extensionFail(q.Host, err)
	}
	list, err := s.sup.Extensions(q.Host)
	if err != nil {
		return s.extensionFail(q.Host, err)
	}
	list = slices.DeleteFunc(list, func(e service.Status) bool { return e.Activation == nil || e.Activation.Event != q.Event })
	return answer(w, extensionList{tidyExtensions(list)})
}

func (s *Server) extensions(w http.ResponseWriter, r *http.Request) error {
	host := r.URL.Query().Get("host")
	list, err := s.sup.Extensions(host)
	if err != nil {
		return s.extensionFail(host, err)
	}
	return answer(w, extensionList{tidyExtensions(list)})
}

// setExtension responds with the new status of the extension, for each host that has it.
func (s *Server) setExtension(w http.ResponseWriter, r *http.Request) error {
	host, id, verb := r.URL.Query().Get("host"), r.PathValue("id"), service.Verb(r.PathValue("verb"))
	if !slices.Contains(extensionVerbs, verb) {
		return invalid(fmt.Sprintf("%q is not an operation on an extension", verb))
	}
	if err := s.sup.SetExtension(r.Context(), host, id, verb); err != nil {
		e := s.extensionFail(host, err)
		if e.Class == NoSuchExtension {
			return s.noExtension(host, id)
		}
		return e
	}
	list, err := s.sup.Extensions(host)
	if err != nil {
		return s.extensionFail(host, err)
	}
	list = slices.DeleteFunc(list, func(e service.Status) bool { return extensions.MakeID(e.ID) != extensions.MakeID(id) })
	if len(list) == 0 {
		return s.noExtension(host, id) // it was removed meanwhile
	}
	return answer(w, extensionList{list})
}

// rescan responds with the differences, after they have taken effect.
func (s *Server) rescan(w http.ResponseWriter, r *http.Request) error {
	host := r.URL.Query().Get("host")
	list, err := s.sup.RescanExtensions(r.Context(), host)
	if err != nil {
		return s.extensionFail(host, err)
	}
	if list == nil {
		list = []service.Difference{}
	}
	return answer(w, differenceList{list})
}

// noExtension returns an error that lists the existing extensions.
func (s *Server) noExtension(host, id string) *Error {
	e := &Error{Class: NoSuchExtension, Message: fmt.Sprintf("no extension %q is known", id), Host: host, Extension: id, Extensions: []string{}}
	if host != "" {
		e.Message = fmt.Sprintf("host %q has no extension %q", host, id)
	}
	list, _ := s.sup.Extensions(host) // without the list the error is still useful
	for _, x := range list {
		e.Extensions = append(e.Extensions, x.ID)
	}
	return e
}

// extensionFail adds the names of the existing hosts if the requested one does not
// exist.
func (s *Server) extensionFail(host string, err error) *Error {
	if host != "" && errors.Is(err, service.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q has no extensions: there is no extensions block in its configuration", host)}
	}
	e := describe(err, nil)
	if errors.Is(err, service.ErrNoFolders) {
		e.Message = "no host has folders with extensions to look into"
		if host != "" {
			e.Message = fmt.Sprintf("host %q has no folders with extensions to look into: it has those that its configuration declares or that it announces itself", host)
		}
	}
	if e.Class == NoSuchHost {
		return s.noHost(host)
	}
	if e.Host == "" {
		e.Host = host
	}
	return e
}

// tidyExtensions returns list, or an empty list for nil.
func tidyExtensions(list []service.Status) []service.Status {
	if list == nil {
		return []service.Status{}
	}
	return list
}

// Activate requests an activation event of a host, or if host is "" of every host
// that it concerns. It waits until the extensions that declare the event are active
// or have failed, or ctx ends. It returns the extensions that this event made
// active; those that an earlier event made active are not included.
func (c *Client) Activate(ctx context.Context, host, event string) ([]service.Status, error) {
	out, err := post[extensionList](ctx, c, prefix+"/activate", activateRequest{Event: event, Host: host})
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// Extensions returns the extensions of a host, or of all hosts if host is "".
func (c *Client) Extensions(ctx context.Context, host string) ([]service.Status, error) {
	out, err := get[extensionList](ctx, c, prefix+"/extensions", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// SetExtension applies verb to an extension of a host, or if host is "" of each host
// that has it, and returns its new status.
func (c *Client) SetExtension(ctx context.Context, host, id string, verb service.Verb) ([]service.Status, error) {
	path := prefix + "/extensions/" + url.PathEscape(id) + "/" + url.PathEscape(string(verb))
	out, err := post[extensionList](ctx, c, path+queryOf(hostQuery(host)), nil)
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// RescanExtensions reads the extension folders of a host again, or of all hosts that
// have some if host is "", and returns the differences after they have taken effect.
func (c *Client) RescanExtensions(ctx context.Context, host string) ([]service.Difference, error) {
	out, err := post[differenceList](ctx, c, prefix+"/extensions/rescan"+queryOf(hostQuery(host)), nil)
	if err != nil {
		return nil, err
	}
	return out.Differences, nil
}

func hostQuery(host string) url.Values {
	if host == "" {
		return nil
	}
	return url.Values{"host": {host}}
}
