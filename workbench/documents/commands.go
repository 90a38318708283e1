package documents

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/workbench"
)

// Commands returns the commands of an editor that act on documents, by their names.
func (s *Service) Commands() map[string]workbench.Method {
	onActive := func(f func(ctx context.Context, c *workbench.Call, d *document) error) workbench.Method {
		return workbench.Method{Do: func(ctx context.Context, c *workbench.Call) (any, error) {
			s.mu.Lock()
			var d *document
			if s.active.active != nil {
				d = s.active.active.doc
			}
			s.mu.Unlock()
			if d == nil {
				return nil, nil // as in VS Code
			}
			return nil, f(ctx, c, d)
		}}
	}
	step := func(redo bool) workbench.Method {
		return onActive(func(ctx context.Context, c *workbench.Call, d *document) error { return s.undo(ctx, c, d, redo) })
	}
	closing := func(activeOnly bool) workbench.Method {
		return workbench.Method{Now: func(*workbench.Call) (any, error) { return nil, s.closeAll(activeOnly) }}
	}
	return map[string]workbench.Method{
		"undo": step(false),
		"redo": step(true),
		"workbench.action.files.save": onActive(func(ctx context.Context, c *workbench.Call, d *document) error {
			_, err := s.save(ctx, d, c)
			return err
		}),
		"workbench.action.files.saveAll": {Do: func(ctx context.Context, c *workbench.Call) (any, error) {
			_, err := s.saveAll(ctx, c)
			return nil, err
		}},
		"workbench.action.closeActiveEditor": closing(true),
		"workbench.action.closeAllEditors":   closing(false),
		// What the host makes of vscode.open.
		"_workbench.open": {Do: s.openCommand},
		"vscode.open":     {Do: s.openCommand},
	}
}

// openCommand shows a document. Its arguments are a URI, and a list of a column and options as
// $tryShowTextDocument has them.
func (s *Service) openCommand(ctx context.Context, c *workbench.Call) (any, error) {
	var address string
	if json.Unmarshal(c.Raw(0), &address) == nil {
		return nil, workbench.NotSupported("vscode.open", "there is no browser for "+address)
	}
	var uri workbench.URI
	var how []json.RawMessage
	if err := c.Args(&uri, &how); err != nil {
		return nil, err
	}
	if uri.Scheme == "http" || uri.Scheme == "https" || uri.Scheme == "mailto" {
		return nil, workbench.NotSupported("vscode.open", "there is no browser for "+uri.String())
	}
	var at showing
	for i, to := range []any{&at.Position, &at} {
		if i < len(how) && json.Unmarshal(how[i], to) != nil && i == 1 {
			return nil, workbench.Invalid("vscode.open: options expected, %.40q", how[i])
		}
	}
	_, err := s.openAndShow(ctx, uri, at, c)
	return nil, err
}
