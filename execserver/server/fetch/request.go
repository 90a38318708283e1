package fetch

import (
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/hostsup/hostsup/execserver/wire"
)

// request is what is sent; a redirect makes another of it.
type request struct {
	method  string
	url     *target
	headers headers // names in lower case, in the order of the client
	body    []byte
}

type header struct{ name, value string }

type headers []header

// prepare checks params and says what is wrong in the words that clients know.
func (c *Client) prepare(p wire.HTTPRequestParams) (*request, *wire.Error) {
	if !isToken(p.Method) {
		return nil, wire.InvalidParams("http/request method is invalid: invalid HTTP method")
	}
	u, err := parseTarget(p.URL)
	if err != nil {
		return nil, wire.InvalidParams("http/request url is invalid: %s", err)
	}
	if !u.web() {
		return nil, wire.InvalidParams("http/request only supports http and https URLs, got %s", u.scheme)
	}
	r := &request{method: p.Method, url: u}
	for _, h := range p.Headers {
		if !isToken(h.Name) {
			return nil, wire.InvalidParams("http/request header name is invalid: invalid HTTP header name")
		}
		value := h.Value
		if h.ValueEnvVar != nil {
			secret, ok := c.o.LookupEnv(*h.ValueEnvVar)
			if !ok {
				return nil, wire.InvalidParams("http/request header %s requires executor environment variable %s", h.Name, *h.ValueEnvVar)
			}
			if secret == "" {
				return nil, wire.InvalidParams("http/request header %s requires a non-empty executor environment variable %s", h.Name, *h.ValueEnvVar)
			}
			value += secret
		}
		if !isValue(value) {
			return nil, wire.InvalidParams("http/request header value is invalid for %s: failed to parse header value", h.Name)
		}
		r.headers = append(r.headers, header{strings.ToLower(h.Name), value})
	}
	if p.Body != nil {
		r.body = *p.Body
	}
	return r, nil
}

// isToken reports whether s is a name or a method of HTTP.
func isToken(s string) bool { return len(s) <= 1<<16 && httpguts.ValidHeaderFieldName(s) }

// isValue reports whether s can be the value of a header: nothing in it ends
// the line.
func isValue(s string) bool { return httpguts.ValidHeaderFieldValue(s) }

// get returns the first value of a header.
func (h headers) get(name string) (string, bool) {
	for _, one := range h {
		if one.name == name {
			return one.value, true
		}
	}
	return "", false
}

// without returns the headers without those that have one of the names.
func (h headers) without(names ...string) headers {
	return slices.DeleteFunc(slices.Clone(h), func(one header) bool { return slices.Contains(names, one.name) })
}

// grouped moves headers of one name to the place of the first of them.
func (h headers) grouped() headers {
	first := map[string]int{}
	for i, one := range slices.Backward(h) {
		first[one.name] = i
	}
	return slices.SortedStableFunc(slices.Values(h), func(a, b header) int { return first[a.name] - first[b.name] })
}
