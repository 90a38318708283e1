package scm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/hostsup/hostsup/workbench"
)

// Original is what a source control compares a file with (quickDiffProvider), such as the file of the last
// commit or of the index.
type Original struct {
	Control string `json:"source_control"` // the id
	Host    string `json:"host"`
	Label   string `json:"label"` // of the source control
	URI     string `json:"uri"`
	// Text is its content; null if it cannot be read, or is not UTF-8.
	Text *string `json:"text"`
	// Error says why there is no text.
	Error string `json:"error,omitempty"`
}

const methodOriginal = "ExtHostSCM.$provideOriginalResource"

// Original returns what the source controls compare a file with: those whose root is above the file. host is
// the name of the only host that is asked; "" is all hosts. A file that has no original, such as one that is
// new, has no result. The error is that of a host.
func (s *Service) Original(ctx context.Context, host string, file workbench.URI) ([]Original, error) {
	out := []Original{}
	for _, c := range s.comparing(host, file) {
		var raw json.RawMessage
		if err := c.host.Call(ctx, methodOriginal, workbench.Params(c.handle, file, workbench.Token), &raw); err != nil {
			return nil, err
		}
		var uri *workbench.URI
		if err := workbench.Decode(raw, &uri); err != nil {
			return nil, fmt.Errorf("original of %s: %w", c.ID, err)
		}
		if uri == nil {
			continue
		}
		one := Original{Control: c.ID, Host: c.Host, Label: c.Label, URI: s.line(uri.String())}
		text, err := s.read(ctx, c, *uri)
		switch {
		case err != nil:
			one.Error = s.line(err.Error())
		case !utf8.ValidString(text):
			one.Error = "the content is not UTF-8"
		default:
			one.Text = &text
		}
		out = append(out, one)
	}
	return out, nil
}

func (s *Service) read(ctx context.Context, c control, uri workbench.URI) (string, error) {
	host, ok := c.host.(*workbench.Host)
	if s.opt.Read == nil || !ok {
		return "", workbench.NotSupported("SourceControl.quickDiffProvider", "the content cannot be read here")
	}
	data, err := s.opt.Read(ctx, host, uri)
	return string(data), err
}

// comparing returns copies of the source controls that have originals of a file, in order.
func (s *Service) comparing(host string, file workbench.URI) (out []control) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.controls {
		if c.compares && (host == "" || c.Host == host) && c.root != nil && contains(*c.root, file) {
			out = append(out, *c)
		}
	}
	slices.SortFunc(out, func(a, b control) int {
		return cmp.Or(strings.Compare(a.Host, b.Host), strings.Compare(a.Root, b.Root), a.handle-b.handle)
	})
	return out
}

// contains reports whether a file is below a root.
func contains(root, file workbench.URI) bool {
	return root.Scheme == file.Scheme && root.Authority == file.Authority && strings.HasPrefix(file.Path, strings.TrimSuffix(root.Path, "/")+"/")
}
