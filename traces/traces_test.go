package traces_test

import (
	"context"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/poll"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/traces"
)

// receiver is an OTLP/HTTP receiver.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	spans   []*otlp.Span
	service string
	header  http.Header
	status  int // of its answers
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{status: http.StatusOK}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.status != http.StatusOK {
			w.WriteHeader(r.status)
			return
		}
		var got otlp.TracesData // as the request of a collector is
		if err == nil {
			err = proto.Unmarshal(body, &got)
		}
		if err != nil || req.URL.Path != "/v1/traces" || req.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %q: %v", req.URL.Path, req.Header.Get("Content-Type"), err)
		}
		r.header = req.Header
		for _, rs := range got.ResourceSpans {
			r.service = attr(rs.Resource.Attributes, "service.name")
			for _, ss := range rs.ScopeSpans {
				r.spans = append(r.spans, ss.Spans...)
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

// answer sets the status of the answers.
func (r *receiver) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

func attr(list []*common.KeyValue, key string) string {
	for _, kv := range list {
		if kv.Key == key {
			return kv.Value.GetStringValue()
		}
	}
	return ""
}

// named returns the spans of a name.
func (r *receiver) named(name string) (list []*otlp.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.spans {
		if s.Name == name {
			list = append(list, s)
		}
	}
	return list
}

func open(t *testing.T, opt traces.Options) *traces.Traces {
	t.Helper()
	tr, err := traces.New(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := tr.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return tr
}

func start(t *testing.T) *supervisor.Supervisor {
	t.Helper()
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(supervisor.HostSpec{
		Name: "demo", Command: []string{os.Args[0]}, Env: map[string]string{"DEMO": "1"}, Protocol: native.New(),
	})}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sup.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if err := sup.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return sup
}

const (
	traceID = "0af7651916cd43dd8448eb211c80319c"
	parent  = "b7ad6b7169203331"
)

func call(t *testing.T, sup control.Supervisor, c control.Call) error {
	t.Helper()
	h, err := sup.Host("demo")
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Call(t.Context(), c)
	return err
}

func TestCallIsASpanOfItsCallersTrace(t *testing.T) {
	r := receive(t)
	tr := open(t, traces.Options{Endpoint: r.URL, Headers: map[string]string{"x-team": "editors"}, Sample: 0, Version: "v1.2.3"})
	sup := tr.Over(control.Over(start(t)))
	trace := codec.Trace{Parent: "00-" + traceID + "-" + parent + "-01", State: "a=b"}
	if err := call(t, sup, control.Call{Method: "echo", Trace: trace}); err != nil {
		t.Fatal(err)
	}
	if err := call(t, sup, control.Call{Method: "no such method", Trace: trace}); err == nil {
		t.Fatal("there is such a method")
	}
	// A trace that nobody has begun is not sampled here.
	if err := call(t, sup, control.Call{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	good, bad := r.named("demo/echo"), r.named("demo/no such method")
	if len(good) != 1 || len(bad) != 1 {
		t.Fatalf("%d and %d spans", len(good), len(bad))
	}
	s := good[0]
	if hex.EncodeToString(s.TraceId) != traceID || hex.EncodeToString(s.ParentSpanId) != parent || s.TraceState != "a=b" || s.Kind != otlp.Span_SPAN_KIND_CLIENT ||
		s.Status.GetCode() != otlp.Status_STATUS_CODE_UNSET || attr(s.Attributes, "rpc.service") != "demo" || attr(s.Attributes, "rpc.method") != "echo" {
		t.Errorf("%+v", s)
	}
	if s := bad[0]; s.Status.GetCode() != otlp.Status_STATUS_CODE_ERROR || s.Status.Message == "" || attr(s.Attributes, "error.type") != string(control.NoSuchMethod) {
		t.Errorf("%+v", s)
	}
	if r.service != "hostsup" || r.header.Get("X-Team") != "editors" {
		t.Errorf("service %q, header %q", r.service, r.header)
	}
	if sent, dropped := tr.Counts(); sent != 2 || dropped != 0 {
		t.Errorf("%d sent, %d dropped", sent, dropped)
	}
}

// noted is a supervisor whose hosts note what they are called with.
type noted struct {
	control.Supervisor
	calls *[]control.Call
}

type notedHost struct {
	control.Host
	calls *[]control.Call
}

func (n noted) Host(name string) (control.Host, error) {
	h, err := n.Supervisor.Host(name)
	return notedHost{h, n.calls}, err
}

func (h notedHost) Call(ctx context.Context, c control.Call) (codec.Raw, error) {
	*h.calls = append(*h.calls, c)
	return h.Host.Call(ctx, c)
}

// The host is told the span of the call as the parent of what it does.
func TestHostGetsTheSpanAsParent(t *testing.T) {
	r := receive(t)
	tr := open(t, traces.Options{Endpoint: r.URL, Sample: 1})
	var calls []control.Call
	sup := tr.Over(noted{control.Over(start(t)), &calls})
	if err := call(t, sup, control.Call{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s := r.named("demo/echo")[0]
	if want := "00-" + hex.EncodeToString(s.TraceId) + "-" + hex.EncodeToString(s.SpanId) + "-01"; calls[0].Trace.Parent != want {
		t.Errorf("the host gets %q, want %q", calls[0].Trace.Parent, want)
	}
}

func TestRestartIsASpanWithEvents(t *testing.T) {
	r := receive(t)
	tr := open(t, traces.Options{Endpoint: r.URL, Sample: 1})
	sup := start(t)
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	following.Go(func() { tr.Follow(ctx, sup) })
	defer following.Wait()
	defer cancel()
	_ = call(t, control.Over(sup), control.Call{Method: "crash"}) // it crashes of it
	poll.Until(t, time.Minute, "the restart was sent", func() bool {
		return tr.Flush(t.Context()) == nil && len(r.named("restart demo")) == 1
	})
	s := r.named("restart demo")[0]
	var names []string
	for _, e := range s.Events {
		names = append(names, e.Name)
	}
	want := []string{string(lifecycle.Crashed), string(lifecycle.Restarting), string(lifecycle.Starting), string(lifecycle.Running)}
	if !slices.Equal(names, want) || attr(s.Attributes, "hostsup.host") != "demo" || s.Status.GetCode() != otlp.Status_STATUS_CODE_UNSET {
		t.Errorf("%q %+v", names, s)
	}
	if e := s.Events[0]; !strings.HasPrefix(attr(e.Attributes, "hostsup.exit.signal"), "SIG") || attr(e.Attributes, "hostsup.reason") == "" {
		t.Errorf("%+v", e)
	}
	if s.StartTimeUnixNano != s.Events[0].TimeUnixNano || s.EndTimeUnixNano != s.Events[len(names)-1].TimeUnixNano {
		t.Error("the span is not as long as the restart")
	}
}

// A receiver that does not answer holds up no call; what is dropped is counted.
func TestReceiverThatFailsHoldsUpNothing(t *testing.T) {
	r := receive(t)
	r.answer(http.StatusBadRequest)
	tr := open(t, traces.Options{Endpoint: r.URL, Sample: 1})
	sup := tr.Over(control.Over(start(t)))
	for range 3 {
		if err := call(t, sup, control.Call{Method: "echo"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := tr.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent, dropped := tr.Counts(); sent != 0 || dropped != 3 {
		t.Errorf("%d sent, %d dropped", sent, dropped)
	}
	r.answer(http.StatusOK)
	if err := call(t, sup, control.Call{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	if err := tr.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if sent, dropped := tr.Counts(); sent != 1 || dropped != 3 {
		t.Errorf("%d sent, %d dropped", sent, dropped)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, url := range []string{"127.0.0.1:4318", "ftp://x", "http://"} {
		if _, err := traces.New(t.Context(), traces.Options{Endpoint: url}); err == nil || !strings.Contains(err.Error(), "is not the URL of a receiver") {
			t.Errorf("%q: %v", url, err)
		}
	}
}
