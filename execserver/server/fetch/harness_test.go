package fetch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

// seen is a request as a server got it.
type seen struct {
	method, path string
	headers      []header
	body         string
	head         string // its bytes
}

// get is the first value of a header.
func (s *seen) get(name string) string {
	for _, h := range s.headers {
		if h.name == name {
			return h.value
		}
	}
	return ""
}

// serve answers every connection with what answer writes; it knows no HTTP that
// is not written here. It returns the address.
func serve(t testing.TB, answer func(w net.Conn, q *seen)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			all.Go(func() {
				defer c.Close()
				if q, err := readRequest(bufio.NewReader(c)); err == nil {
					answer(c, q)
				}
			})
		}
	})
	return l.Addr().String()
}

func readRequest(r *bufio.Reader) (*seen, error) {
	q := &seen{}
	length := 0
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		q.head += line
		line = strings.TrimSuffix(line, "\r\n")
		if line == "" {
			break
		}
		if q.method == "" {
			f := strings.Fields(line)
			if len(f) != 3 {
				return nil, errors.New(line)
			}
			q.method, q.path = f[0], f[1]
			continue
		}
		name, value, _ := strings.Cut(line, ": ")
		q.headers = append(q.headers, header{name, value})
		if name == "content-length" {
			length, _ = strconv.Atoi(value)
		}
	}
	b := make([]byte, length)
	_, err := io.ReadFull(r, b)
	q.body = string(b)
	return q, err
}

// say writes a whole response.
func say(w io.Writer, status int, head string, body string) {
	fmt.Fprintf(w, "HTTP/1.1 %d X\r\n%scontent-length: %d\r\n\r\n%s", status, head, len(body), body)
}

// echo answers with the head and the body of the request.
func echo(w net.Conn, q *seen) { say(w, 200, "", q.head+q.body) }

// do makes a request and reads all of its body.
func do(t testing.TB, c *Client, p wire.HTTPRequestParams) (wire.HTTPResponse, *wire.Error) {
	t.Helper()
	if p.RequestID == "" {
		p.RequestID = "r"
	}
	r, b, bad := c.Do(t.Context(), p)
	if b != nil {
		got, text := collect(b)
		r.Body = got
		if text != "" {
			return r, wire.Internal("%s", text)
		}
	}
	return r, bad
}

// collect runs a body; text is its error.
func collect(b *Body) (all []byte, text string) {
	var buf bytes.Buffer
	b.Run(func(d *wire.HTTPBodyDelta) error {
		buf.Write(d.Delta)
		if d.Error != nil {
			text = *d.Error
		}
		return nil
	})
	return buf.Bytes(), text
}

func client(t testing.TB, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(func() {
		c.Close()
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.active) != 0 {
			t.Errorf("%d requests are still on record: %v", len(c.active), c.active)
		}
	})
	return c
}

func get(url string) wire.HTTPRequestParams {
	return wire.HTTPRequestParams{Method: "GET", URL: url, RequestID: "r"}
}

func ptr[T any](v T) *T { return &v }

// Do takes a request and makes it at once.
func (c *Client) Do(ctx context.Context, p wire.HTTPRequestParams) (wire.HTTPResponse, *Body, *wire.Error) {
	r, bad := c.Begin(ctx, p)
	if bad != nil {
		return wire.HTTPResponse{}, nil, bad
	}
	return r.Do()
}
