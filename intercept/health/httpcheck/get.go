// Package httpcheck checks by HTTP whether a host is healthy. It is apart from package
// health, so that a program which does not use it does not link an HTTP client.
package httpcheck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
)

// Get asks for a URL. The host is healthy if the status is 2xx or 3xx and the first 64 KiB
// of the body contain Expect. A redirect is an answer; it is not followed. No proxy is
// used, and certificates are checked. It is a health.Probe.
type Get struct {
	URL    string
	Expect string // "": any body
}

// maxBody is how much of an answer is read.
const maxBody = 64 << 10

// String returns "http" and the URL without its password.
func (g Get) String() string {
	u, err := url.Parse(g.URL)
	if err != nil {
		return "http"
	}
	return "http " + u.Redacted()
}

// Validate returns what is wrong with the URL.
func (g Get) Validate() error {
	u, err := url.Parse(g.URL)
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	switch {
	case err != nil:
		return err
	case u.Scheme != "http" && u.Scheme != "https":
		return errors.New("it must begin with http:// or https://")
	case u.Hostname() == "":
		return errors.New("it names no host")
	}
	return nil
}

// Probe asks once, over a connection of its own, and returns why the host is not healthy.
func (g Get) Probe(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.URL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("User-Agent", "hostsup-health")
	transport := &http.Transport{DisableKeepAlives: true, MaxResponseHeaderBytes: maxBody}
	defer transport.CloseIdleConnections()
	resp, err := transport.RoundTrip(req) // follows no redirect, and knows no proxy
	if e, ok := errors.AsType[*net.OpError](err); ok {
		return e.Err // String says the address
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 399:
		return fmt.Errorf("status %s", resp.Status)
	case bytes.Contains(body, []byte(g.Expect)):
		return nil
	case err != nil:
		return fmt.Errorf("read the body: %w", err)
	}
	return fmt.Errorf("the body does not contain %q", g.Expect)
}
