package inspector

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// fake is the inspector's side of a session. answer receives each request and returns
// the messages to send; nil ends the connection.
func fake(t *testing.T, answer func(id int, method string) []string) *Session {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		for {
			_, data, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			var q request
			if err := json.Unmarshal(data, &q); err != nil {
				t.Errorf("%s: %v", data, err)
			}
			out := []string{fmt.Sprintf(`{"id":%d,"result":{}}`, q.ID)}
			if !strings.HasPrefix(q.Method, "NodeRuntime.") {
				out = answer(q.ID, q.Method)
			}
			if out == nil {
				return
			}
			for _, text := range out {
				if ws.Write(r.Context(), websocket.MessageText, []byte(text)) != nil {
					return
				}
			}
		}
	}))
	t.Cleanup(srv.Close)
	s, err := dial(t.Context(), "ws://"+srv.Listener.Addr().String()+"/id", new(net.Dialer).DialContext)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func ok(id int, result string) []string {
	return []string{fmt.Sprintf(`{"id":%d,"result":%s}`, id, result)}
}

func TestProfile(t *testing.T) {
	t.Parallel()
	for _, hot := range []bool{false, true} {
		var methods []string
		s := fake(t, func(id int, method string) []string {
			methods = append(methods, method)
			switch method {
			case "Profiler.startPreciseCoverage":
				return []string{fmt.Sprintf(`{"id":%d,"error":{"code":-32601,"message":"unknown"}}`, id)}
			case "Profiler.stop":
				return append([]string{`{"method":"Some.event","params":{}}`, `{"id":99,"result":{}}`}, ok(id, `{"profile":{"nodes":[]}}`)...)
			}
			return ok(id, "{}")
		})
		got, err := s.Profile(t.Context(), time.Millisecond, hot)
		if err != nil || string(got) != `{"nodes":[]}` {
			t.Errorf("%s, %v", got, err)
		}
		want := "Profiler.enable Profiler.start Profiler.stop"
		if hot {
			want = "Profiler.enable Profiler.start Profiler.startPreciseCoverage Profiler.stop"
		}
		if text := strings.Join(methods, " "); text != want {
			t.Errorf("%s", text)
		}
	}
}

