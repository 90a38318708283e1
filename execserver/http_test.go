package execserver

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/hostsup/hostsup/execserver/wire"
)

// stream opens a body over conn. before is what comes ahead of the answer.
func stream(t *testing.T, c *Client, conn *fakeConn, id string, before func()) *body {
	t.Helper()
	var got *body
	done := make(chan error, 1)
	go func() {
		r, b, err := c.httpStream(t.Context(), wire.HTTPRequestParams{StreamResponse: true, Method: "GET", URL: "http://x/", RequestID: id})
		if err == nil && r.Status != 200 {
			t.Errorf("%+v", r)
		}
		got = b
		done <- err
	}()
	m := conn.want(wire.MethodHTTPRequest)
	if !params[wire.HTTPRequestParams](t, m).StreamResponse {
		t.Errorf("%s", m.Params)
	}
	if before != nil {
		before()
	}
	conn.result(m, wire.HTTPResponse{Status: 200})
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	return got
}

func (c *fakeConn) delta(id string, seq uint64, text string, done bool, failure *string) {
	c.t.Helper()
	c.send(string(wire.AppendBodyDelta(nil, &wire.HTTPBodyDelta{RequestID: id, Seq: seq, Delta: []byte(text), Done: done, Error: failure})))
}

func TestBody(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		body := stream(t, c, conn, "r", func() { conn.delta("r", 1, "early ", false, nil) })
		conn.delta("other", 1, "not mine", false, nil)
		conn.delta("r", 2, "late", false, nil)
		conn.delta("r", 3, "", true, nil)
		got, err := io.ReadAll(body)
		is(t, string(got), "early late")
		if err != nil {
			t.Error(err)
		}
		if err := body.Close(); err != nil {
			t.Error(err)
		}

		reset := "connection reset"
		body = stream(t, c, conn, "r", nil)
		conn.delta("r", 1, "some", false, nil)
		conn.delta("r", 2, "", true, &reset)
		got, err = io.ReadAll(body)
		if string(got) != "some" || err == nil || !strings.Contains(err.Error(), "connection reset") {
			t.Errorf("%q %v", got, err)
		}

		body = stream(t, c, conn, "r", nil)
		conn.delta("r", 1, "some", false, nil)
		conn.delta("r", 3, "more", false, nil)
		if got, err = io.ReadAll(body); string(got) != "some" || !errors.Is(err, ErrProtocol) {
			t.Errorf("%q %v", got, err)
		}

		body = stream(t, c, conn, "r", nil)
		conn.delta("r", 1, "some", false, nil)
		conn.cut()
		if got, err = io.ReadAll(body); string(got) != "some" || !errors.Is(err, ErrDisconnected) {
			t.Errorf("%q %v", got, err)
		}
	})
}

// A body that nobody reads holds the server back; one that is closed does not,
// and the server is told.
func TestBodyClose(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		body := stream(t, c, conn, "r", nil)
		sent := 0
		go func() {
			for q := uint64(1); q <= 20; q++ {
				conn.delta("r", q, strings.Repeat("x", 256<<10), false, nil)
				sent++
			}
		}()
		synctest.Wait()
		if sent < 4 || sent > 6 {
			t.Errorf("%d pieces of 256 KiB were taken", sent)
		}
		body.Close()
		synctest.Wait()
		if sent != 20 {
			t.Errorf("%d pieces after Close", sent)
		}
		is(t, string(conn.want(wire.MethodHTTPCancel).Params), `{"requestId":"r"}`)
		if _, err := body.Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}

// The end of the caller's context ends the request, whether its answer has
// come or not.
func TestHTTPGivenUp(t *testing.T) {
	bubble(t, func(t *testing.T, s *fake) {
		c, conn := s.client(Options{}, true)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, _, err := c.httpStream(ctx, wire.HTTPRequestParams{RequestID: "r"})
			done <- err
		}()
		conn.want(wire.MethodHTTPRequest)
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		conn.want(wire.MethodHTTPCancel)

		ctx, cancel = context.WithCancel(t.Context())
		go func() {
			_, b, err := c.httpStream(ctx, wire.HTTPRequestParams{RequestID: "q"})
			if err != nil {
				t.Error(err)
			}
			_, err = b.Read(make([]byte, 1))
			done <- err
		}()
		conn.result(conn.want(wire.MethodHTTPRequest), wire.HTTPResponse{Status: 200})
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		is(t, string(conn.want(wire.MethodHTTPCancel).Params), `{"requestId":"q"}`)
	})
}
