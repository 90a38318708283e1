package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/hostsup/hostsup/extensions"
)

// activateInput is the input of an activation event.
type activateInput struct {
	Body activateRequest
}

// activateRequest is the body of an activation event.
type activateRequest struct {
	Event string `json:"event"`
	Host  string `json:"host,omitempty"` // "": every host that it concerns
}

// extensionList is the response to all requests: to an activation, the extensions
// that it made active.
type extensionList struct {
	Extensions []extensions.Status `json:"extensions"`
}

// differenceList is the response to a rescan of the folders.
type differenceList struct {
	Differences []extensions.Difference `json:"differences"`
}

// extensionsInput is the input of requests about all extensions of a host.
type extensionsInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// extensionInput is the input of an operation on an extension.
type extensionInput struct {
	Host string `query:"host" doc:"name of the only host"`
	ID   string `path:"id" doc:"id of an extension"`
	Verb string `path:"verb" enum:"enable,disable,isolate,release" doc:"what to do with it"`
}

func (s *Server) activate(ctx context.Context, in activateInput) (out extensionList, err error) {
	q := in.Body
	if q.Event == "" {
		return out, invalid("no event to request")
	}
	if err := s.sup.Activate(ctx, q.Host, q.Event); err != nil {
		return out, s.extensionFail(q.Host, err)
	}
	units, err := s.sup.Extensions(q.Host)
	if err != nil {
		return out, s.extensionFail(q.Host, err)
	}
	units = slices.DeleteFunc(units, func(e extensions.Status) bool { return e.Activation == nil || e.Activation.Event != q.Event })
	return extensionList{list(units)}, nil
}

func (s *Server) extensions(_ context.Context, in extensionsInput) (out extensionList, err error) {
	units, err := s.sup.Extensions(in.Host)
	if err != nil {
		return out, s.extensionFail(in.Host, err)
	}
	return extensionList{list(units)}, nil
}

// setExtension responds with the new status of the extension, for each host that has it.
func (s *Server) setExtension(ctx context.Context, in extensionInput) (out extensionList, err error) {
	host, id := in.Host, in.ID
	if err := s.sup.SetExtension(ctx, host, id, extensions.Verb(in.Verb)); err != nil {
		e := s.extensionFail(host, err)
		if e.Class == NoSuchExtension {
			return out, s.noExtension(host, id)
		}
		return out, e
	}
	units, err := s.sup.Extensions(host)
	if err != nil {
		return out, s.extensionFail(host, err)
	}
	units = slices.DeleteFunc(units, func(e extensions.Status) bool { return extensions.MakeID(e.ID) != extensions.MakeID(id) })
	if len(units) == 0 {
		return out, s.noExtension(host, id) // it was removed meanwhile
	}
	return extensionList{units}, nil
}

// rescan responds with the differences, after they have taken effect.
func (s *Server) rescan(ctx context.Context, in extensionsInput) (out differenceList, err error) {
	diff, err := s.sup.RescanExtensions(ctx, in.Host)
	if err != nil {
		return out, s.extensionFail(in.Host, err)
	}
	return differenceList{list(diff)}, nil
}

// noExtension returns an error that lists the existing extensions.
func (s *Server) noExtension(host, id string) *Error {
	id = cut(id)
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
	if host != "" && errors.Is(err, extensions.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q has no extensions: there is no extensions block in its configuration", host)}
	}
	e := describe(err, nil)
	if errors.Is(err, extensions.ErrNoFolders) {
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

// Activate requests an activation event of a host, or if host is "" of every host
// that it concerns. It waits until the extensions that declare the event are active
// or have failed, or ctx ends. One that is still being activated after six times the startup
// of the host's extensions, 1 minute by default, has failed for the request. It returns the extensions that this event made
// active; those that an earlier event made active are not included.
func (c *Client) Activate(ctx context.Context, host, event string) ([]extensions.Status, error) {
	out, err := post[extensionList](ctx, c, prefix+"/activate", activateRequest{Event: event, Host: host})
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// Extensions returns the extensions of a host, or of all hosts if host is "".
func (c *Client) Extensions(ctx context.Context, host string) ([]extensions.Status, error) {
	out, err := get[extensionList](ctx, c, prefix+"/extensions", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// SetExtension applies verb to an extension of a host, or if host is "" of each host
// that has it, and returns its new status.
func (c *Client) SetExtension(ctx context.Context, host, id string, verb extensions.Verb) ([]extensions.Status, error) {
	path := prefix + "/extensions/" + url.PathEscape(id) + "/" + url.PathEscape(string(verb))
	out, err := post[extensionList](ctx, c, path+queryOf(hostQuery(host)), nil)
	if err != nil {
		return nil, err
	}
	return out.Extensions, nil
}

// RescanExtensions reads the extension folders of a host again, or of all hosts that
// have some if host is "", and returns the differences after they have taken effect.
func (c *Client) RescanExtensions(ctx context.Context, host string) ([]extensions.Difference, error) {
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
