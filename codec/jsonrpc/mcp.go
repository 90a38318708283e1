package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

const (
	// SessionVersion is the newest MCP revision with the handshake, which is
	// what servers are asked for.
	SessionVersion = "2025-11-25"
	// SessionlessVersion is the MCP revision without it.
	SessionlessVersion = "2026-07-28"
)

// Keys of _meta that each request of a host without session carries.
const (
	metaVersion    = "io.modelcontextprotocol/protocolVersion"
	metaCaps       = "io.modelcontextprotocol/clientCapabilities"
	metaClient     = "io.modelcontextprotocol/clientInfo"
	metaServer     = "io.modelcontextprotocol/serverInfo"
	metaToken      = "progressToken"
	methodInit     = "initialize"
	methodDiscover = "server/discover"
	methodPing     = "ping"
)

// mcp is the Model Context Protocol.
type mcp struct{}

func (mcp) ping() string                   { return methodPing }
func (mcp) names() map[int64]string        { return mcpNames }
func (mcp) cancels(method string) bool     { return method == "notifications/cancelled" }
func (mcp) cancelled(params []byte) []byte { return member(params, "requestId") }
func (mcp) progresses(method string) bool  { return method == "notifications/progress" }
func (mcp) token() string                  { return metaToken }
func (mcp) none() string                   { return "{}" }

func (mcp) cancel(dst []byte, id uint32) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`...)
	return append(strconv.AppendUint(dst, uint64(id), 10), `,"reason":"nobody waits for the result any more"}}`...)
}

func (mcp) answersCancelled() bool { return false }

func (mcp) goodbye() (*codec.Message, []codec.Message) { return nil, nil }

// meta is what is put into the _meta of each request, in order.
type meta []metaMember

type metaMember struct {
	key   string
	value codec.Raw
}

// params adds to _meta what the revision asks for and, for who wants to know
// how the server gets on, a token. What the caller put there stays.
func (mcp) params(s *Session, m *codec.Message, f *frame) {
	var add [4]metaMember
	n := 0
	if p := s.meta.Load(); p != nil && m.Kind == codec.Request {
		n = copy(add[:], *p)
	}
	var number [10]byte
	if m.Progress && m.Kind == codec.Request {
		add[n] = metaMember{metaToken, strconv.AppendUint(number[:0], uint64(m.ID), 10)}
		n++
	}
	c := first(m.Params)
	if n == 0 || c == '[' {
		f.plain(m.Params)
		return
	}
	if c != '{' {
		m = &codec.Message{ID: m.ID, Params: codec.Raw("{}")}
	}
	members := 0
	var inner span // of the value of _meta
	fields(m.Params, func(key string, v span) {
		members++
		if key == "_meta" {
			inner = v
		}
	})
	if !inner.there() {
		f.insert(m.Params, bytes.IndexByte(m.Params, '{'), members > 0, func(dst []byte) []byte {
			dst = append(dst, `"_meta":{`...)
			return append(s.appendMeta(dst, m.ID, add[:n]), '}')
		})
		return
	}
	held := 0
	rest := slices.Clone(add[:n])
	object := fields(inner.in(m.Params), func(key string, _ span) {
		held++
		rest = slices.DeleteFunc(rest, func(a metaMember) bool { return a.key == key })
	})
	if !object || len(rest) == 0 {
		f.plain(m.Params)
		return
	}
	f.insert(m.Params, inner.from, held > 0, func(dst []byte) []byte { return s.appendMeta(dst, m.ID, rest) })
}

func (s *Session) appendMeta(dst []byte, id uint32, members []metaMember) []byte {
	for i, a := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(append(append(dst, '"'), a.key...), `":`...)
		dst = append(dst, a.value...)
		if a.key == metaToken {
			s.progress.add(id)
		}
	}
	return dst
}

// mcpHandshake tries the generation with initialize, and the one without when
// that is refused: by its specification a server that knows no initialize has
// to refuse it, with an error that is its own choice. To who names a version of
// the second generation in Hello.Init it is the other way round.
type mcpHandshake struct {
	s      *Session
	client map[string]json.RawMessage // capabilities and clientInfo
	asked  string                     // the method whose answer is due
	params codec.Raw                  // what was asked with
	wanted string                     // the version asked for

	init  codec.Raw // params of initialize
	tried int       // requests made
	first error     // why the first was refused
	err   error
	done  bool
	peer  codec.Peer
}

func (mcp) handshake(s *Session, h codec.Hello) codec.Handshake {
	hs := &mcpHandshake{s: s, asked: methodInit}
	over, err := initMembers(h.Init)
	if err != nil {
		hs.err = err
		return hs
	}
	hs.wanted = SessionVersion
	if v, named := over["protocolVersion"]; named {
		var is bool
		if hs.wanted, is = text(v); !is {
			hs.err = fmt.Errorf("init: protocolVersion is %s, a string expected", quote(v, 24))
			return hs
		}
		if sessionless(hs.wanted) {
			hs.asked = methodDiscover
			over["protocolVersion"] = json.RawMessage(`"` + SessionVersion + `"`)
			hs.wanted = SessionVersion
		}
	}
	hs.init, hs.err = mergeMembers(map[string]any{
		"protocolVersion": SessionVersion,
		"capabilities":    struct{}{},
		"clientInfo":      map[string]string{"name": h.Supervisor, "version": h.Version},
	}, over)
	if hs.err == nil {
		hs.err = Encoding{}.Unmarshal(hs.init, &hs.client)
	}
	return hs
}

// sessionless says whether a version is one of those without a handshake.
// Versions are dates, which are in order as text.
func sessionless(version string) bool { return version >= SessionlessVersion }

