package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
)

// Client talks to the supervisor behind one control socket. Every error it
// returns is an *[Error]. It connects when it is used first, and anew when the
// supervisor was replaced.
type Client struct {
	socket   string
	anyOwner bool
	http     *http.Client
}

// ClientOption changes a [Client].
type ClientOption func(*Client)

// AnyOwner lets root talk to the supervisor of another user. It is for a
// socket that a person has named; at a place that is looked for by default,
// another user may have put it there for root to find.
func AnyOwner() ClientOption { return func(c *Client) { c.anyOwner = true } }

// NewClient makes a client of the control socket at a path. Who listens there
// has to be root or the caller's own user.
func NewClient(socket string, opts ...ClientOption) *Client {
	c := &Client{socket: socket}
	for _, opt := range opts {
		opt(c)
	}
	c.http = &http.Client{Transport: &http.Transport{
		DialContext:         c.dial,
		MaxIdleConnsPerHost: 2,
		IdleConnTimeout:     30 * time.Second,
		// Of a supervisor that does not answer at all; it agrees within milliseconds.
		ExpectContinueTimeout: 10 * time.Second,
		DisableCompression:    true,
	}}
	return c
}

// Close closes idle connections. It does not end what is under way.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status returns the whole supervisor, or what belongs to some hosts, groups and
// exec servers.
func (c *Client) Status(ctx context.Context, names ...string) (*supervisor.Status, error) {
	return get[supervisor.Status](ctx, c, prefix+"/status", url.Values{"host": names})
}

// Start returns when the host runs; an error says why it does not.
func (c *Client) Start(ctx context.Context, host string) (*actors.HostStatus, error) {
	return post[actors.HostStatus](ctx, c, hostPath(host, "start"), nil)
}

// Stop returns when the host is stopped.
func (c *Client) Stop(ctx context.Context, host string) (*actors.HostStatus, error) {
	return post[actors.HostStatus](ctx, c, hostPath(host, "stop"), nil)
}

// Restart returns when the host runs again.
func (c *Client) Restart(ctx context.Context, host string) (*actors.HostStatus, error) {
	return post[actors.HostStatus](ctx, c, hostPath(host, "restart"), nil)
}

// Reset clears the crash window of a host; a failed one starts again.
func (c *Client) Reset(ctx context.Context, host string) (*actors.HostStatus, error) {
	return post[actors.HostStatus](ctx, c, hostPath(host, "reset"), nil)
}

// Wait returns when the host has come into one of the states. With a time-out
// of 0 only ctx ends it.
func (c *Client) Wait(ctx context.Context, host string, timeout time.Duration, states ...lifecycle.State) (*actors.HostStatus, error) {
	return post[actors.HostStatus](ctx, c, hostPath(host, "wait"), waitRequest{States: states, Timeout: timeout.Seconds()})
}

// Request is what to ask a host for.
type Request struct {
	Host       string
	Method     string
	Params     json.RawMessage // nil is null
	Timeout    time.Duration   // 0: the host's own; not for notifications and streams' elements
	Idempotent bool            // may be sent again to the next life of the host
}

func (q Request) body(stream bool) callRequest {
	return callRequest{Method: q.Method, Params: q.Params, Timeout: q.Timeout.Seconds(), Idempotent: q.Idempotent, Stream: stream}
}

// Call asks a host and returns its result.
func (c *Client) Call(ctx context.Context, q Request) (json.RawMessage, error) {
	out, err := post[callResponse](ctx, c, hostPath(q.Host, "call"), q.body(false))
	if err != nil {
		return nil, err
	}
	return out.Result, nil
}

// Notify tells a host something that it does not answer.
func (c *Client) Notify(ctx context.Context, q Request) error {
	_, err := post[struct{}](ctx, c, hostPath(q.Host, "notify"), q.body(false))
	return err
}

// Crashes returns the crash reports of a host, or of all when host is "",
// newest last.
func (c *Client) Crashes(ctx context.Context, host string) ([]actors.CrashReport, error) {
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
func (c *Client) Crash(ctx context.Context, id string) (*actors.CrashReport, error) {
	return get[actors.CrashReport](ctx, c, prefix+"/crashes/"+url.PathEscape(id), nil)
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

// document asks for one document.
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
	_, _ = io.Copy(io.Discard, res.Body) // the connection is kept
	return out, nil
}

// do sends a request and returns the answer, the body of which the caller
// closes. An answer that tells of an error is an error.
func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var text bytes.Buffer
	if body != nil {
		if err := encoder(&text).Encode(body); err != nil {
			return nil, invalid("the request cannot be said in JSON: " + err.Error())
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://hostsup"+path, &text)
	if err != nil {
		return nil, invalid(err.Error())
	}
	if body != nil {
		req.Header.Set("Content-Type", typeJSON)
	}
	return c.send(ctx, req)
}

// send is do for a request that is made.
func (c *Client) send(ctx context.Context, req *http.Request) (*http.Response, error) {
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(ctx, err)
	}
	if res.StatusCode == http.StatusOK {
		return res, nil
	}
	defer func() { _ = res.Body.Close() }()
	var told errorBody
	if err := json.NewDecoder(res.Body).Decode(&told); err != nil || told.Error == nil {
		return nil, &Error{Class: Unknown, Message: fmt.Sprintf("%s is not a supervisor's control socket: it answered %q", c.socket, res.Status)}
	}
	return nil, told.Error
}

// broken turns what the transport reports into an *Error.
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
	if strings.Contains(err.Error(), "malformed HTTP") { // the library has no type for it
		return &Error{Class: Unknown, Message: fmt.Sprintf("%s is not a supervisor's control socket: what listens there speaks something else", c.socket)}
	}
	return &Error{Class: Disconnected, Message: fmt.Sprintf("the supervisor at %s went away before it answered (%v)", c.socket, rootCause(err))}
}

// rootCause leaves out the URL, which means nothing to a person here.
func rootCause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
