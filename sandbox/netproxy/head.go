package netproxy

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/hostsup/hostsup/sandbox/allow"
)

// request is the head of an HTTP request to a proxy.
type request struct {
	method  string
	connect bool
	target  allow.Target
	path    string // the path for the origin server; "" for CONNECT
	minor   byte   // of HTTP/1.
	fields  []field
}

type field struct{ name, value string }

func bad(format string, args ...any) *refusal {
	return &refusal{http.StatusBadRequest, 0, fmt.Sprintf(format, args...)}
}

// headEnd finds the end of a head in the bytes so far; 0 if they are incomplete. It
// refuses a line that does not end in CR LF at once, so that the proxy does not wait
// for the rest.
func headEnd(b []byte, from int) (end int, r *refusal) {
	for i := max(from-3, 0); i < len(b); i++ {
		switch {
		case b[i] == 0:
			return 0, bad("a zero byte in the request")
		case b[i] != '\n':
		case i == 0 || b[i-1] != '\r':
			return 0, bad("a line of the request does not end in CR LF")
		case i >= 3 && b[i-2] == '\n':
			return i + 1, nil
		}
	}
	return 0, nil
}

// parseHead parses a complete head, with the empty line at its end.
func parseHead(head []byte) (*request, *refusal) {
	lines := strings.Split(string(bytes.TrimSuffix(head, []byte("\r\n\r\n"))), "\r\n")
	parts := strings.Split(lines[0], " ")
	if len(parts) != 3 || !isToken(parts[0]) || parts[1] == "" {
		return nil, bad("not an HTTP request")
	}
	q := &request{method: parts[0]}
	switch parts[2] {
	case "HTTP/1.1":
		q.minor = 1
	case "HTTP/1.0":
	default:
		if strings.HasPrefix(parts[2], "HTTP/") {
			return nil, &refusal{http.StatusHTTPVersionNotSupported, 0, "only HTTP/1.0 and HTTP/1.1 are supported"}
		}
		return nil, bad("not an HTTP request")
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		value = strings.Trim(value, " \t")
		if !ok || !isToken(name) {
			return nil, bad("an invalid header field")
		}
		for i := range len(value) {
			if c := value[i]; c < ' ' && c != '\t' || c == 0x7f {
				return nil, bad("a control byte in header field %s", name)
			}
		}
		q.fields = append(q.fields, field{name, value})
	}
	if r := q.takeTarget(parts[1]); r != nil {
		return nil, r
	}
	return q, nil
}

// takeTarget parses the request's target: authority form for CONNECT, absolute
// form otherwise.
func (q *request) takeTarget(s string) *refusal {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return bad("the target of the request contains a byte that is not allowed")
		}
	}
	authority := s
	if q.method == http.MethodConnect {
		q.connect = true
	} else {
		scheme, rest, ok := strings.Cut(s, "://")
		switch {
		case !ok:
			return bad("this is a proxy: the request needs a full URL")
		case strings.EqualFold(scheme, "https"):
			return bad("https needs CONNECT")
		case !strings.EqualFold(scheme, "http"):
			return bad("only http URLs are supported")
		case strings.ContainsRune(rest, '#'):
			return bad("a fragment in the URL")
		}
		i := strings.IndexAny(rest, "/?")
		if i < 0 {
			i = len(rest)
		}
		authority, q.path = rest[:i], rest[i:]
		switch {
		case strings.ContainsRune(authority, '@'):
			return bad("a user in the URL")
		case q.path == "" && q.method == http.MethodOptions:
			q.path = "*"
		case !strings.HasPrefix(q.path, "/"):
			q.path = "/" + q.path
		}
		if _, _, ok := allow.SplitHostPort(authority); !ok {
			authority = strings.TrimSuffix(authority, ":") + ":80"
		}
	}
	t, err := allow.ParseTarget(authority)
	if err != nil {
		return bad("%v", err)
	}
	q.target = t
	return nil
}

// origin returns the head for the origin server: with its name, without fields for
// the proxy, and with a connection for this request only.
func (q *request) origin() []byte {
	hop := map[string]bool{"host": true, "connection": true, "keep-alive": true, "te": true, "upgrade": true}
	upgrade := ""
	for _, f := range q.fields {
		switch strings.ToLower(f.name) {
		case "connection":
			for _, o := range strings.Split(f.value, ",") {
				o = strings.ToLower(strings.Trim(o, " \t"))
				// These delimit the body and are never hop-by-hop.
				if o != "transfer-encoding" && o != "content-length" {
					hop[o] = true
				}
			}
		case "upgrade":
			upgrade = f.value
		}
	}
	var b bytes.Buffer
	host := q.target.Host()
	if q.target.Port != 80 {
		host = q.target.String()
	} else if strings.ContainsRune(host, ':') {
		host = "[" + host + "]"
	}
	fmt.Fprintf(&b, "%s %s HTTP/1.%d\r\nHost: %s\r\n", q.method, q.path, q.minor, host)
	for _, f := range q.fields {
		if name := strings.ToLower(f.name); !hop[name] && !strings.HasPrefix(name, "proxy-") {
			fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
		}
	}
	if upgrade != "" {
		fmt.Fprintf(&b, "Connection: upgrade\r\nUpgrade: %s\r\n\r\n", upgrade)
	} else {
		b.WriteString("Connection: close\r\n\r\n")
	}
	return b.Bytes()
}

func isToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; !(c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

// httpRefusal returns a complete response with the reason.
func httpRefusal(status int, reason string) []byte {
	body := "hostsup: " + reason + "\n"
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(body), body)
}
