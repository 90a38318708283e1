package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/internal/capture"
	"github.com/hostsup/hostsup/supervisor"
)

// linesOf yields the lines of a stream as values of T. An error is the last element.
func linesOf[T any](ctx context.Context, c *Client, method, path string, body any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for text, err := range c.lines(ctx, method, path, body) {
			var line T
			if err == nil {
				err = json.Unmarshal(text, &line)
			}
			if err != nil {
				yield(line, c.broken(ctx, err))
				return
			}
			if !yield(line, nil) {
				return
			}
		}
	}
}

// eventLine is a line of the history.
type eventLine struct {
	supervisor.Event
	lostLine
}

// Events returns the history and, with follow, later events until ctx or the
// supervisor ends. An event with only Lost set counts missed events. An error is the
// last element.
func (c *Client) Events(ctx context.Context, follow bool) iter.Seq2[supervisor.Event, error] {
	query := url.Values{"follow": {strconv.FormatBool(follow)}}
	return func(yield func(supervisor.Event, error) bool) {
		for line, err := range linesOf[eventLine](ctx, c, http.MethodGet, prefix+"/events"+queryOf(query), nil) {
			line.Event.Lost = line.lostLine.Lost
			if !yield(line.Event, err) {
				return
			}
		}
	}
}

// Logs returns the last n lines of a host's output and, with follow, later lines
// until ctx or the supervisor ends. An error is the last element.
func (c *Client) Logs(ctx context.Context, host string, n int, follow bool) iter.Seq2[capture.Line, error] {
	query := url.Values{"n": {strconv.Itoa(n)}, "follow": {strconv.FormatBool(follow)}}
	return linesOf[capture.Line](ctx, c, http.MethodGet, hostPath(host, "logs")+queryOf(query), nil)
}

// AllLogs returns the last n lines of the output of hosts, by time, and with follow
// later lines until ctx or the supervisor ends. names are hosts, groups or hosts with
// instances; without names it is all hosts, also those that are added later. An error
// is the last element.
func (c *Client) AllLogs(ctx context.Context, names []string, n int, follow bool) iter.Seq2[HostLine, error] {
	query := url.Values{"host": names, "n": {strconv.Itoa(n)}, "follow": {strconv.FormatBool(follow)}}
	return linesOf[HostLine](ctx, c, http.MethodGet, prefix+"/logs"+queryOf(query), nil)
}

// Message is a notification or a request that a host made. One with only Lost set
// counts missed messages.
type Message struct {
	Time   time.Time       `json:"time"`
	Host   string          `json:"host"`
	Life   uint64          `json:"life"`
	Kind   string          `json:"kind"` // notification or request
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Lost   uint64          `json:"lost,omitempty"`
}

// Messages returns the notifications and requests that a host makes from now on
// until ctx or the supervisor ends. An error is the last element.
func (c *Client) Messages(ctx context.Context, host string) iter.Seq2[Message, error] {
	return linesOf[Message](ctx, c, http.MethodGet, hostPath(host, "messages"), nil)
}

// Stream calls a method with a streamed result and returns its elements. Leaving the
// loop cancels the request. An error is the last element.
func (c *Client) Stream(ctx context.Context, q Request) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		for line, err := range linesOf[itemLine](ctx, c, http.MethodPost, hostPath(q.Host, "call"), q.body(true)) {
			if !yield(line.Item, err) {
				return
			}
		}
	}
}

// lines returns the documents of a stream up to its end. A stream that was cut off
// is an error.
func (c *Client) lines(ctx context.Context, method, path string, body any) iter.Seq2[json.RawMessage, error] {
	return func(yield func(json.RawMessage, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		res, err := c.do(ctx, method, path, body)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = res.Body.Close() }()
		for dec := json.NewDecoder(res.Body); ; {
			var text json.RawMessage
			err := dec.Decode(&text)
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			var last endLine
			if err == nil {
				err = json.Unmarshal(text, &last)
			}
			switch {
			case err != nil:
				yield(nil, c.broken(ctx, err))
				return
			case last.Error != nil:
				yield(nil, last.Error)
				return
			case last.End:
				return
			}
			if !yield(text, nil) {
				return
			}
		}
	}
}
