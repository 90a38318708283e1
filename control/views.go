package control

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench/views"
)

// viewsInput is the input of a request for views.
type viewsInput struct {
	Host string `query:"host" doc:"name of the only host"`
}

// viewList are views of extensions.
type viewList struct {
	Views []views.View `json:"views"`
}

// viewReadInput is the input of a request for the items of a view.
type viewReadInput struct {
	ID    string `path:"id" doc:"id of a view"`
	Host  string `query:"host" doc:"name of the host that has the view; any without it"`
	Item  string `query:"item" doc:"handle of the item whose items are read; those at the top without it"`
	Depth int    `query:"depth" doc:"how many levels are read below collapsed items"`
}

// viewActInput is the input of an action of a user in a view.
type viewActInput struct {
	ID   string `path:"id" doc:"id of a view"`
	Body viewActRequest
}

// viewActRequest is the body of an action.
type viewActRequest struct {
	Host   string       `json:"host,omitempty"` // the name of the host that has the view; any without it
	Action views.Action `json:"action" enum:"show,hide,expand,collapse,select,check,uncheck,run"`
	Items  []string     `json:"items,omitempty"` // handles of items that were read; show and hide have no items
}

func (t tree) Views(host string) (out []views.View, err error) {
	list, err := servicesOf(t, host, views.Of)
	for _, svc := range list {
		out = append(out, svc.State(host)...)
	}
	return out, err
}

func (t tree) ReadView(ctx context.Context, q views.Query) (out *views.Tree, err error) {
	err = t.withView(q.Host, q.View, func(svc *views.Service) (err error) {
		out, err = svc.Read(ctx, q)
		return err
	})
	return out, err
}

func (t tree) ActInView(ctx context.Context, host, view string, action views.Action, items []string) error {
	return t.withView(host, view, func(svc *views.Service) error { return svc.Act(ctx, host, view, action, items...) })
}

// withView calls do with the services of a host, or of all, until one has the view.
func (t tree) withView(host, view string, do func(*views.Service) error) error {
	list, err := servicesOf(t, host, views.Of)
	if err != nil {
		return err
	}
	err = fmt.Errorf("%w: %q", views.ErrNoView, view)
	for _, svc := range list {
		if err = do(svc); !errors.Is(err, views.ErrNoView) {
			return err
		}
	}
	return err
}

func (s *Server) views(_ context.Context, in viewsInput) (out viewList, err error) {
	list, err := s.sup.Views(in.Host)
	if out.Views = list; list == nil {
		out.Views = []views.View{}
	}
	return out, s.viewFail(in.Host, err)
}

func (s *Server) readView(ctx context.Context, in viewReadInput) (views.Tree, error) {
	out, err := s.sup.ReadView(ctx, views.Query{Host: in.Host, View: in.ID, Item: in.Item, Depth: in.Depth})
	if err != nil {
		return views.Tree{}, s.viewFail(in.Host, err)
	}
	return *out, nil
}

func (s *Server) actInView(ctx context.Context, in viewActInput) (out struct{}, err error) {
	b := in.Body
	return out, s.viewFail(b.Host, s.sup.ActInView(ctx, b.Host, in.ID, b.Action, b.Items))
}

// viewFail returns the error of a request about views.
func (s *Server) viewFail(host string, err error) error {
	if errors.Is(err, extensions.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q has no views: only extensions of hosts with protocol \"vscode\" show them", host)}
	}
	if err != nil {
		return s.extensionFail(host, err)
	}
	return nil
}

// Views returns the views that the extensions of a host have registered; those of all hosts if host is "".
func (c *Client) Views(ctx context.Context, host string) ([]views.View, error) {
	out, err := get[viewList](ctx, c, prefix+"/views", hostQuery(host))
	if err != nil {
		return nil, err
	}
	return out.Views, nil
}

// ReadView reads items of a view from its extension, which is activated for it. The error has the class
// [NoSuchView] if no extension has the view, and [NoSuchItem] for an item that was not read.
func (c *Client) ReadView(ctx context.Context, q views.Query) (*views.Tree, error) {
	query := url.Values{}
	if q.Host != "" {
		query.Set("host", q.Host)
	}
	if q.Item != "" {
		query.Set("item", q.Item)
	}
	if q.Depth > 0 {
		query.Set("depth", fmt.Sprint(q.Depth))
	}
	return post[views.Tree](ctx, c, prefix+"/views/"+url.PathEscape(q.View)+"/read?"+query.Encode(), nil)
}

// ActInView does what a user does in a view; see [views.Service.Act]. The error has the class [NoSuchView],
// [NoSuchItem], or [Invalid] for what the view cannot do.
func (c *Client) ActInView(ctx context.Context, host, view string, action views.Action, items ...string) error {
	in := viewActRequest{Host: host, Action: action, Items: items}
	_, err := post[struct{}](ctx, c, prefix+"/views/"+url.PathEscape(view)+"/act", in)
	return err
}
