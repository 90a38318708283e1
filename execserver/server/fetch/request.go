package fetch

import (
	"strings"

	"github.com/hostsup/hostsup/execserver/wire"
)

// request is what is sent; a redirect makes another of it.
type request struct {
	method  string
	url     *target
	headers []header // names in lower case, in the order of the client
	body    []byte
}

type header struct{ name, value string }

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

// isToken reports whether s is a name as HTTP has them.
func isToken(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && ('0' > c || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != "" && len(s) <= 1<<16
}

// isValue reports whether s can be the value of a header: nothing in it ends
// the line.
func isValue(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// get is the first value of a header.
func (r *request) get(name string) (string, bool) {
	for _, h := range r.headers {
		if h.name == name {
			return h.value, true
		}
	}
	return "", false
}

// count is how often a header is there.
func (r *request) count(name string) int {
	n := 0
	for _, h := range r.headers {
		if h.name == name {
			n++
		}
	}
	return n
}

// without is the headers but those with some names.
func without(headers []header, names ...string) []header {
	var out []header
	for _, h := range headers {
		drop := false
		for _, n := range names {
			drop = drop || h.name == n
		}
		if !drop {
			out = append(out, h)
		}
	}
	return out
}

// grouped puts headers of one name next to each other, where the first is.
func grouped(headers []header) []header {
	out := make([]header, 0, len(headers))
	at := make(map[string][]string, len(headers))
	for _, h := range headers {
		at[h.name] = append(at[h.name], h.value)
	}
	for _, h := range headers {
		for _, v := range at[h.name] {
			out = append(out, header{h.name, v})
		}
		delete(at, h.name)
	}
	return out
}
