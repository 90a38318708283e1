//go:build unix

package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/control"
)

// A supervisor that does not come back is given up after a time, with the reason.
func TestRelayGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun, attempts := time.Now(), 0
		r := &relay{within: reconnectWithin, join: func(context.Context) (*control.Attachment, error) {
			attempts++
			return nil, &control.Error{Class: control.NoSupervisor, Message: "no supervisor"}
		}}
		_, err := r.attachment(t.Context())
		if control.ClassOf(err) != control.NoSupervisor || !strings.Contains(err.Error(), "waited for for 1m0s") {
			t.Error(err)
		}
		if took := time.Since(begun); took > reconnectWithin || took < reconnectWithin-reconnectAfterMost {
			t.Errorf("it took %s", took)
		}
		if attempts < 20 || attempts > 60 {
			t.Errorf("%d attempts", attempts)
		}
	})
}

// What another attempt does not change is told at once.
func TestRelayEndsForAReason(t *testing.T) {
	r := &relay{within: reconnectWithin, join: func(context.Context) (*control.Attachment, error) {
		return nil, &control.Error{Class: control.NoSuchHost, Message: "no host"}
	}}
	life, _ := r.meet(nil)
	ctx, cancel := context.WithCancel(t.Context())
	connected := make(chan error, 1)
	go func() {
		_, err := life.Connect(ctx)
		connected <- err
	}()
	if err := r.run(t.Context()); control.ClassOf(err) != control.NoSuchHost {
		t.Error(err)
	}
	cancel() // at the end of the life
	if err := <-connected; control.ClassOf(err) != control.NoSuchHost {
		t.Error(err)
	}
	if text, final := r.explain(codec.End{}); text != "no host" || !final {
		t.Errorf("%q, %t", text, final)
	}
}

// A refused opening is final, unless the host was open before.
func TestRelayRefused(t *testing.T) {
	r := &relay{}
	p := relayed{jsonrpc.Headers(jsonrpc.Options{}), r}
	refusal := &codec.Message{Kind: codec.Response, ID: 1, Err: &codec.Error{Code: -32600, Message: "other folders"}}
	open := func() codec.Handshake {
		hs := p.Open(codec.Limits{}).Handshake(codec.Hello{})
		hs.Start()
		return hs
	}
	if _, _, err := open().Handle(refusal); !errors.Is(err, codec.ErrVersion) || r.refusal() == nil || r.refusal().Code != -32600 {
		t.Errorf("%v, %v", err, r.refusal())
	}
	if _, done, err := open().Handle(&codec.Message{Kind: codec.Response, ID: 1, Result: codec.Raw(`{"capabilities":{}}`)}); !done || err != nil || r.refusal() != nil {
		t.Errorf("%t, %v, %v", done, err, r.refusal())
	}
	if _, _, err := open().Handle(refusal); err == nil || errors.Is(err, codec.ErrVersion) || r.refusal() != nil {
		t.Errorf("%v, %v", err, r.refusal())
	}
}
