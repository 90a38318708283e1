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

// Machine has the files of the state folder.
type Machine interface{ Files }

// machine is that of a Rule and a Part.
type machine struct{}

func machineOf(_ machine, stateDir string) (Machine, string) { return disk{}, stateDir }

func newHost(*actors.Ref, machine) *host { return &host{} }

func (*host) begin(*lifecycle.Host)                         {}
func (*host) transition(lifecycle.Transition)               {}
func (*host) changed()                                      {}
func (*host) letGo() bool                                   { return false }
func (*host) closed()                                       {}
func (*host) waiting(context.Context) bool                  { return false }
func (*host) starting(context.Context, *actors.Start) error { return (Rule{}).Validate(nil) }
func end(context.Context, Machine, *life) error             { return nil }
