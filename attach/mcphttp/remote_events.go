package mcphttp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"

	"github.com/hostsup/hostsup/codec"
)

const (
	// reopen is how long a stream that was cut off is left alone, unless the server says
	// otherwise, and the wait doubles up to lastReopen while it cannot be opened.
	reopen     = time.Second
	lastReopen = 30 * time.Second
	// maxReopen bounds what the server says.
	minReopen, maxReopen = 100 * time.Millisecond, time.Minute
)

// cursor is how far a stream of events was read.
type cursor struct {
	last  string        // id of the last event; "" if events have none
	retry time.Duration // before it is opened again
	large bool          // an event was over the limit
}

// stream hands on the events for a request until its answer has come. A stream that is cut
// off goes on behind the last event, if events have ids.
func (r *Remote) stream(ctx context.Context, c *call, res *http.Response) error {
	at := &cursor{retry: reopen}
	for {
		err := r.events(c, res, at)
		_ = res.Body.Close()
		switch {
		case ctx.Err() != nil || !r.isOpen(c):
			return nil //nolint:nilerr // the request is over, however its stream was
		case c.modern && c.method == methodListen:
			res, err = r.again(ctx, c, at.retry) //nolint:bodyclose // closed above, in the next turn
		case at.large:
			return r.tooLarge()
		case at.last == "" || c.modern:
			return lost(r.URL.Host, err)
		default:
			res, err = r.resume(ctx, at) //nolint:bodyclose // closed above, in the next turn
		}
		if err != nil {
			return err
		}
	}
}

func lost(host string, err error) error {
	if err == nil {
		err = errors.New("the server has ended it")
	}
	return fmt.Errorf("the stream of %s has ended before the answer, so it is not known whether the request was carried out: %w", host, err)
}

// resume opens the rest of a stream.
func (r *Remote) resume(ctx context.Context, at *cursor) (*http.Response, error) {
	if err := pause(ctx, at.retry); err != nil {
		return nil, err
	}
	res, err := r.get(ctx, at.last)
	switch {
	case err != nil:
		return nil, err
	case isEvents(res):
		return res, nil
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusNoContent || res.StatusCode == http.StatusOK {
		return nil, lost(r.URL.Host, nil)
	}
	_, err = r.refused(res, nil)
	return nil, fmt.Errorf("the rest of a stream: %w", err)
}

// again asks once more to be told news, of which some may have been missed.
func (r *Remote) again(ctx context.Context, c *call, wait time.Duration) (*http.Response, error) {
	for ; ; wait = min(2*wait, lastReopen) {
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		res, err := r.do(ctx, http.MethodPost, &c.message, true, nil, nil)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil && isEvents(res):
			return res, nil
		case err == nil:
			_, err = r.refused(res, nil)
			_ = res.Body.Close()
			var over *fatal
			if errors.As(err, &over) || !isBusy(res.StatusCode) {
				return nil, err
			}
		}
	}
}

