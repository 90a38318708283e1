package mcphttp

import (
	"net/http"
	"regexp"
	"slices"

	"github.com/hostsup/hostsup/internal/jsonwalk"
)

const (
	// paramPrefix begins the headers that repeat arguments of a tool, and paramKey is what
	// the schema of an argument has that is to be repeated.
	paramPrefix = "Mcp-Param-"
	paramKey    = "x-mcp-header"

	maxTools      = 4096
	maxParams     = 64 // of one tool
	maxParamDepth = 16

	base64Prefix, base64Suffix = "=?base64?", "?="
)

// params is what a client has learned of the arguments that are to be repeated in headers, by
// the names of tools. Only the revisions without sessions have that.
type params map[string][]param

// param is one such argument.
type param struct {
	header string
	path   []string
}

var headerToken = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

// learn reads an answer to tools/list.
func (p *params) learn(answer []byte) {
	if *p == nil {
		*p = params{}
	}
	jsonwalk.Array(jsonwalk.Find(answer, "result.tools"), func(tool []byte) bool {
		var list []param
		declared(jsonwalk.Member(tool, "inputSchema"), nil, &list)
		name := jsonwalk.Text(jsonwalk.Member(tool, "name"))
		delete(*p, name)
		if len(list) > 0 && len(*p) < maxTools {
			(*p)[name] = list
		}
		return true
	})
}

// declared adds the arguments below a schema that are to be repeated.
func declared(schema []byte, path []string, list *[]param) {
	if len(schema) == 0 || schema[0] != '{' || len(path) > maxParamDepth || len(*list) >= maxParams {
		return
	}
	if name := jsonwalk.Text(jsonwalk.Member(schema, paramKey)); headerToken.MatchString(name) && len(path) > 0 {
		*list = append(*list, param{paramPrefix + name, slices.Clone(path)})
	}
	jsonwalk.Object(jsonwalk.Member(schema, "properties"), func(name string, value []byte) bool {
		declared(value, append(path, name), list)
		return true
	})
}

// mirror sets the headers of a call of a tool.
func (p params) mirror(h http.Header, request []byte) {
	given := jsonwalk.Member(request, "params")
	for _, x := range p[jsonwalk.Text(jsonwalk.Member(given, "name"))] {
		value := jsonwalk.Member(given, "arguments")
		for _, name := range x.path {
			value = jsonwalk.Member(value, name)
		}
		switch {
		case len(value) == 0 || value[0] == '{' || value[0] == '[' || string(value) == "null":
		case value[0] == '"':
			h.Set(x.header, headerText(jsonwalk.Text(value)))
		default: // a number, true or false
			h.Set(x.header, string(value))
		}
	}
}
