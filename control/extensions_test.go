package control_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/controltest"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
	"github.com/hostsup/hostsup/extensions/service"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// withExtensions serves a supervisor whose host "ts" has two extensions and whose
// host "db" has none.
func withExtensions(t *testing.T, change func(*controltest.Supervisor)) *control.Client {
	t.Helper()
	sup := &controltest.Supervisor{
		Members: []*controltest.Host{
			controltest.NewHost(record.HostStatus{Name: "ts", State: lifecycle.Running}),
			controltest.NewHost(record.HostStatus{Name: "db", State: lifecycle.Running}),
		},
		Units: []extensions.Status{
			{Host: "ts", Place: "ts", ID: "golang.go", State: "active", Activation: &extensions.Activation{Event: "onLanguage:go"}},
			{Host: "ts", Place: "ts", ID: "acme.css", State: "active", Activation: &extensions.Activation{Event: "*", Startup: true}},
		},
	}
	change(sup)
	c := control.NewClient(controltest.Serve(t, sup, control.Options{}))
	t.Cleanup(c.Close)
	return c
}

// An activation is requested with its event and host, lasts as long as its caller
// stays connected, and returns the extensions that it made active.
func TestActivate(t *testing.T) {
	begun, ended := make(chan string, 1), make(chan error, 1)
	c := withExtensions(t, func(s *controltest.Supervisor) {
		s.OnActivate = func(ctx context.Context, host, event string) error {
			if event != "onCommand:wait" {
				return nil
			}
			begun <- host
			<-ctx.Done()
			ended <- ctx.Err()
			return ctx.Err()
		}
	})
	for _, host := range []string{"", "ts"} {
		list, err := c.Activate(t.Context(), host, "onLanguage:go")
		if err != nil || len(list) != 1 || list[0].ID != "golang.go" {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if list, err := c.Activate(t.Context(), "", "onCommand:nothing"); err != nil || list == nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := c.Activate(ctx, "ts", "onCommand:wait")
		done <- err
	}()
	if host := <-begun; host != "ts" {
		t.Errorf("host %q", host)
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the other end: %v", err)
	}
}

// Each operation must reach the right extension, whatever characters its id has.
func TestSetExtension(t *testing.T) {
	var seen []string
	c := withExtensions(t, func(s *controltest.Supervisor) {
		s.Units = append(s.Units, extensions.Status{Host: "ts", ID: "a/b?c.d%20e"})
		s.OnSet = func(_ context.Context, host, id string, verb extensions.Verb) error {
			seen = append(seen, fmt.Sprintf("%s %s %s", host, id, verb))
			return nil
		}
	})
	for _, verb := range []extensions.Verb{extensions.Enable, extensions.Disable, extensions.Isolate, extensions.Release} {
		st, err := c.SetExtension(t.Context(), "ts", "golang.go", verb)
		if err != nil || len(st) != 1 || st[0].ID != "golang.go" {
			t.Errorf("%+v, %v", st, err)
		}
	}
	if _, err := c.SetExtension(t.Context(), "", "a/b?c.d%20e", extensions.Enable); err != nil {
		t.Error(err)
	}
	want := []string{"ts golang.go enable", "ts golang.go disable", "ts golang.go isolate", "ts golang.go release", " a/b?c.d%20e enable"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q", seen)
	}
	list, err := c.Extensions(t.Context(), "ts")
	if err != nil || len(list) != 3 {
		t.Errorf("%+v, %v", list, err)
	}
}

// Differences must come back for the requested host, also if there are none.
func TestRescan(t *testing.T) {
	want := []extensions.Difference{{Host: "ts", ID: "golang.go", Change: extensions.Changed, Before: "1", After: "2"}, {Host: "ts", ID: "a.b", Change: extensions.Added, After: "1"}}
	c := withExtensions(t, func(s *controltest.Supervisor) {
		s.OnRescan = func(_ context.Context, host string) ([]extensions.Difference, error) {
			if host == "" {
				return nil, nil
			}
			return want, nil
		}
	})
	if got, err := c.RescanExtensions(t.Context(), "ts"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := c.RescanExtensions(t.Context(), ""); err != nil || got == nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

// Errors must arrive unchanged.
func TestExtensionErrors(t *testing.T) {
	failed := &service.ActivationError{Event: "onLanguage:go", Errs: []*activation.Error{{ID: "golang.go", Cause: activation.ErrMissing, On: "acme.base"}}}
	c := withExtensions(t, func(s *controltest.Supervisor) {
		s.OnActivate = func(_ context.Context, _, event string) error {
			switch event {
			case "onLanguage:go":
				return failed
			case "onClosed":
				return service.ErrClosed
			}
			return supervisor.ErrClosed
		}
		s.OnRescan = func(context.Context, string) ([]extensions.Difference, error) { return nil, extensions.ErrNoFolders }
	})
	rescan := func(host string) error {
		_, err := c.RescanExtensions(t.Context(), host)
		return err
	}
	activate := func(host, event string) error {
		_, err := c.Activate(t.Context(), host, event)
		return err
	}
	set := func(host, id string, verb extensions.Verb) error {
		_, err := c.SetExtension(t.Context(), host, id, verb)
		return err
	}
	_, listErr := c.Extensions(t.Context(), "db")
	for _, tt := range []struct {
		err   error
		class control.Class
		is    error
		says  string
	}{
		{activate("", "onLanguage:go"), control.NotActive, service.ErrNotActive, failed.Error()},
		{activate("", "onClosed"), control.Closed, supervisor.ErrClosed, service.ErrClosed.Error()},
		{activate("", "onEnd"), control.Closed, supervisor.ErrClosed, supervisor.ErrClosed.Error()},
		{activate("", ""), control.Invalid, nil, "no event to request"},
		{activate("nobody", "onX"), control.NoSuchHost, supervisor.ErrNoHost, `no host "nobody" is configured`},
		{activate("db", "onX"), control.NoExtensions, extensions.ErrNoExtensions, `host "db" has no extensions: there is no extensions block in its configuration`},
		{listErr, control.NoExtensions, extensions.ErrNoExtensions, `host "db" has no extensions: there is no extensions block in its configuration`},
		{set("", "golang.goo", extensions.Enable), control.NoSuchExtension, extensions.ErrUnknown, `no extension "golang.goo" is known`},
		{set("ts", "golang.goo", extensions.Enable), control.NoSuchExtension, extensions.ErrUnknown, `host "ts" has no extension "golang.goo"`},
		{set("nobody", "golang.go", extensions.Enable), control.NoSuchHost, supervisor.ErrNoHost, `no host "nobody" is configured`},
		{rescan("db"), control.NoExtensions, extensions.ErrNoExtensions, `host "db" has no extensions: there is no extensions block in its configuration`},
		{rescan(""), control.NoExtensions, extensions.ErrNoExtensions, "no host has folders with extensions to look into"},
		{rescan("ts"), control.NoExtensions, extensions.ErrNoExtensions, `host "ts" has no folders with extensions to look into: it has those that its configuration declares or that it announces itself`},
		{rescan("nobody"), control.NoSuchHost, supervisor.ErrNoHost, `no host "nobody" is configured`},
		{set("", "golang.go", "remove"), control.Invalid, nil, `verb is one of enable, disable, isolate, release, not "remove"`},
	} {
		var e *control.Error
		if !errors.As(tt.err, &e) || e.Class != tt.class || e.Message != tt.says {
			t.Errorf("%s %q: %+v", tt.class, tt.says, tt.err)
		}
		if tt.is != nil && !errors.Is(tt.err, tt.is) {
			t.Errorf("%v is not %v", tt.err, tt.is)
		}
	}
	var e *control.Error
	if err := set("", "golang.goo", extensions.Enable); !errors.As(err, &e) || !slices.Equal(e.Extensions, []string{"golang.go", "acme.css"}) {
		t.Errorf("%+v", e)
	}
}
