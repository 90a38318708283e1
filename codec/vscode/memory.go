package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// What hosts have an editor remember for their extensions: globalState and
// workspaceState.
const (
	methodRecall   = "MainThreadStorage.$initializeExtensionStorage"
	methodRemember = "MainThreadStorage.$setValue"
)

// memory is what extensions have remembered, in files that no host can reach. The
// hosts of one protocol share it.
type memory struct {
	mu      sync.Mutex
	asked   uint64            // requests so far
	written map[string]uint64 // the one that a file is of
}

// Serve implements [codec.Serving]: what extensions have remembered is kept in
// [Options.State], by the name of the host. It is to be called in the order of
// the requests: of two values the later one stays.
func (p *Protocol) Serve(method string) codec.Service {
	switch method {
	case methodRecall:
		return func(_ context.Context, host string, params codec.Raw) (codec.Raw, error) {
			path, _, err := p.remembered(host, params)
			if err != nil {
				return nil, err
			}
			return p.memory.recall(path)
		}
	case methodRemember:
		p.memory.mu.Lock()
		p.memory.asked++
		turn := p.memory.asked
		p.memory.mu.Unlock()
		return func(_ context.Context, host string, params codec.Raw) (codec.Raw, error) {
			path, value, err := p.remembered(host, params)
			if err != nil {
				return nil, err
			}
			return nil, p.memory.remember(path, value, turn)
		}
	}
	return nil
}

// remembered takes apart what a host asks: whether it is about all workspaces,
// whose it is, and the value if there is one. path is the file of that.
func (p *Protocol) remembered(host string, params codec.Raw) (path string, value json.RawMessage, err error) {
	var args []json.RawMessage
	var global bool
	var id string
	if json.Unmarshal(params, &args) != nil || len(args) < 2 || json.Unmarshal(args[0], &global) != nil || json.Unmarshal(args[1], &id) != nil {
		return "", nil, &codec.Error{Name: codec.NameInvalidParams, Message: "a scope, an extension and a value expected"}
	}
	id = strings.ToLower(id)
	if publisher, name, ok := strings.Cut(id, "."); !ok || publisher == "" || name == "" || len(id) > 200 {
		return "", nil, &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%.64q is no id of an extension", id)}
	}
	if len(args) > 2 {
		value = args[2]
	}
	scope := "global"
	if !global {
		scope = "workspace"
		if w := p.opt.Workspace; w != nil {
			scope += "-" + w.id()
		}
	}
	home := p.opt.state(host)
	// A host may write below home. The name of none begins with a dot.
	return filepath.Join(filepath.Dir(home), ".memory", filepath.Base(home), scope, url.PathEscape(id)+".json"), value, nil
}

// recall returns a value as the text of JSON, or null.
func (m *memory) recall(path string) (codec.Raw, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return codec.Raw("null"), nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

func (m *memory) remember(path string, value json.RawMessage, turn uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.written[path] > turn {
		return nil // there is a later one
	}
	m.written[path] = turn
	if len(value) == 0 || value[0] != '{' || string(value) == `{"$undefined":true}` {
		err := os.Remove(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	// Whoever looks sees the one or the other, whole.
	if err := os.WriteFile(path+"~", value, 0o600); err != nil {
		return err
	}
	return os.Rename(path+"~", path)
}
