package control_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// callWith makes a host answer a call with err and returns the client's error.
func callWith(t *testing.T, err error) error {
	t.Helper()
	h := controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running})
	h.Enc = native.New()
	h.OnCall = func(context.Context, control.Call) (codec.Raw, error) { return nil, err }
	c := control.NewClient(controltest.Serve(t, &controltest.Supervisor{Members: []*controltest.Host{h}}, control.Options{}))
	defer c.Close()
	_, got := c.Call(t.Context(), control.Request{Host: "ts", Method: "m"})
	return got
}

// Every class must arrive unchanged: for errors.Is, and with its evidence.
func TestErrorRoundTrip(t *testing.T) {
	at := func(err error) error {
		return &actors.HostError{Host: "ts", Life: 7, Err: err, Reason: "killed by SIGKILL", Exit: &lifecycle.ExitStatus{Code: -1, Signal: 9}}
	}
	of := func(err error) error { return &actors.CallError{Host: "ts", Method: "m", Err: err, Detail: "after 5s"} }
	tests := []struct {
		class control.Class
		err   error
		is    []error
		not   []error
	}{
		{control.Crashed, at(supervisor.ErrCrashed), []error{supervisor.ErrCrashed}, []error{supervisor.ErrUnresponsive}},
		{control.Unresponsive, at(supervisor.ErrUnresponsive), []error{supervisor.ErrUnresponsive}, []error{supervisor.ErrStopped}},
		{control.Stopped, at(supervisor.ErrStopped), []error{supervisor.ErrStopped}, []error{supervisor.ErrFailed}},
		{control.Failed, at(supervisor.ErrFailed), []error{supervisor.ErrFailed}, []error{supervisor.ErrCrashed}},
		{control.TimedOut, of(supervisor.ErrTimeout), []error{supervisor.ErrTimeout, context.DeadlineExceeded}, []error{context.Canceled}},
		{control.TimedOut, context.DeadlineExceeded, []error{supervisor.ErrTimeout, context.DeadlineExceeded}, nil},
		{control.Cancelled, of(supervisor.ErrCancelled), []error{supervisor.ErrCancelled, context.Canceled}, []error{context.DeadlineExceeded}},
		{control.Overloaded, of(supervisor.ErrOverloaded), []error{supervisor.ErrOverloaded}, nil},
		{control.NoSuchMethod, of(supervisor.ErrNoSuchMethod), []error{supervisor.ErrNoSuchMethod}, nil},
		{control.NoProtocol, of(supervisor.ErrNoProtocol), []error{supervisor.ErrNoProtocol}, nil},
		{control.NoSuchHost, fmt.Errorf("wrapped: %w", supervisor.ErrNoHost), []error{supervisor.ErrNoHost}, nil},
		{control.NoSuchCrash, supervisor.ErrNoCrash, []error{supervisor.ErrNoCrash}, nil},
		{control.Closed, actors.ErrClosed, []error{actors.ErrClosed}, nil},
		{control.HostError, &codec.Error{Name: "RangeError", Message: "boom"}, nil, []error{supervisor.ErrNoSuchMethod}},
		{control.Failed, &actors.StateError{Host: "ts", Want: lifecycle.Running, State: lifecycle.Failed, Reason: "exit 3"}, []error{supervisor.ErrFailed}, nil},
		{control.Closed, errors.Join(supervisor.ErrStopped, supervisor.ErrClosed), []error{supervisor.ErrClosed}, nil},
		{control.Invalid, of(supervisor.ErrReserved), nil, nil},
		{control.Invalid, of(supervisor.ErrUnsendable), nil, nil},
		{control.TooLarge, &actors.CallError{Host: "ts", Method: "m", Err: supervisor.ErrUnsendable, Cause: &codec.FrameError{Err: codec.ErrTooLarge}}, []error{codec.ErrTooLarge}, nil},
		{control.Internal, errors.New("disk on fire"), nil, []error{supervisor.ErrCrashed}},
	}
	for _, tt := range tests {
		t.Run(string(tt.class), func(t *testing.T) {
			got := callWith(t, tt.err)
			var e *control.Error
			if !errors.As(got, &e) {
				t.Fatalf("%T is not an *Error: %v", got, got)
			}
			if e.Class != tt.class {
				t.Errorf("class %q, want %q", e.Class, tt.class)
			}
			for _, is := range tt.is {
				if !errors.Is(got, is) {
					t.Errorf("%v is not %v", got, is)
				}
			}
			for _, not := range tt.not {
				if errors.Is(got, not) {
					t.Errorf("%v is %v", got, not)
				}
			}
			if got.Error() != tt.err.Error() {
				t.Errorf("message %q, want %q", got, tt.err)
			}
			sameEvidence[*actors.HostError](t, got, tt.err)
			sameEvidence[*actors.StateError](t, got, tt.err)
			sameEvidence[*codec.Error](t, got, tt.err)
		})
	}
}

// sameEvidence checks that got holds a typed error exactly if want does, with the
// same message.
func sameEvidence[E error](t *testing.T, got, want error) {
	t.Helper()
	var g, w E
	if errors.As(want, &w) != errors.As(got, &g) {
		t.Errorf("is there a %T? want %v, got %v", g, want, got)
		return
	}
	if diff := cmp.Diff(fmt.Sprintf("%+v", w), fmt.Sprintf("%+v", g)); diff != "" {
		t.Errorf("%T (-want +got):\n%s", g, diff)
	}
}

// A host's own error must keep its name, code, stack, data and causes.
func TestHostErrorEvidence(t *testing.T) {
	data, err := native.New().FromJSON([]byte(`{"path":"/srv","n":[1,2]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got *codec.Error
	if err := callWith(t, &codec.Error{Name: "RangeError", Message: "boom", Code: -32000, Stack: "at f\nat g", Data: data,
		Cause: &codec.Error{Name: "Inner", Message: "because", Cause: &codec.Error{Message: "root"}}}); !errors.As(err, &got) {
		t.Fatalf("%T: %v", err, err)
	}
	want := &codec.Error{Name: "RangeError", Message: "boom", Code: -32000, Stack: "at f\nat g", Data: codec.Raw(`{"path":"/srv","n":[1,2]}`),
		Cause: &codec.Error{Name: "Inner", Message: "because", Cause: &codec.Error{Message: "root"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A chain of causes must be cut, however long a host made it.
func TestCausesAreCut(t *testing.T) {
	e := &codec.Error{Name: "E"}
	for range 100 {
		e = &codec.Error{Name: "E", Cause: e}
	}
	var got *codec.Error
	if err := callWith(t, e); !errors.As(err, &got) {
		t.Fatal(err)
	}
	n := 0
	for c := got.Cause; c != nil; c = c.Cause {
		n++
	}
	if n != 16 {
		t.Errorf("%d causes, want 16", n)
	}
}

// No error has no class.
func TestClassOfNothing(t *testing.T) {
	if got := control.ClassOf(nil); got != "" {
		t.Errorf("%q", got)
	}
}