func isEvents(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return res.StatusCode == http.StatusOK && kind == typeEvents
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// get opens a stream of events behind one of them; last is "" for the stream of what belongs
// to no request.
func (r *Remote) get(ctx context.Context, last string) (*http.Response, error) {
	return r.do(ctx, http.MethodGet, nil, true, func(h http.Header) {
		if last != "" {
			h.Set(headerLast, last)
		}
	}, nil)
}

// listen hands on what the server says that belongs to no request, while Connect goes on. A
// server need not have such a stream.
func (r *Remote) listen() {
	at := &cursor{retry: reopen}
	opened := false
	for wait := reopen; pause(r.ctx, 0) == nil; {
		res, err := r.get(r.ctx, at.last)
		switch {
		case err != nil:
			// A server that is away while nobody needs it may be back in time.
			var over *fatal
			if errors.As(err, &over) && !r.passes(err) {
				r.report(err)
				return
			}
		case isEvents(res):
			opened, wait = true, reopen
			err := r.events(nil, res, at)
			_ = res.Body.Close()
			if at.large {
				at.large = false
				r.Log(fmt.Sprintf("a message of %s was dropped: it is larger than %d bytes", r.URL.Host, r.MaxMessage))
			} else if err != nil && r.ctx.Err() == nil {
				r.Log(fmt.Sprintf("the stream of news of %s was cut off: %v", r.URL.Host, err))
			}
			if pause(r.ctx, at.retry) != nil {
				return
			}
			continue
		default:
			_, err := r.refused(res, nil)
			_ = res.Body.Close()
			if res.StatusCode == http.StatusUnauthorized || opened && !isBusy(res.StatusCode) {
				r.report(err)
				return
			}
			if !isBusy(res.StatusCode) {
				if res.StatusCode != http.StatusMethodNotAllowed {
					r.Log(fmt.Sprintf("there is no stream of news: %s", res.Status))
				}
				return
			}
		}
		if pause(r.ctx, wait) != nil {
			return
		}
		wait = min(2*wait, lastReopen)
	}
}

// events hands on events until the stream ends. c is the request that they are for; nil: none.
func (r *Remote) events(c *call, res *http.Response, at *cursor) error {
	body := io.Reader(res.Body)
	if r.IdleTimeout > 0 {
		idle := time.AfterFunc(r.IdleTimeout, func() { _ = res.Body.Close() })
		defer idle.Stop()
		body = &alive{body, idle, r.IdleTimeout}
	}
	lines := bufio.NewReaderSize(body, 16<<10)
	var data []byte
	var kind, id string
	tooLarge := false
	for {
		name, value, whole, err := field(lines, r.MaxMessage)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return err // the event that was begun is not whole, and is dropped
		}
		tooLarge = tooLarge || !whole
		switch name {
		case "data":
			if len(data) > 0 {
				data = append(data, '\n')
			}
			if data = append(data, value...); len(data) > r.MaxMessage {
				data, tooLarge = nil, true
			}
		case "event":
			kind = string(value)
		case "id":
			if id = string(value); len(id) <= 1<<10 && bytes.IndexByte(value, 0) < 0 {
				at.last = id
			}
		case "retry":
			if n, err := strconv.ParseUint(string(value), 10, 31); err == nil {
				at.retry = min(max(time.Duration(n)*time.Millisecond, minReopen), maxReopen)
			}
		case "":
			at.large = at.large || tooLarge
			if len(data) > 0 && !tooLarge && (kind == "" || kind == "message") {
				if c != nil && messageOf(data).kind == codec.Response {
					r.begun(c, res, data)
				}
				if err := r.deliver(c, data); err != nil {
					r.Log(err.Error())
				}
			}
			data, kind, tooLarge = nil, "", false
			if c != nil && !r.isOpen(c) {
				return nil
			}
		}
	}
}

// alive tells that a stream is not idle.
type alive struct {
	io.Reader
	idle *time.Timer
	time time.Duration
}

func (a *alive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.idle.Reset(a.time)
	return n, err
}

// field reads a line of a stream of events; the name is "" for the line that ends an event,
// and ":" for a comment. It returns false for a line of more than limit bytes, of which the
// rest is skipped.
func field(r *bufio.Reader, limit int) (name string, value []byte, whole bool, err error) {
	whole = true
	var line []byte
	for more := true; more; {
		part, err := r.ReadSlice('\n')
		if more = errors.Is(err, bufio.ErrBufferFull); err != nil && !more {
			return "", nil, false, err
		}
		if whole = whole && len(line)+len(part) <= limit+64; whole {
			line = append(line, part...)
		}
	}
	line = bytes.TrimRight(line, "\r\n")
	if len(line) == 0 {
		return "", nil, whole, nil
	}
	head, value, _ := bytes.Cut(line, []byte(":"))
	if len(head) == 0 {
		return ":", nil, whole, nil
	}
	return string(head), bytes.TrimPrefix(value, []byte(" ")), whole, nil
}
