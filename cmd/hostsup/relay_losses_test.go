//go:build unix

package main

import (
	"context"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// tools is an MCP server whose supervisor ends when it is asked to.
func tools(_ context.Context, rw io.ReadWriteCloser) error {
	defer rw.Close()
	session := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{})
	r := session.NewReader(rw)
	for {
		var m codec.Message
		if r.Next(&m) != nil {
			return nil
		}
		if m.Kind != codec.Request {
			continue
		}
		out := codec.Message{Kind: codec.Response, ID: m.ID, Result: codec.Raw(`{}`)}
		switch m.Method {
		case "initialize":
			out.Result = codec.Raw(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"tools","version":"1"}}`)
		case "end":
			return supervisor.ErrClosed
		}
		b, err := session.Append(nil, &out)
		if err == nil {
			_, err = rw.Write(b)
		}
		if err != nil {
			return err
		}
	}
}

// A supervisor that is lost again and again is back for its programs after 2 seconds at the latest,
// as docs/protocols.md promises, whatever the jitter is.
func TestRelayBreaksAreShort(t *testing.T) {
	rule := relayRestart()
	for n := range rule.MaxCrashes {
		if d := rule.Backoff.Delay(n, 1); d > 2*time.Second {
			t.Errorf("the break after loss %d is up to %s", n+1, d)
		}
	}
}

// A program whose supervisor is lost two hundred times gets one answer to each call, and
// neither memory nor goroutines grow with that.
func TestRelayAfterManyLosses(t *testing.T) {
	host := controltest.NewHost(record.HostStatus{Name: "tools", Protocol: "jsonrpc-lines", State: lifecycle.Running, Life: 1})
	host.Enc, host.OnAttach = jsonrpc.Lines(jsonrpc.Options{}), tools
	client := control.NewClient(controltest.Serve(t, &controltest.Supervisor{Members: []*controltest.Host{host}}, control.Options{}))
	defer client.Close()
	join := func(ctx context.Context) (*control.Attachment, error) { return client.Join(ctx, "tools") }
	first, err := join(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	in, send := io.Pipe()
	receive, out := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := newApp(in, out, io.Discard).attachRelay(&relay{
			host: "tools", join: join, first: first, within: time.Minute,
			restart: lifecycle.RestartRule{
				MaxCrashes: 1000, Window: time.Hour,
				Backoff: lifecycle.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Multiplier: 1},
			},
		}, first)
		served <- err
		_ = out.CloseWithError(io.EOF)
	}()
	session := jsonrpc.Lines(jsonrpc.Options{}).Open(codec.Limits{})
	r := session.NewReader(receive)
	var id uint32
	put := func(kind codec.Kind, method, params string) {
		t.Helper()
		m := codec.Message{Kind: kind, Method: method, Params: codec.Raw(params)}
		if kind == codec.Request {
			id++
			m.ID = id
		}
		b, err := session.Append(nil, &m)
		if err == nil {
			_, err = send.Write(b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	changed := 0 // how often the list of tools has changed
	next := func(is func(*codec.Message) bool) {
		t.Helper()
		for {
			var m codec.Message
			if err := r.Next(&m); err != nil {
				t.Fatal(err)
			}
			if m.Kind == codec.Response && m.ID != id {
				t.Fatalf("an answer to %d, which is not open", m.ID)
			}
			if m.Method == "notifications/tools/list_changed" {
				changed++
			}
			if is(&m) {
				return
			}
		}
	}
	answer := func(fails bool) {
		t.Helper()
		next(func(m *codec.Message) bool {
			if m.Kind == codec.Response && (m.Err != nil) != fails {
				t.Fatalf("call %d: %v", id, m.Err)
			}
			return m.Kind == codec.Response
		})
	}
	put(codec.Request, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"agent","version":"1"}}`)
	answer(false)
	put(codec.Notification, "notifications/initialized", `{}`)

	used := func() (bytes uint64, goroutines int) {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc, runtime.NumGoroutine()
	}
	const losses, warm, growth = 200, 40, 1 << 20
	var before uint64
	var running int
	for n := range losses {
		if n == warm {
			before, running = used()
		}
		seen := changed
		put(codec.Request, "end", `{}`)
		answer(true)
		if changed == seen { // else the next life was there before the answer was told
			next(func(*codec.Message) bool { return changed > seen })
		}
		put(codec.Request, "tools/call", `{"name":"x"}`)
		answer(false)
	}
	after, now := used()
	t.Logf("%d bytes and %d goroutines after %d losses, %d and %d after %d", before, running, warm, after, now, losses)
	if after > before+growth || now > running+10 {
		t.Errorf("%d bytes and %d goroutines after %d losses, %d and %d after %d", before, running, warm, after, now, losses)
	}
	if err := send.Close(); err != nil {
		t.Error(err)
	}
	var rest codec.Message
	for r.Next(&rest) == nil { // ends with the relay
		t.Logf("at the end: %s", rest.Method)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}
