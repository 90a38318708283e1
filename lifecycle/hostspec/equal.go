package hostspec

import (
	"reflect"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/lifecycle"
)

// Restarts reports whether the process of a host has to be started anew for another
// configuration. What only the supervisor has to know is in force at once: Start,
// Restart, Requests, Stop and Log.
func (s *Spec) Restarts(next *Spec) bool {
	if !EqualProtocols(s.Protocol, next.Protocol) {
		return true
	}
	a, b := *s, *next
	for _, x := range []*Spec{&a, &b} {
		x.Start, x.Restart, x.Requests, x.Stop, x.Log = StartRule{}, lifecycle.RestartRule{}, RequestRule{}, StopRule{}, LogRule{}
		x.Protocol = nil
		if x.Sandbox != nil {
			p := *x.Sandbox
			p.Source = nil // where it stands in a file
			x.Sandbox = &p
		}
	}
	return !reflect.DeepEqual(a, b)
}

// EqualProtocols compares protocols that keep something for their hosts by their own
// method Equal, others as values.
func EqualProtocols(a, b codec.Protocol) bool {
	if p, ok := a.(interface{ Equal(codec.Protocol) bool }); ok {
		return p.Equal(b)
	}
	return reflect.DeepEqual(a, b)
}
