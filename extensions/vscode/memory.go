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

// Bounds of what is remembered. An extension that has no room left is told so
// where it waits for that to be done; what was there before stays.
const (
	// maxValue is how many bytes one value may have as JSON: 32 times as many as VS
	// Code begins to warn of.
	maxValue = 16 << 20
	// maxValues is how many extensions may have one, in each scope of a host, and
	// maxBytes how many bytes they may have there together.
	maxValues = 4096
	maxBytes  = 256 << 20
)

// memory is what extensions have remembered, in files that no host can reach. The
// hosts of one protocol share it, and do not wait for those of another name.
type memory struct {
	mu     sync.Mutex
	asked  uint64 // requests so far
	scopes map[string]*scope
}

// scope is one folder of values.
type scope struct {
	mu      sync.Mutex
	written map[string]uint64 // by file, of at most maxValues: the request that it is of
	sizes   map[string]int64  // of the files that there are; nil: nobody has looked
	bytes   int64             // of sizes
}

// scope returns the one of a folder.
func (m *memory) scope(dir string) *scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scopes[dir]
	if s == nil {
		s = &scope{written: map[string]uint64{}}
		m.scopes[dir] = s
	}
	return s
}

// Serve is that of [codec.Features]: what extensions have remembered is kept in
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
	if id, err = extensionID(id); err != nil {
		return "", nil, err
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

// extensionID returns the id of an extension as all of them are written.
func extensionID(text string) (string, error) {
	id := strings.ToLower(text)
	if publisher, name, ok := strings.Cut(id, "."); !ok || publisher == "" || name == "" || len(id) > 200 {
		return "", &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%.64q is no id of an extension", id)}
	}
	return id, nil
}

// recall returns a value as the text of JSON, or null.
func (m *memory) recall(path string) (codec.Raw, error) {
	s := m.scope(filepath.Dir(path))
	s.mu.Lock()
	text, err := os.ReadFile(path)
	s.mu.Unlock()
	if errors.Is(err, fs.ErrNotExist) {
		return codec.Raw("null"), nil
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(string(text))
}

func (m *memory) remember(path string, value json.RawMessage, turn uint64) error {
	dir, file := filepath.Split(path)
	s := m.scope(filepath.Clean(dir))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written[file] > turn {
		return nil // there is a later one
	}
	if err := s.look(dir); err != nil {
		return err
	}
	gone := len(value) == 0 || value[0] != '{' || string(value) == `{"$undefined":true}`
	if gone {
		value = nil
	}
	if err := s.room(file, int64(len(value))); err != nil && !gone {
		return err
	}
	if _, known := s.written[file]; known || len(s.written) < maxValues {
		s.written[file] = turn
	}
	if gone {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		s.set(file, 0, true)
		return nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	// Whoever looks sees the one or the other, whole.
	if err := os.WriteFile(path+"~", value, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+"~", path); err != nil {
		return err
	}
	s.set(file, int64(len(value)), false)
	return nil
}

// look finds out how much there is. Under the lock.
func (s *scope) look(dir string) error {
	if s.sizes != nil {
		return nil
	}
	list, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	s.sizes = make(map[string]int64, len(list))
	for _, e := range list {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && !strings.HasSuffix(e.Name(), "~") {
			s.set(e.Name(), info.Size(), false)
		}
	}
	return nil
}

// set takes in what a file has become. Under the lock.
func (s *scope) set(file string, size int64, gone bool) {
	s.bytes += size - s.sizes[file]
	if s.sizes[file] = size; gone {
		delete(s.sizes, file)
	}
}

// room says whether there is room for a value. Under the lock.
func (s *scope) room(file string, size int64) error {
	before, known := s.sizes[file]
	full := func(format string, args ...any) error {
		return &codec.Error{Name: "Error", Message: fmt.Sprintf(format, args...)}
	}
	switch after := s.bytes - before + size; {
	case size > maxValue:
		return full("the value has %d bytes, limit %d", size, maxValue)
	case !known && len(s.sizes) >= maxValues:
		return full("%d extensions have a value, which is the limit", maxValues)
	case after > maxBytes && size > before:
		return full("the values of all extensions would have %d bytes, limit %d", after, maxBytes)
	}
	return nil
}
