package documents

import (
	"context"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/text"
)

// provider has the contents of documents of a scheme. It ends with the life of its host.
type provider struct {
	host   *workbench.Host
	handle int
	scheme string
}

// Bounds of the providers of contents.
const (
	maxProviders = 1000
	maxScheme    = 1 << 10 // bytes of a scheme
)

func (s *Service) contentMethods() map[string]workbench.Method {
	return map[string]workbench.Method{
		"MainThreadDocumentContentProviders.$registerTextContentProvider":   {Now: s.registerContent},
		"MainThreadDocumentContentProviders.$unregisterTextContentProvider": {Now: s.unregisterContent},
		"MainThreadDocumentContentProviders.$onVirtualDocumentChange":       {Now: s.contentChanged},
	}
}

// viewOf returns the view of a caller; nil if its life has ended. The caller must hold mu.
func (s *Service) viewOf(c *workbench.Call) *view {
	if c == nil || c.Host == nil {
		return nil
	}
	v := s.views[c.Host.Name()]
	if v == nil || v.host.Life() != c.Life {
		return nil
	}
	return v
}

func (s *Service) registerContent(c *workbench.Call) (any, error) {
	var p provider
	if err := c.Args(&p.handle, &p.scheme); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(p.scheme); n > maxScheme {
		return nil, workbench.Invalid("workspace.registerTextDocumentContentProvider: a scheme of %d bytes, limit %d", n, maxScheme)
	}
	if len(s.providers) >= maxProviders {
		return nil, workbench.Invalid("workspace.registerTextDocumentContentProvider: %d providers are registered, which is the limit", maxProviders)
	}
	if v := s.viewOf(c); v != nil {
		p.host = v.host
		s.providers = append(s.providers, p)
	}
	return nil, nil
}

func (s *Service) unregisterContent(c *workbench.Call) (any, error) {
	var handle int
	if err := c.Args(&handle); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if v := s.viewOf(c); v != nil {
		s.providers = slices.DeleteFunc(s.providers, func(p provider) bool { return p.host == v.host && p.handle == handle })
	}
	return nil, nil
}

func (s *Service) contentChanged(c *workbench.Call) (any, error) {
	var uri workbench.URI
	var content string
	if err := c.Args(&uri, &content); err != nil {
		return nil, err
	}
	if len(content) > maxSize {
		return nil, refused("cannot change %s: %w", uri, ErrTooLarge)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.documents[uri.String()]; d != nil && d.virtual {
		s.changed(d, d.model.Reset(text.New(content, d.model.Text().EOL())))
	}
	return nil, nil
}

// hasContent reports whether a provider of contents has a scheme.
func (s *Service) hasContent(scheme string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.providers, func(p provider) bool { return p.scheme == scheme })
}

// content asks the providers of a scheme, in the order in which they were registered, until one has
// the document.
func (s *Service) content(ctx context.Context, uri workbench.URI) (source, error) {
	s.mu.Lock()
	list := slices.DeleteFunc(slices.Clone(s.providers), func(p provider) bool { return p.scheme != uri.Scheme })
	s.mu.Unlock()
	var failed error
	for _, p := range list {
		var content *string
		err := p.host.Call(ctx, methodContent, workbench.Params(p.handle, uri), &content)
		switch {
		case err != nil:
			failed = err
		case content == nil:
		case len(*content) > maxSize:
			return source{}, ErrTooLarge
		default:
			return source{text: text.New(*content, text.LF), encoding: utf8Name, virtual: true}, nil
		}
	}
	if failed == nil {
		failed = fmt.Errorf("no provider of the scheme %q has it", uri.Scheme)
	}
	return source{}, failed
}
