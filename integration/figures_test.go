//go:build linux

package integration

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/intercept/throttle"
	"github.com/hostsup/hostsup/supervisor"
)

// What a host is asked is counted, over its lives.
func TestFigures(t *testing.T) {
	t.Parallel()
	_, h := alone(t, demoHost("d"))
	echoes(t, h)
	if err := h.Call(ctx(t), "fail", map[string]any{"message": "no"}, nil); err == nil {
		t.Error("it did not fail")
	}
	s := h.Status()
	if s.Calls != 2 || s.StartupSeconds == nil || *s.StartupSeconds <= 0 || s.AverageResponseSeconds == nil || *s.AverageResponseSeconds <= 0 || s.ActivationSeconds != nil {
		t.Errorf("%+v", s)
	}
	mean := *s.AverageResponseSeconds
	if err := h.Call(ctx(t), "crash", nil, nil); !errors.Is(err, supervisor.ErrCrashed) {
		t.Error(err)
	}
	runs(t, h, 2)
	if s := h.Status(); s.Calls != 3 || *s.AverageResponseSeconds != mean {
		t.Errorf("%d calls in %v, want 3 in %v", s.Calls, *s.AverageResponseSeconds, mean)
	}
}

// Calls of commands are their extensions'; memory is known of one that lives alone.
func TestFiguresOfExtensions(t *testing.T) {
	t.Parallel()
	sup, h := alone(t, extended(t, "many"))
	activates(t, sup, "a", "b")
	for range 3 {
		if _, err := ranIn(t, sup, "a"); err != nil {
			t.Error(err)
		}
	}
	a, b := extensionOf(t, sup, "a"), extensionOf(t, sup, "b")
	if a.Calls != 3 || a.AverageResponseSeconds == nil || *a.AverageResponseSeconds <= 0 || a.ActivationSeconds == nil || a.RSSBytes != nil {
		t.Errorf("%+v", a)
	}
	if b.Calls != 0 || b.AverageResponseSeconds != nil || b.ActivationSeconds == nil {
		t.Errorf("%+v", b)
	}
	if c := extensionOf(t, sup, "c"); c.Calls != 0 || c.ActivationSeconds != nil {
		t.Errorf("%+v", c)
	}
	if s := h.Status(); s.ActivationSeconds == nil || *s.ActivationSeconds < *a.ActivationSeconds || s.Calls < 3 || s.StartupSeconds == nil {
		t.Errorf("%+v", s)
	}
	if err := sup.SetExtension(ctx(t), "vs", "hostsup.c", extensions.Isolate); err != nil {
		t.Fatal(err)
	}
	activates(t, sup, "c")
	cell, err := ranIn(t, sup, "c")
	if err != nil || cell == h {
		t.Fatal(cell.Name(), err)
	}
	if c := extensionOf(t, sup, "c"); c.Calls != 1 || c.RSSBytes == nil || *c.RSSBytes <= 0 {
		t.Errorf("%+v", c)
	}
}

// Programs that are attached are thinned out as anybody.
func TestAttachThrottled(t *testing.T) {
	t.Parallel()
	spec := neovim(t, "nvim")
	spec.Attach = true
	spec.Throttle = []throttle.Rule{{Method: "nvim_command", Every: time.Hour, Key: "0"}}
	sup, h := alone(t, spec)
	a := attachTo(t, sup, "nvim", spec.Protocol)
	a.setReply(func(string, codec.Raw) (codec.Raw, *codec.Error) { return nil, &codec.Error{Message: "no"} })
	a.must("nvim_set_var", list{"n", 0})
	const add = "let g:n += 1"
	for range 50 {
		a.tell("nvim_command", list{add})
	}
	a.tell("nvim_command", list{"let g:other = 1"})
	a.must("nvim_command", list{add}) // about the same: what is held goes before it
	if got := a.must("nvim_eval", list{"[g:n, g:other]"}); got != "[3,1]" {
		t.Errorf("it was told %s", got)
	}
	if st := h.Status().Throttle[0]; fmt.Sprint(st.Sent, st.Coalesced, st.Held) != "3 48 0" {
		t.Errorf("%+v", st)
	}
}
