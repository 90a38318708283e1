package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/fileinfo"
	"github.com/hostsup/hostsup/workbench/scm"
)

// usualMoments is how many moments of a timeline are asked for by default.
const usualMoments = 50

// filesInput is the input of a question about files.
type filesInput struct {
	Body filesQuestion
}

// filesQuestion is the body of a question about files.
type filesQuestion struct {
	Host string   `json:"host,omitempty"` // the name of the only host that is asked; all without it
	URIs []string `json:"uris"`
}

// fileInput is the input of a question about a file.
type fileInput struct {
	Body fileQuestion
}

// fileQuestion is the body of a question about a file.
type fileQuestion struct {
	Host  string `json:"host,omitempty"` // the name of the only host that is asked; all without it
	URI   string `json:"uri"`
	Limit int    `json:"limit,omitempty"` // how many moments of each timeline are asked for, up to 10,000; 0: 50
}

// decorationList are decorations of files.
type decorationList struct {
	Decorations []fileinfo.Decoration `json:"decorations"`
}

// momentList is what timelines have of a file.
type momentList struct {
	Moments []fileinfo.Moment `json:"moments"`
}

// originalList are the originals of a file.
type originalList struct {
	Originals []scm.Original `json:"originals"`
}

func (t tree) Decorations(ctx context.Context, host string, files []workbench.URI) ([]fileinfo.Decoration, error) {
	return asked(t, host, fileinfo.Of, func(svc *fileinfo.Service) ([]fileinfo.Decoration, error) { return svc.Decorations(ctx, host, files) })
}

func (t tree) Timeline(ctx context.Context, host string, file workbench.URI, limit int) ([]fileinfo.Moment, error) {
	return asked(t, host, fileinfo.Of, func(svc *fileinfo.Service) ([]fileinfo.Moment, error) { return svc.Timeline(ctx, host, file, limit) })
}

func (t tree) Originals(ctx context.Context, host string, file workbench.URI) ([]scm.Original, error) {
	return asked(t, host, scm.Of, func(svc *scm.Service) ([]scm.Original, error) { return svc.Original(ctx, host, file) })
}

// asked returns what the services of a host answer; those of all hosts if host is "".
func asked[S comparable, T any](t tree, host string, of func(*actors.Ref) (S, error), ask func(S) ([]T, error)) (out []T, err error) {
	list, err := servicesOf(t, host, of)
	for _, svc := range list {
		some, err := ask(svc)
		if err != nil {
			return nil, err
		}
		out = append(out, some...)
	}
	return out, err
}

func (s *Server) decorations(ctx context.Context, in filesInput) (out decorationList, err error) {
	var files []workbench.URI
	for _, text := range in.Body.URIs {
		uri, err := workbench.ParseURI(text)
		if err != nil {
			return out, invalid(err.Error())
		}
		files = append(files, uri)
	}
	list, err := s.sup.Decorations(ctx, in.Body.Host, files)
	out.Decorations = append([]fileinfo.Decoration{}, list...)
	return out, s.fileFail(in.Body.Host, err)
}

func (s *Server) timeline(ctx context.Context, in fileInput) (out momentList, err error) {
	uri, err := workbench.ParseURI(in.Body.URI)
	if err != nil {
		return out, invalid(err.Error())
	}
	list, err := s.sup.Timeline(ctx, in.Body.Host, uri, cmp.Or(in.Body.Limit, usualMoments))
	out.Moments = append([]fileinfo.Moment{}, list...)
	return out, s.fileFail(in.Body.Host, err)
}

func (s *Server) originals(ctx context.Context, in fileInput) (out originalList, err error) {
	uri, err := workbench.ParseURI(in.Body.URI)
	if err != nil {
		return out, invalid(err.Error())
	}
	list, err := s.sup.Originals(ctx, in.Body.Host, uri)
	out.Originals = append([]scm.Original{}, list...)
	return out, s.fileFail(in.Body.Host, err)
}

// fileFail returns the error of a question about files.
func (s *Server) fileFail(host string, err error) error {
	if errors.Is(err, extensions.ErrNoExtensions) {
		return &Error{Class: NoExtensions, Host: host, Message: fmt.Sprintf("host %q cannot be asked about files: only hosts with protocol \"vscode\" can", host)}
	}
	if err != nil {
		return s.extensionFail(host, err)
	}
	return nil
}

// Decorations returns what extensions show beside the names of files; see [fileinfo.Service.Decorations].
func (c *Client) Decorations(ctx context.Context, host string, files ...workbench.URI) ([]fileinfo.Decoration, error) {
	in := filesQuestion{Host: host, URIs: []string{}}
	for _, file := range files {
		in.URIs = append(in.URIs, file.String())
	}
	out, err := post[decorationList](ctx, c, prefix+"/files/decorations", in)
	if err != nil {
		return nil, err
	}
	return out.Decorations, nil
}

// Timeline returns what the timelines of extensions have of a file; see [fileinfo.Service.Timeline]. limit 0
// is 50.
func (c *Client) Timeline(ctx context.Context, host string, file workbench.URI, limit int) ([]fileinfo.Moment, error) {
	out, err := post[momentList](ctx, c, prefix+"/files/timeline", fileQuestion{Host: host, URI: file.String(), Limit: limit})
	if err != nil {
		return nil, err
	}
	return out.Moments, nil
}

// Originals returns what source controls compare a file with; see [scm.Service.Original].
func (c *Client) Originals(ctx context.Context, host string, file workbench.URI) ([]scm.Original, error) {
	out, err := post[originalList](ctx, c, prefix+"/files/originals", fileQuestion{Host: host, URI: file.String()})
	if err != nil {
		return nil, err
	}
	return out.Originals, nil
}