// Any message other than an answer must be an error, and no call may wait for ever.
func TestNonsense(t *testing.T) {
	t.Parallel()
	refused := new(CallError)
	for _, tt := range []struct {
		name string
		says func(id int) []string
		want error
	}{
		{"no JSON", func(int) []string { return []string{"nonsense"} }, ErrProtocol},
		{"a list", func(int) []string { return []string{"[1]"} }, ErrProtocol},
		{"nothing in it", func(int) []string { return []string{"{}"} }, ErrProtocol},
		{"half of it", func(id int) []string { return []string{fmt.Sprintf(`{"id":%d,"result":{"profile":{"no`, id)} }, ErrProtocol},
		{"no profile", func(id int) []string { return ok(id, "{}") }, ErrProtocol},
		{"null", func(id int) []string { return ok(id, `{"profile":null}`) }, ErrProtocol},
		{"a number", func(id int) []string { return ok(id, "7") }, ErrProtocol},
		{"an error", func(id int) []string { return []string{fmt.Sprintf(`{"id":%d,"error":{"code":1,"message":"no"}}`, id)} }, refused},
		{"too much", func(id int) []string { return ok(id, `"`+strings.Repeat("x", maxMessage)+`"`) }, ErrGone},
		{"the end", func(int) []string { return nil }, ErrGone},
		{"it ends", func(int) []string { return []string{`{"method":"NodeRuntime.waitingForDisconnect"}`} }, ErrGone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, func(id int, method string) []string {
				if method == "Profiler.stop" {
					return tt.says(id)
				}
				return ok(id, "{}")
			})
			_, err := s.Profile(t.Context(), time.Millisecond, false)
			if tt.want == error(refused) {
				if !errors.As(err, &refused) {
					t.Errorf("%v", err)
				}
				return
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A slow process is waited for until the caller gives up, and the session stays usable.
func TestSlow(t *testing.T) {
	t.Parallel()
	s := fake(t, func(id int, method string) []string {
		if method == "slow" {
			return []string{}
		}
		return ok(id, `{"a":1}`)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := s.Call(ctx, "slow", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v", err)
	}
	var out struct{ A int }
	if err := s.Call(t.Context(), "quick", nil, &out); err != nil || out.A != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	cancel()
	if _, err := s.Profile(ctx, time.Hour, false); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	s.Close()
	if err := s.Call(t.Context(), "late", nil, nil); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

func piece(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return `{"method":"HeapProfiler.addHeapSnapshotChunk","params":{"chunk":` + string(b) + `}}`
}

func TestSnapshot(t *testing.T) {
	t.Parallel()
	s := fake(t, func(id int, _ string) []string {
		return append([]string{piece(`{"a":`), `{"method":"HeapProfiler.heapStatsUpdate","params":{}}`, piece(`"é"}`)}, ok(id, "{}")...)
	})
	for range 2 {
		var out bytes.Buffer
		if err := s.Snapshot(t.Context(), &out); err != nil || out.String() != `{"a":"é"}` {
			t.Errorf("%q, %v", out.String(), err)
		}
	}
}

// A snapshot that is cut off, that cannot be written, or that is invalid, is an error.
func TestSnapshotFails(t *testing.T) {
	t.Parallel()
	full := errors.New("the disk is full")
	for _, tt := range []struct {
		name string
		says func(id int) []string
		to   io.Writer
		want error
	}{
		{"empty", func(id int) []string { return ok(id, "{}") }, io.Discard, ErrProtocol},
		{"cut", func(int) []string { return nil }, io.Discard, ErrGone},
		{"nonsense", func(int) []string {
			return []string{piece("a"), `{"method":"HeapProfiler.addHeapSnapshotChunk","params":7}`}
		}, io.Discard, ErrProtocol},
		{"full", func(id int) []string { return append([]string{piece("a")}, ok(id, "{}")...) }, failing{full}, full},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := fake(t, func(id int, _ string) []string { return tt.says(id) })
			if err := s.Snapshot(t.Context(), tt.to); !errors.Is(err, tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestShut(t *testing.T) {
	t.Parallel()
	s := fake(t, func(int, string) []string { return nil })
	if err := s.Shut(t.Context(), true); err != nil {
		t.Errorf("%v", err)
	}
	s = fake(t, func(id int, _ string) []string { return ok(id, `{"exceptionDetails":{"text":"Uncaught"}}`) })
	if err := s.Shut(t.Context(), true); err == nil || !strings.Contains(err.Error(), "Uncaught") {
		t.Errorf("%v", err)
	}
}

// An address that refuses connections, or is not an inspector, must give ErrGone.
func TestDialFails(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.NotFoundHandler())
	addr := srv.Listener.Addr().String()
	for range 2 {
		if _, err := dial(t.Context(), "ws://"+addr+"/id", new(net.Dialer).DialContext); !errors.Is(err, ErrGone) {
			t.Errorf("%v", err)
		}
		srv.Close()
	}
}

// Each interval gives a heap profile and a CPU profile, until the context ends.
func TestAllocations(t *testing.T) {
	t.Parallel()
	s := fake(t, func(id int, method string) []string {
		switch method {
		case "HeapProfiler.getSamplingProfile":
			return []string{fmt.Sprintf(`{"id":%d,"result":{"profile":{"head":{}}}}`, id)}
		case "Profiler.stop":
			return []string{fmt.Sprintf(`{"id":%d,"result":{"profile":{"nodes":[]}}}`, id)}
		}
		return []string{fmt.Sprintf(`{"id":%d,"result":{}}`, id)}
	})
	ctx, cancel := context.WithCancel(t.Context())
	taken := 0
	err := s.Allocations(ctx, time.Millisecond, func(heap, cpu json.RawMessage) {
		if string(heap) != `{"head":{}}` || string(cpu) != `{"nodes":[]}` {
			t.Errorf("%s, %s", heap, cpu)
		}
		if taken++; taken == 2 {
			cancel()
		}
	})
	if err != nil || taken != 2 {
		t.Errorf("%v after %d", err, taken)
	}

	gone := fake(t, func(id int, method string) []string {
		if method == "HeapProfiler.getSamplingProfile" {
			return nil
		}
		return []string{fmt.Sprintf(`{"id":%d,"result":{}}`, id)}
	})
	if err := gone.Allocations(t.Context(), time.Millisecond, func(_, _ json.RawMessage) { t.Error("there is no profile") }); !errors.Is(err, ErrGone) {
		t.Errorf("%v, ErrGone expected", err)
	}
}
