package fetch

import (
	"context"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/execserver/wire"
)

var errTooMany = errors.New("too many redirects")

// follow makes a request, and those that the answers lead to.
func (c *Client) follow(ctx context.Context, r *request, redirects bool) (*answer, error) {
	for n := 0; ; n++ {
		a, err := c.send(ctx, r)
		if err != nil {
			var known *wire.Error
			if errors.As(err, &known) {
				return nil, err
			}
			return nil, fmt.Errorf("error sending request for url (%s%s)", r.url, r.url.fragment)
		}
		if !redirects {
			return a, nil
		}
		next, err := r.next(a)
		if next == nil && err == nil {
			return a, nil
		}
		a.close()
		switch {
		case err != nil:
			return nil, err
		case n >= maxRedirects:
			return nil, errTooMany
		}
		r = next
	}
}

// credentials are not taken to another host.
var credentials = []string{"authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"}

// next returns the request that an answer leads to. It returns nil when the
// answer is not a redirect, or names no target.
func (r *request) next(a *answer) (*request, error) {
	method, body, headers := r.method, r.body, r.headers
	switch a.status {
	case 301, 302:
		if method == "POST" {
			method = "GET"
		}
	case 303:
		if method != "HEAD" {
			method = "GET"
		}
	case 307, 308:
	default:
		return nil, nil
	}
	location, ok := a.headers.get("location")
	if !ok {
		return nil, nil
	}
	to, _ := r.url.resolve(location)
	if to == nil { // no URL: as if there were none
		return nil, nil
	}
	if !to.web() {
		return nil, fmt.Errorf("redirect target uses unsupported URL scheme: %s", to.scheme)
	}
	if method != r.method {
		body = nil
		headers = headers.without("content-type", "content-length", "content-encoding", "transfer-encoding")
	}
	if to.hostport() != r.url.hostport() || to.scheme != r.url.scheme {
		headers = headers.without(credentials...)
	} else if r.url.login && !to.login {
		to.user, to.password, to.login = r.url.user, r.url.password, true
	}
	// The host that a client named is for the first request only.
	headers = headers.without("referer", "host")
	switch {
	case r.url.scheme == "https" && to.scheme == "http":
	case to.origin() == r.url.origin():
		headers = append(headers, header{"referer", r.url.String()})
	default:
		headers = append(headers, header{"referer", r.url.origin() + "/"})
	}
	return &request{method: method, url: to, headers: headers, body: body}, nil
}
