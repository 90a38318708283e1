package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// lsp is the Language Server Protocol, 3.17.
type lsp struct{}

func (lsp) ping() string                   { return MethodPing }
func (lsp) names() map[int64]string        { return lspNames }
func (lsp) cancels(method string) bool     { return method == "$/cancelRequest" }
func (lsp) cancelled(params []byte) []byte { return member(params, "id") }
func (lsp) progresses(method string) bool  { return method == "$/progress" }
func (lsp) token() string                  { return "token" }
func (lsp) none() string                   { return "null" }

func (lsp) cancel(dst []byte, id uint32) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":`...)
	return append(strconv.AppendUint(dst, uint64(id), 10), "}}"...)
}

func (lsp) answersCancelled() bool { return true }

func (lsp) goodbye() (*codec.Message, []codec.Message) {
	return &codec.Message{Kind: codec.Request, Method: "shutdown"},
		[]codec.Message{{Kind: codec.Notification, Method: "exit"}}
}

// params adds the token by which the server can tell how it gets on.
func (lsp) params(s *Session, m *codec.Message, f *frame) {
	if !m.Progress || m.Kind != codec.Request || first(m.Params) != '{' {
		f.plain(m.Params)
		return
	}
	members, taken := 0, false
	fields(m.Params, func(key string, _ span) {
		members++
		taken = taken || key == "workDoneToken"
	})
	if taken {
		f.plain(m.Params)
		return
	}
	s.progress.add(m.ID)
	f.insert(m.Params, bytes.IndexByte(m.Params, '{'), members > 0, func(dst []byte) []byte {
		return strconv.AppendUint(append(dst, `"workDoneToken":`...), uint64(m.ID), 10)
	})
}

// member is the value of a key of the object that params is, nil when there is
// none; of several it is the last.
func member(params []byte, name string) []byte {
	var value []byte
	fields(params, func(key string, v span) {
		if key == name {
			value = v.in(params)
		}
	})
	return value
}

// openingID is the id of the requests that open a connection, one after the
// other. The supervisor's later requests go on from 2.
const openingID = 1

// lspHandshake is initialize, its answer, initialized.
type lspHandshake struct {
	s      *Session
	params codec.Raw
	err    error
	done   bool
	peer   codec.Peer
}

func (lsp) handshake(s *Session, h codec.Hello) codec.Handshake {
	hs := &lspHandshake{s: s}
	hs.params, hs.err = lspParams(h)
	return hs
}

func lspParams(h codec.Hello) (codec.Raw, error) {
	over, err := initMembers(h.Init)
	if err != nil {
		return nil, err
	}
	params := map[string]any{
		"processId":        nil,
		"clientInfo":       map[string]string{"name": h.Supervisor, "version": h.Version},
		"rootUri":          nil,
		"capabilities":     struct{}{},
		"workspaceFolders": nil,
	}
	if h.PID != 0 {
		params["processId"] = h.PID
	}
	if h.Dir != "" {
		uri := fileURI(h.Dir)
		params["rootUri"] = uri
		params["workspaceFolders"] = []map[string]string{{"uri": uri, "name": filepath.Base(h.Dir)}}
	}
	// Whoever names a root does not want another beside it.
	for _, key := range [...]string{"rootPath", "rootUri", "workspaceFolders"} {
		if _, named := over[key]; named {
			params["rootUri"] = nil
			delete(params, "workspaceFolders")
		}
	}
	return mergeMembers(params, over)
}

// initMembers are the members that Hello.Init puts over an opening request's params.
func initMembers(init any) (map[string]json.RawMessage, error) {
	if init == nil {
		return nil, nil
	}
	raw, err := Encoding{}.Marshal(init)
	if err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	var over map[string]json.RawMessage
	if err := (Encoding{}).Unmarshal(raw, &over); err != nil {
		return nil, fmt.Errorf("init: a map expected, %s", quote(raw, 64))
	}
	return over, nil
}

func mergeMembers(params map[string]any, over map[string]json.RawMessage) (codec.Raw, error) {
	for key, value := range over {
		params[key] = value
	}
	raw, err := Encoding{}.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	return raw, nil
}

// fileURI is the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // C:/…
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// early are the requests that a server may make before it has answered initialize. The
// second one is made by typescript-language-server up to version 3.
var early = [...]string{"window/showMessageRequest", "window/workDoneProgress/create"}

func (hs *lspHandshake) Start() ([]codec.Message, bool) {
	if hs.err != nil {
		return nil, false
	}
	return []codec.Message{{Kind: codec.Request, ID: openingID, Method: "initialize", Params: hs.params}}, false
}

func (hs *lspHandshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	switch {
	case hs.err != nil:
		return nil, false, hs.err
	case hs.done:
		return nil, true, nil
	case m.Kind == codec.Notification, m.Kind == codec.Request && slices.Contains(early[:], m.Method):
		// LSP allows window/showMessage, window/logMessage, telemetry/event,
		// $/progress and the first request; servers have more to tell.
		return nil, false, codec.ErrUnrelated
	case m.Kind != codec.Response || m.ID != openingID:
		return nil, false, codec.Early(m, "the answer to initialize")
	case m.Err != nil:
		return nil, false, fmt.Errorf("initialize: %w", m.Err)
	}
	var result struct {
		ServerInfo serverInfo `json:"serverInfo"`
	}
	if err := readResult(m.Result, &result); err != nil {
		return nil, false, fmt.Errorf("initialize: %w", err)
	}
	hs.done = true
	hs.peer = codec.Peer{Name: result.ServerInfo.Name, Version: result.ServerInfo.Version, Caps: hs.s.caps()}
	hs.s.opened(hs.params, m.Result)
	return []codec.Message{{Kind: codec.Notification, Method: "initialized", Params: codec.Raw("{}")}}, true, nil
}

func (hs *lspHandshake) Peer() codec.Peer { return hs.peer }

// serverInfo is what a server says of itself. What does not fit is left out:
// it is shown to people and decides nothing.
type serverInfo struct{ Name, Version string }

func (i *serverInfo) UnmarshalJSON(b []byte) error {
	var v struct{ Name, Version any }
	_ = json.Unmarshal(b, &v)
	name, _ := v.Name.(string)
	version, _ := v.Version.(string)
	*i = serverInfo{cut(name), cut(version)}
	return nil
}

// cut bounds a name that a peer gives itself.
func cut(s string) string { return s[:min(len(s), 256)] }

// readResult decodes the object that opens a connection.
func readResult(raw codec.Raw, out any) error {
	if first(raw) != '{' {
		seen := "null"
		if len(raw) > 0 {
			seen = quote(raw, 64)
		}
		return &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: "an object expected as result, " + seen, Bytes: evidence(raw), InMessage: true}
	}
	err := Encoding{}.Unmarshal(raw, out)
	var frame *codec.FrameError
	if err != nil && !errors.As(err, &frame) {
		err = &codec.FrameError{Err: codec.ErrShape, Offset: -1, Detail: err.Error(), Bytes: evidence(raw), InMessage: true}
	}
	return err
}
