package vscode

import (
	"encoding/json"
	"path/filepath"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// Editor has what hosts of a household get from their editor instead of from [Options]. It must
// be safe for concurrent use, and its methods must not block for long. Hosts with an editor write
// their logs and output channels by MainThreadLogger.$log, and get a folder for logs of the scheme
// vscode-log, whose files are those with the same path.
type Editor interface {
	// Opening returns the params of ExtHostConfiguration.$initializeConfiguration for a life of a
	// host with these extensions. An error fails the start.
	Opening(host string, life uint64, descriptions []json.RawMessage) (codec.Raw, error)
	// Described notes that a life has these extensions now. tell is called with the params of
	// [MethodReconfigured] if its settings have changed.
	Described(host string, life uint64, descriptions []json.RawMessage, tell func(codec.Raw) error) error
	// Workspace returns the present workspace, nil for none. It must not be changed.
	Workspace() *Present
}

// editors has the editors by household.
type editors struct {
	mu   sync.Mutex
	list map[string]Editor
}

// Follow makes e the editor of a household, or none with nil; see [Protocol.Household].
func (p *Protocol) Follow(household string, e Editor) {
	p.editors.mu.Lock()
	defer p.editors.mu.Unlock()
	if e == nil {
		delete(p.editors.list, household)
		return
	}
	p.editors.list[household] = e
}

// Editor returns the editor of a host, or nil.
func (p *Protocol) Editor(host string) Editor {
	p.editors.mu.Lock()
	defer p.editors.mu.Unlock()
	return p.editors.list[p.Household(host)]
}

// EditorHome returns the folder in which the editor of a host may keep what is its own. A confined
// host is not granted it.
func (p *Protocol) EditorHome(host string) string {
	state := p.opt.state(host)
	return filepath.Join(filepath.Dir(state), ".editor", filepath.Base(state))
}
