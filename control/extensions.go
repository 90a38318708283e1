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

// activateRequest asks for an activation event.
type activateRequest struct {
	Event string `json:"event"`
	Host  string `json:"host,omitempty"` // "": every host that it concerns
}

// extensionList is the answer to all: of an activation those that are active by
// it.
type extensionList struct {
	Extensions []service.Status `json:"extensions"`
}

// differenceList is the answer to a look into the folders.
type differenceList struct {
	Differences []service.Difference `json:"differences"`
}

var extensionVerbs = []service.Verb{service.Enable, service.Disable, service.Isolate, service.Release}

// activate waits for as long as its caller stays.
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

// setExtension answers with what is to be said of the extension then, for each
// host that has it.
func (s *Server) setExtension(w http.ResponseWriter, r *http.Request) error {
	host, id, verb := r.URL.Query().Get("host"), r.PathValue("id"), service.Verb(r.PathValue("verb"))
	if !slices.Contains(extensionVerbs, verb) {
		return invalid(fmt.Sprintf("%q is nothing that can be done with an extension", verb))
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

// rescan answers with what is different, when it counts.
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

// noExtension says that there is no such extension, and which there are.
func (s *Server) noExtension(host, id string) *Error {
	e := &Error{Class: NoSuchExtension, Message: fmt.Sprintf("no extension %q is known", id), Host: host, Extension: id, Extensions: []string{}}
	if host != "" {
		e.Message = fmt.Sprintf("host %q has no extension %q", host, id)
	}
	list, _ := s.sup.Extensions(host) // without it the error says what it can
	for _, x := range list {
		e.Extensions = append(e.Extensions, x.ID)
	}
	return e
}

// extensionFail names the hosts that there are, where another one was meant.
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

// tidyExtensions returns list, and an empty list for nil.
func tidyExtensions(list []service.Status) []service.Status {
	if list == nil {
		return []service.Status{}
	}
	return list
}

// Activate requests an activation event of a host, or of every host that it
// concerns when host is "", and waits until those who want it are active or have
// failed, as long as ctx lasts. It returns who is active by this event: who was
// by another one before is not among them.
func (c *Client) Activate(ctx context.Context, host, event string) ([]service.Status, error) {
	out, err := post[extensionList](ctx, c, prefix+"/activate", activateRequest{Event: event, Host: host})
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// Extensions returns the extensions of a host, or of all when host is "".
func (c *Client) Extensions(ctx context.Context, host string) ([]service.Status, error) {
	out, err := get[extensionList](ctx, c, prefix+"/extensions", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// SetExtension does what verb says for an extension of a host, or of each that has
// it when host is "", and returns what there is to say of it when that is done.
func (c *Client) SetExtension(ctx context.Context, host, id string, verb service.Verb) ([]service.Status, error) {
	path := prefix + "/extensions/" + url.PathEscape(id) + "/" + url.PathEscape(string(verb))
	out, err := post[extensionList](ctx, c, path+queryOf(hostQuery(host)), nil)
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// RescanExtensions looks into the folders of the extensions of a host anew, or of
// all that have some when host is "", and returns what is different when that
// counts.
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
