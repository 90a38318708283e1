package control_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// inspected returns a client of a supervisor with host "ts", whose files write
// writes, and host "db", which cannot be inspected.
func inspected(t *testing.T, write func(ctx context.Context, d time.Duration, w io.Writer) error) *control.Client {
	t.Helper()
	ts := controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running, Life: 7})
	ts.OnFile = write
	ts.OnInspect = func(context.Context) (*supervisor.Inspection, error) {
		return &supervisor.Inspection{Host: "ts", Life: 7, PID: 4711, URL: "ws://127.0.0.1:1/x", DevTools: "devtools://x", Opened: true}, nil
	}
	db := controltest.NewHost(record.HostStatus{Name: "db", State: lifecycle.Running})
	c := control.NewClient(controltest.Serve(t, &controltest.Supervisor{Members: []*controltest.Host{ts, db}}, control.Options{}))
	t.Cleanup(c.Close)
	return c
}

func TestInspect(t *testing.T) {
	c := inspected(t, nil)
	in, err := c.Inspect(t.Context(), "ts")
	if want := (supervisor.Inspection{Host: "ts", Life: 7, PID: 4711, URL: "ws://127.0.0.1:1/x", DevTools: "devtools://x", Opened: true}); err != nil || *in != want {
		t.Errorf("%+v, %v", in, err)
	}
	_, err = c.Inspect(t.Context(), "db")
	if !errors.Is(err, supervisor.ErrNoInspector) || class(err) != control.NoInspector {
		t.Errorf("%v", err)
	}
	if _, err = c.Inspect(t.Context(), "nobody"); class(err) != control.NoSuchHost {
		t.Errorf("%v", err)
	}
}

// A file must arrive whole; an error must be reported before it begins and after.
func TestInspectFiles(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 1<<16)
	broken := &supervisor.InspectError{Host: "ts", Reason: "it ended"}
	lengths := make(chan time.Duration, 10)
	c := inspected(t, func(_ context.Context, d time.Duration, w io.Writer) error {
		lengths <- d
		switch d {
		case time.Second: // no part of it
			return broken
		case 2 * time.Second: // half of it
			if _, err := io.WriteString(w, large); err != nil {
				return err
			}
			return broken
		case 3 * time.Second:
			return nil
		}
		_, err := io.Copy(w, iotest.HalfReader(strings.NewReader(large)))
		return err
	})
	for _, tt := range []struct {
		d    time.Duration
		got  string
		fail bool
	}{{0, large, false}, {1500 * time.Millisecond, large, false}, {time.Second, "", true}, {2 * time.Second, large, true}, {3 * time.Second, "", false}} {
		var out bytes.Buffer
		err := c.HeapSnapshot(t.Context(), "ts", &out)
		if <-lengths; tt.d > 0 {
			out.Reset()
			err = c.Profile(t.Context(), "ts", tt.d, &out)
			if d := <-lengths; d != tt.d {
				t.Errorf("%v was asked for, not %v", d, tt.d)
			}
		}
		if out.String() != tt.got || (err != nil) != tt.fail || tt.fail && class(err) != control.NoInspector {
			t.Errorf("%v: %d bytes, %v", tt.d, out.Len(), err)
		}
	}
	for _, d := range []time.Duration{0, time.Millisecond, time.Hour, -time.Second} {
		if err := c.Profile(t.Context(), "ts", d, io.Discard); class(err) != control.Invalid {
			t.Errorf("%v: %v", d, err)
		}
	}
	if err := c.HeapSnapshot(t.Context(), "db", io.Discard); class(err) != control.NoInspector {
		t.Errorf("%v", err)
	}
	full := errors.New("the disk is full")
	if err := c.HeapSnapshot(t.Context(), "ts", writer(func([]byte) (int, error) { return 0, full })); err == nil || !strings.Contains(err.Error(), full.Error()) {
		t.Errorf("%v", err)
	}
	<-lengths
}

type writer func([]byte) (int, error)

func (f writer) Write(b []byte) (int, error) { return f(b) }

// A response that is cut off must be an error, and a caller that leaves must end the
// work for it.
func TestInspectCut(t *testing.T) {
	begun, ended := make(chan struct{}, 2), make(chan error, 1)
	c := inspected(t, func(ctx context.Context, d time.Duration, w io.Writer) error {
		begun <- struct{}{}
		if _, err := io.WriteString(w, "half"); err != nil {
			return err
		}
		if d > 0 {
			panic(http.ErrAbortHandler)
		}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	if err := c.Profile(t.Context(), "ts", time.Second, io.Discard); class(err) != control.Disconnected {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.HeapSnapshot(ctx, "ts", io.Discard) }()
	<-begun
	<-begun
	cancel()
	if err := <-done; class(err) != control.Cancelled {
		t.Errorf("%v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
