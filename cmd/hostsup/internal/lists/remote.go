package lists

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// address returns the URL of a remote server, "" for a server that is started by a command.
func (e entry) address() string { return cmp.Or(e.HTTPURL, e.URL, e.ServerURL) }

// errSSE means that a server speaks the transport that MCP had before Streamable HTTP.
var errSSE = errors.New("it is reached by the transport SSE, which MCP has given up and hostsup does not speak: if the server has a URL for Streamable HTTP too, put that into the list")

// remote takes over a server that is reached at a URL.
func (l *list) remote(name string, e entry, at string) (Server, error) {
	kind := strings.ToLower(cmp.Or(e.Type, e.Transport))
	switch {
	case kind == "sse", kind == "" && l.program == Gemini && e.HTTPURL == "": // there url means that
		return Server{}, errSSE
	case kind == "ws" || kind == "websocket":
		return Server{}, errors.New("it is reached by WebSocket, which hostsup does not speak to MCP servers")
	}
	s := Server{Name: name, Workspace: l.workspace, Timeout: e.timeout()}
	var unknown bool
	if s.URL, unknown = l.text(at); unknown {
		l.note("There is a placeholder in its URL, which is not replaced here: write its value there if one is meant.")
	}
	values := map[string]any{}
	maps.Copy(values, e.Headers)
	maps.Copy(values, e.HTTPHeaders)
	var err error
	if s.Headers, err = l.texts(values, "header"); err != nil {
		return Server{}, err
	}
	for header, value := range e.EnvHeaders {
		variable, ok := value.(string)
		if !ok || variable == "" {
			return Server{}, fmt.Errorf("its header %s names no variable", header)
		}
		s.Headers[header] = Text{{Env: variable}}
	}
	for header, value := range s.Headers {
		if token, is := bearer(value); is && strings.EqualFold(header, "Authorization") {
			s.Token = token
			delete(s.Headers, header)
		} else if len(value) == 0 {
			delete(s.Headers, header)
		}
	}
	if e.TokenVar != "" {
		s.Token = Text{{Env: e.TokenVar}}
	}
	switch oauth := strings.TrimSpace(string(e.OAuth)); {
	case e.Helper != "":
		l.note("A command printed its headers: %s. Here it has none of these: set remote { token = secret(\"NAME\") }, or headers.", e.Helper)
	case s.Token == nil && len(s.Headers) == 0 && oauth != "false":
		l.note("It has no token here. If the server asks for one, or its program signed in by OAuth, set remote { token = secret(\"NAME\") }.")
	}
	return s, nil
}

// bearer returns the token in a value of the header Authorization.
func bearer(value Text) (Text, bool) {
	const scheme = "Bearer "
	if len(value) == 0 || !value[0].IsLiteral() || len(value[0].Words) < len(scheme) || !strings.EqualFold(value[0].Words[:len(scheme)], scheme) {
		return nil, false
	}
	token := slices.Clone(value)
	if token[0].Words = strings.TrimLeft(token[0].Words[len(scheme):], " "); token[0].Words == "" {
		token = token[1:]
	}
	return token, len(token) > 0
}
