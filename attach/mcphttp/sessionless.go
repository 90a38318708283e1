package mcphttp

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// metaVersion is where a request without a session names its revision.
const metaVersion = "io.modelcontextprotocol/protocolVersion"

// named says which of the params of a method its header Mcp-Name repeats.
var named = map[string]string{
	"tools/call": "name", "prompts/get": "name", "resources/read": "uri",
	"tasks/get": "taskId", "tasks/update": "taskId", "tasks/cancel": "taskId",
}

// revisionOf returns the revision that a message names, "" for those with sessions.
func revisionOf(m message) string {
	return jsonwalk.Text(jsonwalk.Member(jsonwalk.Find(m.text, "params._meta"), metaVersion))
}

// alone answers a request of a revision without sessions. It stands for a program that
// attaches, makes the request, and leaves; so its caller takes it back by leaving.
func (s *Server) alone(w http.ResponseWriter, r *http.Request, host string, list []message, line []byte, asJSON, asEvents bool) error {
	m := list[0]
	switch {
	case line[0] == '[' || m.kind == codec.Response:
		return wrong(http.StatusBadRequest, codeInvalidRequest, "revision %s has one request in each body, and no responses", sessionless)
	case m.kind == codec.Notification:
		w.WriteHeader(http.StatusAccepted) // there is nothing that it could be about
		return nil
	}
	if text := disagree(r, m); text != "" {
		w.Header().Set("Content-Type", typeJSON)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write(failure(m.id, codeMismatch, text)) // the caller may be gone
		return nil
	}
	o, err := s.begin(host, s.opt.Caller(r), true)
	if err != nil {
		return err
	}
	defer o.end(errDeleted)
	x := &exchange{Server: s, w: w, r: r, o: o, asJSON: asJSON, asEvents: asEvents, brief: true}
	return x.run(list, line)
}

// disagree returns what the headers of a request, which whoever passes it on may go by, say
// otherwise than its body, "" for nothing.
func disagree(r *http.Request, m message) string {
	for _, c := range []struct{ header, body string }{
		{headerVersion, revisionOf(m)},
		{headerMethod, m.method},
		{headerName, jsonwalk.Text(jsonwalk.Find(m.text, "params."+named[m.method]))},
	} {
		has := r.Header.Get(c.header)
		if c.header == headerName {
			if named[m.method] == "" {
				continue
			}
			if inner, ok := strings.CutPrefix(has, "=?base64?"); ok {
				text, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, "?="))
				if err != nil || !strings.HasSuffix(inner, "?=") {
					return "the header " + c.header + " is not in base64: " + cut(has)
				}
				has = string(text)
			}
		}
		if has != c.body {
			return "the header " + c.header + " is \"" + cut(has) + "\", and the body has \"" + cut(c.body) + "\""
		}
	}
	return ""
}

// briefStatus returns the status of a response in the revisions without sessions.
func briefStatus(text []byte) int {
	switch string(jsonwalk.Find(text, "error.code")) {
	case "-32020", "-32021", "-32022":
		return http.StatusBadRequest
	case "-32601":
		return http.StatusNotFound
	}
	return http.StatusOK
}
