package control_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/supervisor"
)

// A stream of events says its numbers, so that a client that was cut off goes on where
// it was.
func TestServerSentEvents(t *testing.T) {
	sup := everything()
	sup.Live = make(chan supervisor.Event)
	close(sup.Live)
	socket := controltest.Serve(t, sup, control.Options{})
	tests := []struct{ path, last, want string }{
		{"/v1/events", "", "id: 1\ndata: {\"seq\":1,…}\n\nevent: lost\ndata: {\"lost\":2}\n\nid: 4\ndata: {\"seq\":4,…}\n\nevent: end\ndata: {\"end\":true}\n\n"},
		{"/v1/events?follow=true", "3", "id: 4\ndata: {\"seq\":4,…}\n\nevent: end\ndata: {\"end\":true}\n\n"},
		{"/v1/events?since=3", "1", "id: 4\ndata: {\"seq\":4,…}\n\nevent: end\ndata: {\"end\":true}\n\n"},
		{"/v1/hosts/ts/logs?n=1", "", "data: {\"seq\":5,…}\n\nevent: end\ndata: {\"end\":true}\n\n"},
	}
	for _, tt := range tests {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://h"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept", "text/event-stream")
		if tt.last != "" {
			req.Header.Set("Last-Event-ID", tt.last)
		}
		status, kind, body := do(t, socket, req)
		got := regexp.MustCompile(`(\{"seq":\d+,).*\}`).ReplaceAllString(string(body), "$1…}")
		if status != http.StatusOK || kind != "text/event-stream" || got != tt.want {
			t.Errorf("%s after %q: %d %s\n%q\nwant\n%q", tt.path, tt.last, status, kind, got, tt.want)
		}
	}
}

// What a request carries is checked by its declaration.
func TestParameters(t *testing.T) {
	socket := controltest.Serve(t, everything(), control.Options{})
	tests := []struct{ method, path, want string }{
		{"GET", "/v1/events?follow=perhaps", `follow is true or false, not "perhaps"`},
		{"GET", "/v1/events?follow=true&follow=true", "follow is given more than once"},
		{"GET", "/v1/events?since=-1", `since is a number, not "-1"`},
		{"GET", "/v1/events?folow=true", `this request has no parameter "folow"`},
		{"GET", "/v1/events?%zz", `the query is malformed: invalid URL escape "%zz"`},
		{"GET", "/v1/hosts/ts/logs", "n is missing: it is a number from 0 to 1000000"},
		{"GET", "/v1/hosts/ts/logs?n=1000001", `n is a number from 0 to 1000000, not "1000001"`},
		{"POST", "/v1/extensions/a.b/drop", `verb is one of enable, disable, isolate, release, not "drop"`},
		{"POST", "/v1/hosts/ts/wait", "the request is malformed: EOF"},
	}
	for _, tt := range tests {
		req, err := http.NewRequestWithContext(t.Context(), tt.method, "http://h"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		status, _, body := do(t, socket, req)
		var told struct{ Error control.Error }
		if err := json.Unmarshal(body, &told); err != nil {
			t.Fatal(err)
		}
		if status != http.StatusBadRequest || told.Error.Class != control.Invalid || told.Error.Message != tt.want {
			t.Errorf("%s %s: %d %s", tt.method, tt.path, status, body)
		}
	}
}

// do sends a request to a control socket.
func do(t *testing.T, socket string, req *http.Request) (status int, kind string, body []byte) {
	t.Helper()
	web := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer web.CloseIdleConnections()
	res, err := web.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("Content-Type"), body
}
