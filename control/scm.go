package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench/scm"
)

// scmInput is the input of a request for source controls.
type scmInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// scmList are source controls of extensions.
type scmList struct {
	Controls []scm.Control `json:"source_controls"`
}

// scmWriteInput is the input of a message for a source control.
type scmWriteInput struct {
	ID   string `path:"id" doc:"id of a source control"`
	Body scmWriteRequest
}

// scmWriteRequest is the body of a message.
type scmWriteRequest struct {
	Message *string `json:"message,omitempty"` // is written into the input box
	Accept  bool    `json:"accept,omitempty"`  // execute the command for the message, which commits with most extensions
}

func (t tree) SourceControls(host string) (out []scm.Control, err error) {
	list, err := servicesOf(t, host, scm.Of)
	for _, svc := range list {
		out = append(out, svc.State(host)...)
	}
	return out, err
}

func (t tree) WriteSourceControl(ctx context.Context, id string, message *string, accept bool) error {
	list, err := servicesOf(t, "", scm.Of)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %q", scm.ErrNoControl, id)
	for _, svc := range list {
		if message != nil {
			err = svc.SetInput(id, *message)
		}
		if accept && (message == nil || err == nil) {
			err = svc.Accept(ctx, id)
		}
		if !errors.Is(err, scm.ErrNoControl) {
			return err
		}
	}
	return err
}

func (s *Server) sourceControls(_ context.Context, in scmInput) (out scmList, err error) {
	list, err := s.sup.SourceControls(in.Host)
	if out.Controls = list; list == nil {
		out.Controls = []scm.Control{}
	}
	if errors.Is(err, extensions.ErrNoExtensions) {
		return out, &Error{Class: NoExtensions, Host: in.Host, Message: fmt.Sprintf("host %q has no source control: only extensions of hosts with protocol \"vscode\" have it", in.Host)}
	}
	if err != nil {
		return out, s.extensionFail(in.Host, err)
	}
	return out, nil
}

func (s *Server) writeSourceControl(ctx context.Context, in scmWriteInput) (out struct{}, err error) {
	if in.Body.Message == nil && !in.Body.Accept {
		return out, invalid("message or accept expected")
	}
	return out, s.sup.WriteSourceControl(ctx, in.ID, in.Body.Message, in.Body.Accept)
}

// SourceControls returns the source controls of the extensions of a host; those of all hosts if host is
// "".
func (c *Client) SourceControls(ctx context.Context, host string) ([]scm.Control, error) {
	out, err := get[scmList](ctx, c, prefix+"/scm", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Controls, nil
}

// WriteSourceControl writes a message into the input box of a source control, unless it is nil, and with
// accept executes its command, which commits with most extensions. The error has the class
// [NoSuchSourceControl], or [Invalid] for what the source control cannot do.
func (c *Client) WriteSourceControl(ctx context.Context, id string, message *string, accept bool) error {
	_, err := post[struct{}](ctx, c, prefix+"/scm/"+url.PathEscape(id), scmWriteRequest{message, accept})
	return err
}
