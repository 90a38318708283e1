package terminals

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// launch is the argument of $createTerminal (TerminalLaunchConfig).
type launch struct {
	Name      string
	ShellPath string
	ShellArgs json.RawMessage // a list, or on Windows a text
	Cwd       json.RawMessage // a path or a URI
	Env       map[string]*string
	StrictEnv bool
	Custom    bool   `json:"isExtensionCustomPtyTerminal"`
	Message   string `json:"initialText"`
}

// create answers $createTerminal. The process is started afterwards: what the extension sends
// meanwhile is its first input.
func (s *Service) create(c *workbench.Call) (any, error) {
	var extension string
	var l launch
	if err := c.Args(&extension, &l); err != nil {
		return nil, err
	}
	if n := max(len(l.Name), len(extension)); n > maxName {
		return nil, workbench.Invalid("window.createTerminal: a name of %d bytes, limit %d", n, maxName)
	}
	t := &terminal{extension: extension, name: l.Name, host: c.Host, life: c.Life, custom: l.Custom}
	if !l.Custom {
		var err error
		if t.program, err = s.programOf(c, l); err != nil {
			return nil, err
		}
		if t.name == "" {
			t.name = filepath.Base(t.program.args[0])
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return nil, s.begin(t)
}

// begin opens a terminal and starts what is in it. The caller must hold mu.
func (s *Service) begin(t *terminal) error {
	t.kick, t.stop = make(chan struct{}, 1), make(chan struct{})
	if t.custom {
		if err := s.open(t); err != nil {
			return err
		}
		if h := s.hosts[t.host.Name()]; h != nil {
			h.Tell(extTerminals+"$startExtensionTerminal", workbench.Params(t.id, map[string]int{"columns": cols, "rows": rows}))
		}
		return nil
	}
	changes := s.environs[t.host.Name()]
	before := t.program.environ
	t.program.environ = func(env []string) []string { return applied(changes, before(env)) }
	if err := s.open(t); err != nil {
		return err
	}
	s.work.Add(1)
	t.host.Background(func() {
		defer s.work.Done()
		t.run()
	})
	return nil
}

func (s *Service) disposeOf(c *workbench.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil {
		t.end(reasonExtension, nil)
	}
	return nil, nil
}

// sendText answers $sendText: the id, the text, and whether it is executed.
func (s *Service) sendText(c *workbench.Call) (any, error) {
	var text string
	var execute bool
	if err := c.Args(nil, &text, &execute); err != nil {
		return nil, err
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\r"), "\n", "\r")
	if execute && !strings.HasSuffix(text, "\r") {
		text += "\r"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil {
		return nil, t.enter(text)
	}
	return nil, nil
}

// customData answers $sendProcessData: output of a terminal that an extension plays.
func (s *Service) customData(c *workbench.Call) (any, error) {
	var data string
	if err := c.Args(nil, &data); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil && t.custom {
		t.received([]byte(data))
		if h := s.hosts[t.host.Name()]; h != nil {
			h.Tell(extTerminals+"$acceptProcessAckDataEvent", workbench.Params(t.id, len(data)))
		}
	}
	return nil, nil
}

func (s *Service) customReady(c *workbench.Call) (any, error) {
	var pid int
	if err := c.Args(nil, &pid); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil && t.custom {
		s.hosts.Tell(extTerminals+"$acceptTerminalProcessId", workbench.Params(t.id, pid))
		if t.started != nil {
			t.started(pid)
		}
	}
	return nil, nil
}

func (s *Service) customExit(c *workbench.Call) (any, error) {
	var code *int
	if err := c.Args(nil, &code); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil && t.custom {
		t.end(reasonProcess, code)
	}
	return nil, nil
}

// customProperty answers $sendProcessProperty: of what a terminal of an extension tells, its name is
// used. Its size has no meaning without a window.
func (s *Service) customProperty(c *workbench.Call) (any, error) {
	var property struct {
		Type  string
		Value json.RawMessage
	}
	var name string
	if err := c.Args(nil, &property); err != nil {
		return nil, err
	}
	if property.Type != "title" || json.Unmarshal(property.Value, &name) != nil {
		return nil, nil
	}
	if len(name) > maxName {
		return nil, workbench.Invalid("Pseudoterminal.onDidChangeName: a name of %d bytes, limit %d", len(name), maxName)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.find(c); t != nil && t.custom {
		t.name = name
		s.hosts.Tell(extTerminals+"$acceptTerminalTitleChange", workbench.Params(t.id, name))
	}
	return nil, nil
}
