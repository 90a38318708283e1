package control

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// Client talks to the supervisor behind one control socket or URL. Every error it returns
// is an *[Error]. It connects at its first use, and reconnects when the supervisor
// was replaced.
type Client struct {
	socket   string // where the supervisor is, for messages too
	anyOwner bool
	base     string // of URLs
	token    string // "" at a control socket
	tls      *tls.Config
	http     *http.Client
}

// ClientOption configures a [Client].
type ClientOption func(*Client)

// AnyOwner lets root talk to the supervisor of another user. It must be used only
// for a socket that a person has named: another user could create a socket at a
// default path for root to find.
func AnyOwner() ClientOption { return func(c *Client) { c.anyOwner = true } }

// WithTLS makes a client of [NewURLClient] trust the authorities of conf, and show its
// certificates. The default is what the system trusts, and no certificate.
func WithTLS(conf *tls.Config) ClientOption { return func(c *Client) { c.tls = conf } }

// NewClient makes a client of the control socket at a path. The owner of the listening
// process must be root or the caller's own user.
func NewClient(socket string, opts ...ClientOption) *Client {
	c := &Client{socket: socket, base: "http://hostsup"}
	for _, opt := range opts {
		opt(c)
	}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         c.dial,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     30 * time.Second,
		// Bounds the wait for an unresponsive supervisor; others answer within milliseconds.
		ExpectContinueTimeout: 10 * time.Second,
		DisableCompression:    true,
	}}
	return c
}

// NewURLClient makes a client of the console at a URL such as "https://ops.example:7777".
// The token is a text that the supervisor knows. It must not leave this machine without
// encryption.
func NewURLClient(address, token string, opts ...ClientOption) (*Client, error) {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return nil, invalid(fmt.Sprintf("%q is not the URL of a supervisor, such as \"https://ops.example:7777\"", address))
	case u.Scheme == "http" && !isLoopback(u.Hostname()):
		return nil, invalid(fmt.Sprintf("%q would send the token unencrypted beyond this machine: https is needed", address))
	}
	c := &Client{socket: u.Scheme + "://" + u.Host, base: u.Scheme + "://" + u.Host, token: token}
	for _, opt := range opts {
		opt(c)
	}
	c.http = &http.Client{
		Transport: &http.Transport{
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			TLSClientConfig:       c.tls,
			TLSHandshakeTimeout:   10 * time.Second,
			MaxIdleConnsPerHost:   2,
			IdleConnTimeout:       30 * time.Second,
			ExpectContinueTimeout: 10 * time.Second,
			DisableCompression:    true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it would get the token
	}
	return c, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Close closes idle connections. It does not end requests under way.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Caller returns what the supervisor lets the client do.
func (c *Client) Caller(ctx context.Context) (*Caller, error) {
	return get[Caller](ctx, c, prefix+"/caller", nil)
}

// Status returns the status of the whole supervisor, or of the named hosts, groups
// and exec servers.
func (c *Client) Status(ctx context.Context, names ...string) (*supervisor.Status, error) {
	return get[supervisor.Status](ctx, c, prefix+"/status", url.Values{"host": names})
}

// Start returns when the host is running, or with the reason why it is not.
func (c *Client) Start(ctx context.Context, host string) (*record.HostStatus, error) {
	return post[record.HostStatus](ctx, c, hostPath(host, "start"), nil)
}

// Stop returns when the host is stopped.
func (c *Client) Stop(ctx context.Context, host string) (*record.HostStatus, error) {
	return post[record.HostStatus](ctx, c, hostPath(host, "stop"), nil)
}

// Restart returns when the host is running again.
func (c *Client) Restart(ctx context.Context, host string) (*record.HostStatus, error) {
	return post[record.HostStatus](ctx, c, hostPath(host, "restart"), nil)
}

// Reset clears the crash window of a host; a failed one starts again.
func (c *Client) Reset(ctx context.Context, host string) (*record.HostStatus, error) {
	return post[record.HostStatus](ctx, c, hostPath(host, "reset"), nil)
}

// Wait returns when the host is in one of the states. With a timeout of 0 only ctx
// bounds the wait.
func (c *Client) Wait(ctx context.Context, host string, timeout time.Duration, states ...lifecycle.State) (*record.HostStatus, error) {
	return post[record.HostStatus](ctx, c, hostPath(host, "wait"), waitRequest{States: states, Timeout: timeout.Seconds()})
}

// Request is a call of a host.
type Request struct {
	Host       string
	Method     string
	Params     json.RawMessage // nil is null
	Timeout    time.Duration   // 0: the host's own; unused for notifications and elements of streams
	Idempotent bool            // may be sent again to the next life of the host
	Instance                   // of a template
}

func (q Request) body(stream bool) callRequest {
	return callRequest{Method: q.Method, Params: q.Params, Timeout: q.Timeout.Seconds(), Idempotent: q.Idempotent, Stream: stream, Instance: q.Instance}
}

// Call calls a method of a host and returns its result.
func (c *Client) Call(ctx context.Context, q Request) (json.RawMessage, error) {
	out, err := post[callResponse](ctx, c, hostPath(q.Host, "call"), q.body(false))
	if err != nil {
		return nil, err
	}
	return out.Result, nil
}

// Notify sends a host a notification.
func (c *Client) Notify(ctx context.Context, q Request) error {
	_, err := post[struct{}](ctx, c, hostPath(q.Host, "notify"), q.body(false))
	return err
}

// Crashes returns the crash reports of a host, or of all hosts if host is "", newest
// last.
func (c *Client) Crashes(ctx context.Context, host string) ([]record.CrashReport, error) {
	query := url.Values{}
	if host != "" {
		query.Set("host", host)
	}
	out, err := get[crashList](ctx, c, prefix+"/crashes", query)
	if err != nil {
		return nil, err
	}
	return out.Crashes, nil
}

// Crash returns one crash report.
func (c *Client) Crash(ctx context.Context, id string) (*record.CrashReport, error) {
	return get[record.CrashReport](ctx, c, prefix+"/crashes/"+url.PathEscape(id), nil)
}

func get[T any](ctx context.Context, c *Client, path string, query url.Values) (*T, error) {
	return document[T](ctx, c, http.MethodGet, path+queryOf(query), nil)
}

func queryOf(query url.Values) string {
	if text := query.Encode(); text != "" {
		return "?" + text
	}
	return ""
}

func post[T any](ctx context.Context, c *Client, path string, body any) (*T, error) {
	return document[T](ctx, c, http.MethodPost, path, body)
}

// document requests one document.
func document[T any](ctx context.Context, c *Client, method, path string, body any) (*T, error) {
	res, err := c.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	out := new(T)
	if err := json.NewDecoder(res.Body).Decode(out); err != nil {
		return nil, c.broken(ctx, err)
	}
	_, _ = io.Copy(io.Discard, res.Body) // so that the connection is reused
	return out, nil
}

// do sends a request and returns the response, whose body the caller must close. It
// returns a response that reports an error as an error.
func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text bytes.Buffer
	if body != nil {
		if err := encoder(&text).Encode(body); err != nil {
			return nil, invalid("the request cannot be encoded as JSON: " + err.Error())
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, &text)
	if err != nil {
		return nil, invalid(err.Error())
	}
	if body != nil {
		req.Header.Set("Content-Type", typeJSON)
	}
	return c.send(ctx, req)
}

// send is do for a prepared request.
func (c *Client) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	c.authorize(req)
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	return nil, c.refusal(res)
}

