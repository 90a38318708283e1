package questions

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hostsup/hostsup/workbench"
)

// Commands returns the commands of an editor that are questions, by their names:
// window.showWorkspaceFolderPick asks for one of the workspace folders by its path.
func (s *Service) Commands(folders func() []string) map[string]workbench.Method {
	return map[string]workbench.Method{"_workbench.pickWorkspaceFolder": {Do: func(ctx context.Context, c *workbench.Call) (any, error) {
		var options []asked // one, or none
		if err := c.Args(&options); err != nil {
			return nil, err
		}
		a := append(options, asked{})[0]
		s.mu.Lock()
		by := s.asker(c)
		s.mu.Unlock()
		q, list := a.question(c.Host.Name(), by, List, "the list of workspace folders"), folders()
		q.items = func() []string { return list }
		q.check = func(_ context.Context, values []string) (any, error) {
			if !slices.Contains(list, values[0]) {
				return nil, fmt.Errorf("%w: %q is not a workspace folder", ErrAnswer, short(values[0]))
			}
			return folder{workbench.File(values[0]), filepath.Base(values[0]), slices.Index(list, values[0])}, nil
		}
		return s.resolve(ctx, q).answer(), nil
	}}}
}

// folder is a vscode.WorkspaceFolder.
type folder struct {
	URI   workbench.URI `json:"uri"`
	Name  string        `json:"name"`
	Index int           `json:"index"`
}
