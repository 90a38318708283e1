// Package window has what extensions ask of the window and the user of their editor, and what needs
// neither: the clipboard, which is text in memory, external URIs, and webview panels, which are not
// visible.
package window

import (
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// maxClipboard bounds the text of the clipboard, in bytes.
const maxClipboard = 16 << 20

// Service answers MainThreadClipboard and parts of other objects. The zero value is ready.
type Service struct {
	mu        sync.Mutex
	clipboard string
	hosts     workbench.Hosts
}

var _ workbench.Follower = (*Service)(nil)

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
}

// Methods implements [workbench.Service].
func (s *Service) Methods() map[string]workbench.Method {
	same := workbench.Method{Now: func(c *workbench.Call) (any, error) { return c.Raw(0), nil }}
	return map[string]workbench.Method{
		"MainThreadClipboard.$readText":               {Now: s.read},
		"MainThreadClipboard.$writeText":              {Now: s.write},
		"MainThreadWindow.$asExternalUri":             same, // hosts are on this machine
		"MainThreadExtensionService.$asBrowserUri":    same,
		"MainThreadWebviewPanels.$createWebviewPanel": {Now: s.createPanel},
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

// createPanel tells the host that a new panel is not visible: it takes it for visible and active. It has
// no error to tell, because extensions do not wait for the call.
func (s *Service) createPanel(c *workbench.Call) (any, error) {
	var handle any // a number or a text, by release
	if err := c.Args(nil, &handle); err != nil {
		return nil, err
	}
	key, ok := handle.(string)
	if n, is := handle.(float64); is {
		key, ok = strconv.FormatFloat(n, 'f', -1, 64), true
	}
	if !ok {
		return nil, workbench.Invalid("window.createWebviewPanel: the handle of a panel expected")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[c.Host.Name()]; h != nil && h.Life() == c.Life {
		h.Tell("ExtHostWebviewPanels.$onDidChangeWebviewPanelViewStates", workbench.Params(map[string]any{
			key: map[string]any{"active": false, "visible": false, "position": 0},
		}))
	}
	return nil, nil
}