func (c *Client) authorize(req *http.Request) {
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
}

// refusal returns the error that a response reports.
func (c *Client) refusal(res *http.Response) error {
	var told errorBody
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil || told.Error == nil {
		return &Error{Class: Unknown, Message: fmt.Sprintf("%s is no supervisor: it answered %q", c.socket, res.Status)}
	}
	return told.Error
}

// broken converts an error of the transport into an *Error.
func (c *Client) broken(ctx context.Context, err error) *Error {
	var ready *Error
	switch {
	case errors.As(err, &ready):
		return ready
	case ctx.Err() == context.DeadlineExceeded:
		return &Error{Class: TimedOut, Message: "timed out waiting for the supervisor at " + c.socket}
	case ctx.Err() != nil:
		return &Error{Class: Cancelled, Message: "cancelled"}
	}
	var dial *net.OpError
	if c.token != "" && errors.As(err, &dial) && dial.Op == "dial" {
		return &Error{Class: NoSupervisor, Message: fmt.Sprintf("no supervisor at %s: %v", c.socket, dial.Err)}
	}
	var untrusted *tls.CertificateVerificationError
	var alert *net.OpError
	switch {
	case errors.As(err, &untrusted):
		return &Error{Class: Disconnected, Message: fmt.Sprintf("the certificate of %s is not trusted: %v; name the authority that has signed it", c.socket, untrusted.Err)}
	case errors.As(err, &alert) && alert.Op == "remote error": // an alert, which has no exported type
		return &Error{Class: Disconnected, Message: fmt.Sprintf("%s ended the connection: %v; it may need a certificate of the caller, of an authority that it knows", c.socket, alert.Err)}
	}
	if strings.Contains(err.Error(), "malformed HTTP") { // the library has no type for it
		return &Error{Class: Unknown, Message: fmt.Sprintf("%s is not a supervisor's control socket: the process that listens there does not speak HTTP", c.socket)}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Class: Disconnected, Message: fmt.Sprintf("the supervisor at %s ended the connection before the end of its answer: it has stopped, or the answer was taken too slowly", c.socket)}
	}
	return &Error{Class: Disconnected, Message: fmt.Sprintf("the supervisor at %s went away before it answered (%v)", c.socket, rootCause(err))}
}

// rootCause leaves out the URL, which has no meaning for a user here.
func rootCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
