package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench/status"
)

// activityInput is the input of a request for what extensions show.
type activityInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// progressInput names a progress.
type progressInput struct {
	ID string `path:"id" doc:"id of a progress"`
}

func (t tree) Activity(host string) (status.State, error) {
	out := status.State{Entries: []status.Entry{}, Progress: []status.Progress{}}
	list, err := servicesOf(t, host, status.Of)
	for _, svc := range list {
		part := svc.State(host)
		out.Entries = append(out.Entries, part.Entries...)
		out.Progress = append(out.Progress, part.Progress...)
	}
	return out, err
}

func (t tree) CancelProgress(id string) error {
	list, err := servicesOf(t, "", status.Of)
	if err != nil {
		return err
	}
	for _, svc := range list {
		if err := svc.Cancel(id); !errors.Is(err, status.ErrNoProgress) {
			return err
		}
	}
	return fmt.Errorf("%w: %q", status.ErrNoProgress, id)
}

func (s *Server) activity(_ context.Context, in activityInput) (status.State, error) {
	out, err := s.sup.Activity(in.Host)
	if errors.Is(err, extensions.ErrNoExtensions) {
		return out, &Error{Class: NoExtensions, Host: in.Host, Message: fmt.Sprintf("host %q has no status and no progress: only extensions of hosts with protocol \"vscode\" show them", in.Host)}
	}
	if err != nil {
		return out, s.extensionFail(in.Host, err)
	}
	return out, nil
}

func (s *Server) cancelProgress(_ context.Context, in progressInput) (out struct{}, err error) {
	return out, s.sup.CancelProgress(in.ID)
}

// Activity returns what the extensions of a host show in the status bar, and the progress that is
// running; that of all hosts if host is "".
func (c *Client) Activity(ctx context.Context, host string) (*status.State, error) {
	return get[status.State](ctx, c, prefix+"/activity", hostQuery(host))
}

// CancelProgress cancels a progress, as a user does with its button; the extension ends it. The error
// has the class [NoSuchProgress] if it is not running, and [Invalid] if it cannot be canceled.
func (c *Client) CancelProgress(ctx context.Context, id string) error {
	_, err := post[struct{}](ctx, c, prefix+"/activity/"+url.PathEscape(id)+"/cancel", nil)
	return err
}
