// Package window has what extensions ask of the window and the user of their editor, and what needs
// neither: the clipboard, which is text in memory, external URIs, and webview panels, which are not
// visible.
package window

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/hostsup/hostsup/workbench"
)

// maxClipboard bounds the text of the clipboard, in bytes.
const maxClipboard = 16 << 20

// Bounds of what [Service].Unseen is told.
const (
	maxUnseen = 100 // kinds of panels, for one life of a host
	maxTitle  = 200 // bytes of a title
)

// Service answers MainThreadClipboard and parts of other objects. The zero value is ready.
type Service struct {
	// Unseen is called, in one line, with what an extension wants to show that nothing shows: webview
	// panels, once for each kind of panel in a life of a host, up to 100. The call that creates a panel
	// has no result, so that the extension and whoever executes its command see no error. Unseen must be
	// set before the service is used, and must not block. nil: it is not called.
	Unseen func(host, text string)

	mu        sync.Mutex
	clipboard string
	hosts     workbench.Hosts
	told      map[string]map[panelKind]bool // by the name of the host
}

// panelKind is the extension and the type of a panel.
type panelKind struct{ extension, view string }

var _ workbench.Follower = (*Service)(nil)

// Up implements [workbench.Follower].
func (s *Service) Up(h *workbench.Host) {
	defer s.hosts.Enter(&s.mu, h)()
}

// Down implements [workbench.Follower].
func (s *Service) Down(h *workbench.Host) {
	defer s.hosts.Leave(&s.mu, h)()
	delete(s.told, h.Name())
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
// no error to tell, because extensions do not wait for the call; Unseen is told.
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
	return nil, s.unseen(c)
}

// unseen tells of a new panel, unless one of its kind was told in this life. The caller must hold mu.
func (s *Service) unseen(c *workbench.Call) error {
	var by struct {
		ID json.RawMessage `json:"id"`
	}
	var kind panelKind
	var panel struct {
		Title string `json:"title"`
	}
	if err := c.Args(&by, nil, &kind.view, &panel); err != nil {
		return err
	}
	if json.Unmarshal(by.ID, &kind.extension) != nil { // in an object in some releases
		var id struct {
			Value string `json:"value"`
		}
		_ = json.Unmarshal(by.ID, &id) // without an id, the type of the panel is told alone
		kind.extension = id.Value
	}
	host := c.Host.Name()
	told := s.told[host]
	if s.Unseen == nil || told[kind] || len(told) >= maxUnseen {
		return nil
	}
	if told == nil {
		told = map[panelKind]bool{}
		if s.told == nil {
			s.told = map[string]map[panelKind]bool{}
		}
		s.told[host] = told
	}
	told[kind] = true
	s.Unseen(host, fmt.Sprintf("%s has created the webview panel %q (%s), which no window shows",
		workbench.OneLine(kind.extension, maxTitle), workbench.OneLine(panel.Title, maxTitle), workbench.OneLine(kind.view, maxTitle)))
	return nil
}
