//go:build !linux || hostsup_posix

package survive

import (
	"context"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/lifecycle"
)

const supported = false

// host does nothing: no host survives here.
type host struct{}

func newHost(*actors.Ref) *host { return &host{} }

func (*host) begin(*lifecycle.Host)                         {}
func (*host) changed(lifecycle.Transition)                  {}
func (*host) closed()                                       {}
func (*host) waiting(context.Context) bool                  { return false }
func (*host) starting(context.Context, *actors.Start) error { return (Rule{}).Validate(nil) }
func end(context.Context, *life) error                      { return nil }