func (hs *mcpHandshake) Start() ([]codec.Message, bool) {
	if hs.err != nil {
		return nil, false
	}
	return hs.ask(hs.asked), false
}

// ask makes one of the two requests that can open a connection.
func (hs *mcpHandshake) ask(method string) []codec.Message {
	hs.asked, hs.params = method, hs.init
	hs.tried++
	if method == methodDiscover {
		dst := append([]byte(nil), `{"_meta":{`...)
		hs.params = append(hs.s.appendMeta(dst, 0, hs.meta()), "}}"...)
	}
	return []codec.Message{{Kind: codec.Request, ID: openingID, Method: method, Params: hs.params}}
}

func (hs *mcpHandshake) meta() meta {
	return meta{
		{metaVersion, codec.Raw(`"` + SessionlessVersion + `"`)},
		{metaCaps, codec.Raw(hs.client["capabilities"])},
		{metaClient, codec.Raw(hs.client["clientInfo"])},
	}
}

func (hs *mcpHandshake) Handle(m *codec.Message) ([]codec.Message, bool, error) {
	switch {
	case hs.err != nil:
		return nil, false, hs.err
	case hs.done:
		return nil, true, nil
	case m.Kind == codec.Request && m.Method == methodPing:
		return []codec.Message{{Kind: codec.Response, ID: m.ID}}, false, nil
	case m.Kind == codec.Notification:
		return nil, false, codec.ErrUnrelated
	case m.Kind != codec.Response || m.ID != openingID:
		return nil, false, codec.Early(m, "the answer to "+hs.asked)
	case m.Err != nil:
		return hs.refused(m.Err)
	case hs.asked == methodInit:
		return hs.initialized(m.Result)
	}
	return hs.discovered(m.Result)
}

// refused tries the other generation, once.
func (hs *mcpHandshake) refused(e *codec.Error) ([]codec.Message, bool, error) {
	if hs.asked == methodDiscover && e.Code == codeUnsupportedVersion {
		var data struct{ Supported []string }
		_ = Encoding{}.Unmarshal(e.Data, &data) // an error of this code without its data is one all the same
		if !slices.ContainsFunc(data.Supported, func(v string) bool { return !sessionless(v) }) || hs.tried > 1 {
			return nil, false, versions(data.Supported)
		}
	}
	if hs.tried > 1 {
		return nil, false, fmt.Errorf("%w; and %s: %w", hs.first, hs.asked, e)
	}
	hs.first = fmt.Errorf("%s: %w", hs.asked, e)
	if hs.asked == methodInit {
		return hs.ask(methodDiscover), false, nil
	}
	return hs.ask(methodInit), false, nil
}

func (hs *mcpHandshake) initialized(raw codec.Raw) ([]codec.Message, bool, error) {
	var result struct {
		ProtocolVersion any        `json:"protocolVersion"`
		ServerInfo      serverInfo `json:"serverInfo"`
	}
	if err := readResult(raw, &result); err != nil {
		return nil, false, fmt.Errorf("%s: %w", methodInit, err)
	}
	version, _ := result.ProtocolVersion.(string)
	// Revisions with the handshake differ in nothing that matters here, so
	// that one which is not known is as good, if it is one of them.
	if version != hs.wanted && (len(version) != len(SessionVersion) || sessionless(version)) {
		return nil, false, versions([]string{version})
	}
	hs.finish(raw, result.ServerInfo)
	return []codec.Message{{Kind: codec.Notification, Method: "notifications/initialized"}}, true, nil
}

func (hs *mcpHandshake) discovered(raw codec.Raw) ([]codec.Message, bool, error) {
	var result struct {
		Versions   []string              `json:"supportedVersions"`
		ServerInfo serverInfo            `json:"serverInfo"`
		Meta       map[string]serverInfo `json:"_meta"` // of which one key is looked at
	}
	if err := readResult(raw, &result); err != nil {
		return nil, false, fmt.Errorf("%s: %w", methodDiscover, err)
	}
	if !slices.Contains(result.Versions, SessionlessVersion) {
		if hs.tried == 1 && len(result.Versions) > 0 && slices.ContainsFunc(result.Versions, func(v string) bool { return !sessionless(v) }) {
			hs.first = fmt.Errorf("%s: %w", methodDiscover, versions(result.Versions))
			return hs.ask(methodInit), false, nil
		}
		return nil, false, versions(result.Versions)
	}
	info := result.ServerInfo
	if info == (serverInfo{}) {
		info = result.Meta[metaServer]
	}
	each := hs.meta()
	hs.s.meta.Store(&each)
	hs.finish(raw, info)
	return nil, true, nil
}

func (hs *mcpHandshake) finish(result codec.Raw, info serverInfo) {
	hs.done = true
	hs.peer = codec.Peer{Name: info.Name, Version: info.Version, Caps: hs.s.caps()}
	hs.s.opened(hs.params, result)
}

func (hs *mcpHandshake) Peer() codec.Peer { return hs.peer }

// versions is the refusal of a server that speaks none of ours.
func versions(theirs []string) error {
	said := "names none"
	theirs = slices.DeleteFunc(slices.Clone(theirs), func(v string) bool { return v == "" })
	if len(theirs) > 0 {
		quoted := make([]string, min(len(theirs), 8))
		for i := range quoted {
			quoted[i] = quote([]byte(theirs[i]), 24)
		}
		said = "speaks " + strings.Join(quoted, ", ")
	}
	return &codec.FrameError{
		Err: codec.ErrVersion, Offset: -1,
		Detail: fmt.Sprintf("the server %s, this side MCP up to %s and %s", said, SessionVersion, SessionlessVersion),
	}
}
