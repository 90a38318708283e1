// Package window has what extensions ask of the window and the user of their editor, and what needs
// neither: the clipboard, which is text in memory, and external URIs.
package window

import (
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// maxClipboard bounds the text of the clipboard, in bytes.
const maxClipboard = 16 << 20

// Service answers MainThreadClipboard and parts of other objects. The zero value is ready.
type Service struct {
	mu        sync.Mutex
	clipboard string
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	same := workbench.Method{Now: func(c *workbench.Call) (any, error) { return c.Raw(0), nil }}
	return map[string]workbench.Method{
		"MainThreadClipboard.$readText":            {Now: s.read},
		"MainThreadClipboard.$writeText":           {Now: s.write},
		"MainThreadWindow.$asExternalUri":          same, // hosts are on this machine
		"MainThreadExtensionService.$asBrowserUri": same,
	}
}

// Clipboard returns the text of the clipboard.
func (s *Service) Clipboard() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clipboard
}

func (s *Service) read(*workbench.Call) (any, error) { return s.Clipboard(), nil }

func (s *Service) write(c *workbench.Call) (any, error) {
	var text string
	if err := c.Args(&text); err != nil {
		return nil, err
	}
	if len(text) > maxClipboard {
		return nil, workbench.Invalid("env.clipboard.writeText: %d bytes, limit %d", len(text), maxClipboard)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clipboard = text
	return nil, nil
}
