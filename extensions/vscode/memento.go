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

// Requests of hosts for the mementos of their extensions: globalState and
// workspaceState.
const (
	methodGetState = "MainThreadStorage.$initializeExtensionStorage"
	methodSetState = "MainThreadStorage.$setValue"
)

// Bounds of mementos. If a value exceeds them, the extension's update fails and the
// previous value stays.
const (
	// maxValue bounds the bytes of one value as JSON: 32 times the size at which VS Code
	// warns.
	maxValue = 16 << 20
	// maxValues bounds the extensions with a value in each scope of a host, and maxBytes
	// the bytes of all their values there.
	maxValues = 4096
	maxBytes  = 256 << 20
)

// mementos stores the mementos of extensions in files that no host can reach. The hosts
// of one protocol share it; hosts with different names do not wait for each other.
type mementos struct {
	mu       sync.Mutex
	requests uint64 // requests so far
	scopes   map[string]*scope
}

// scope is one folder of values.
type scope struct {
	mu      sync.Mutex
	written map[string]uint64 // number of the request by file, for at most maxValues files
	sizes   map[string]int64  // of the existing files; nil until load
	bytes   int64             // sum of sizes
}

// scope returns the scope of a folder.
func (m *mementos) scope(dir string) *scope {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.scopes[dir]
	if s == nil {
		s = &scope{written: map[string]uint64{}}
		m.scopes[dir] = s
	}
	return s
}

// Serve implements Serve of [codec.Features]: mementos are stored in [Options.State], by
// the name of the host. It must be called in the order of the requests, so that of two
// values the later one stays.
func (p *Protocol) Serve(method string) codec.Service {
	switch method {
	case methodGetState:
		return func(_ context.Context, host string, params codec.Raw) (codec.Raw, error) {
			path, _, err := p.memento(host, params)
			if err != nil {
				return nil, err
			}
			return p.mementos.read(path)
		}
	case methodSetState:
		p.mementos.mu.Lock()
		p.mementos.requests++
		turn := p.mementos.requests
		p.mementos.mu.Unlock()
		return func(_ context.Context, host string, params codec.Raw) (codec.Raw, error) {
			path, value, err := p.memento(host, params)
			if err != nil {
				return nil, err
			}
			return nil, p.mementos.write(path, value, turn)
		}
	}
	return nil
}

// memento parses the parameters of a request: the scope, the extension, and the value if
// there is one. path is the file of the memento.
func (p *Protocol) memento(host string, params codec.Raw) (path string, value json.RawMessage, err error) {
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
			scope += "-" + w.ID()
		}
	}
	home := p.opt.state(host)
	// A host may write below home. No name of a host begins with a dot.
	return filepath.Join(filepath.Dir(home), ".memory", filepath.Base(home), scope, url.PathEscape(id)+".json"), value, nil
}

// extensionID returns the id of an extension in lower case.
func extensionID(text string) (string, error) {
	id := strings.ToLower(text)
	if publisher, name, ok := strings.Cut(id, "."); !ok || publisher == "" || name == "" || len(id) > 200 {
		return "", &codec.Error{Name: codec.NameInvalidParams, Message: fmt.Sprintf("%.64q is no id of an extension", id)}
	}
	return id, nil
}

// read returns a value as a JSON string with the text of its JSON, or null.
func (m *mementos) read(path string) (codec.Raw, error) {
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

// write stores a value, unless a later request has stored one already.
func (m *mementos) write(path string, value json.RawMessage, turn uint64) error {
	dir, file := filepath.Split(path)
	s := m.scope(filepath.Clean(dir))
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written[file] > turn {
		return nil // a later request was faster
	}
	if err := s.load(dir); err != nil {
		return err
	}
	gone := len(value) == 0 || value[0] != '{' || string(value) == `{"$undefined":true}`
	if gone {
		value = nil
	}
	if err := s.checkRoom(file, int64(len(value))); err != nil && !gone {
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
	// A reader sees the old file or the new one.
	if err := os.WriteFile(path+"~", value, 0o600); err != nil {
		return err
	}
	if err := os.Rename(path+"~", path); err != nil {
		return err
	}
	s.set(file, int64(len(value)), false)
	return nil
}

// load reads the sizes of the files. The caller must hold mu.
func (s *scope) load(dir string) error {
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

// set records the new size of a file. The caller must hold mu.
func (s *scope) set(file string, size int64, gone bool) {
	s.bytes += size - s.sizes[file]
	if s.sizes[file] = size; gone {
		delete(s.sizes, file)
	}
}

// checkRoom returns an error if a value does not fit. The caller must hold mu.
func (s *scope) checkRoom(file string, size int64) error {
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
