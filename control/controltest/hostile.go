package controltest

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Hostile is a request that is wrong somewhere, and that every server of the API has to
// refuse with a class.
type Hostile struct {
	Operation string // that it is made of
	Name      string // what is wrong
	Method    string
	Target    string // of the request line
	Header    string // lines, besides Host, Content-Length and Authorization
	Body      string
}

// Hostiles makes requests that are wrong out of the operations of an OpenAPI document. host
// is a host that exists; no body that is refused for its form has more than big bytes, but one
// of each operation that has.
func Hostiles(document []byte, host string, big int) ([]Hostile, error) {
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string
			RequestBody *struct {
				Content map[string]struct {
					Schema struct {
						Ref string `json:"$ref"`
					}
				}
			}
			Parameters []struct {
				Name, In string
				Schema   struct{ Type string }
			}
		}
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
				Required   []string
			}
		}
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return nil, err
	}
	var out []Hostile
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		fill := strings.NewReplacer("{host}", host, "{id}", "golang.go", "{verb}", "enable")
		at := fill.Replace(path)
		for _, method := range slices.Sorted(maps.Keys(doc.Paths[path])) {
			op := doc.Paths[path][method]
			method = strings.ToUpper(method)
			add := func(name, method, target, header, body string) {
				out = append(out, Hostile{op.OperationID, name, method, target, header, body})
			}
			for _, m := range []string{"PUT", "PATCH", "DELETE", "POST", "GET", "OPTIONS", "TRACE", "HOSTSUP", strings.ToLower(method)} {
				if _, known := doc.Paths[path][strings.ToLower(m)]; !known || m == strings.ToLower(method) {
					add("method "+m, m, at, "", "")
				}
			}
			last := strings.LastIndexByte(at, '/')
			for name, target := range map[string]string{
				"two slashes": "/" + at, "an empty segment": at[:last] + "/" + at[last:], "a slash at the end": at + "/", "a dot": at[:last] + "/." + at[last:],
				"up": "/v1/../" + at[1:], "hidden up": "/v1/%2e%2e/" + at[1:], "up and out": at + "/../../../../../../etc/passwd", "hidden": at + "/%2e%2e%2f%2e%2e%2fetc/passwd",
				"a slash that is escaped": at[:last] + "%2F" + at[last+1:], "a backslash": at[:last] + "\\" + at[last+1:], "a NUL": at + "%00", "a semicolon": at + ";x=1",
				"capitals": strings.ToUpper(at), "another version": "/v2" + at[3:], "no version": at[3:], "bytes that are no text": at + "%ff%fe", "twice": at + at,
			} {
				if strings.HasPrefix(target, "/") { // else it is no request of HTTP, see Malformed
					add(name, method, target, "", "{}")
				}
			}
			for _, q := range []string{"nothing=1", "%zz", "a=%00", "%00=1", "host=x;host=y"} {
				add("query "+q, method, at+"?"+q, "", "{}")
			}
			for _, p := range op.Parameters {
				for _, v := range []string{"x", "-1", "1e9", "99999999999999999999", "%00", "1.5"} {
					switch {
					case p.Schema.Type == "string" || p.Schema.Type == "array": // every text is one
					case p.In == "query":
						add(p.Name+" is "+v, method, at+"?"+p.Name+"="+v, "", "")
						add(p.Name+" twice", method, at+"?"+p.Name+"=1&"+p.Name+"=1", "", "")
					case p.In == "header":
						add(p.Name+" is "+v, method, at, p.Name+": "+strings.ReplaceAll(v, "%00", "no")+"\r\n", "")
					}
				}
				if p.In == "path" {
					for _, v := range []string{"nobody", "..%2f..%2fetc%2fpasswd", "%00", "%ff", strings.Repeat("x", 5000), "%3Cscript%3E", "%0d%0aX:%20y"} {
						add(p.Name+" is "+v[:min(len(v), 20)], method, strings.Replace(strings.Replace(path, "{"+p.Name+"}", v, 1), "{"+p.Name+"}", v, 1), "", "")
						out[len(out)-1].Target = fill.Replace(out[len(out)-1].Target)
					}
				}
			}
			if op.RequestBody == nil || op.RequestBody.Content["application/json"].Schema.Ref == "" {
				continue
			}
			ref := op.RequestBody.Content["application/json"].Schema.Ref
			schema := doc.Components.Schemas[ref[strings.LastIndexByte(ref, '/')+1:]]
			for name, body := range map[string]string{
				"nothing": "", "null bytes": "\x00\x00", "half": `{"`, "no object": `[]`, "a number": `1e400`, "a text": `"x"`, "deep": strings.Repeat("[", big/2), "deep objects": strings.Repeat(`{"a":`, big/8),
				"two": `{} {}`, "an unknown field": `{"nothing":1}`, "bad text": "{\"\xff\xfe\":1}", "something behind it": `{}]`, "a comment": `{} // x`, "XML": `<a/>`,
				"a form": "a=1&b=2", "too much": `{"` + strings.Repeat("x", 10<<20) + `":1}`,
			} {
				add("body: "+name, method, at, "", body)
			}
			for field := range schema.Properties {
				for _, v := range []string{`{"a":{}}`, `[[1]]`, `-1e400`, `99999999999999999999999`} {
					if field != "params" || v == `-1e400` { // params are anything
						add("field "+field+" is "+v, method, at, "", fmt.Sprintf("{%q:%s}", field, v))
					}
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Hostile) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Malformed are bytes that are no request of HTTP.
func Malformed() []string {
	return []string{
		"", "\r\n", "\x00\x01\x02\x03", "GET\r\n\r\n", "GET /v1/status\r\n\r\n", "GET /v1/status HTTP/9.9\r\n\r\n", "GET /v1/status HTTP/1.1\r\n\r\n", "GET  /v1/status HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET /v1/status HTTP/1.1\r\nHost: h\r\nBad Header: x\r\n\r\n", "GET /v1/status HTTP/1.1\r\nHost: h\r\nX: \x00\r\n\r\n",
		"POST /v1/reload HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", "POST /v1/reload HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
		"POST /v1/reload HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n", "GET /v1/%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://[::1/v1/status HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /v1/status HTTP/1.1\r\nHost: h\r\nX: " + strings.Repeat("x", 1<<17) + "\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"POST /v1/hosts/ts/call HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", "POST /v1/hosts/ts/call HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{",
	}
}

// Raw returns the bytes of the request. name is what it calls the server, and token is
// sent with it, unless it is "".
func (h Hostile) Raw(name, token string) string {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n%s", h.Method, h.Target, name, len(h.Body), h.Header)
	if token != "" {
		head += "Authorization: Bearer " + token + "\r\n"
	}
	return head + "\r\n" + h.Body
}

// Answer is what a server has answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Send sends bytes to a server and returns what it answers; nil if it answers nothing. With
// half, the server is told that no more bytes come, and may take the caller for gone.
func Send(network, address, bytes string, half bool) (*Answer, error) {
	c, err := net.Dial(network, address)
	if err != nil {
		return nil, err
	}
	sent := make(chan struct{})
	defer func() {
		_ = c.Close() // it is over in any case
		<-sent
	}()
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		close(sent)
		return nil, err
	}
	go func() {
		defer close(sent)
		_, _ = io.WriteString(c, bytes) // it may be refused before all of it was read
		if c, ok := c.(interface{ CloseWrite() error }); ok && half {
			_ = c.CloseWrite()
		}
	}()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil { // it does not have to answer
		return nil, nil
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return &Answer{res.StatusCode, res.Header, body}, err
}
