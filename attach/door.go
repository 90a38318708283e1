package attach

import (
	"context"
	"io"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// Door serves programs in the name of a host that they could not speak to themselves. They attach to
// the host, and speak the protocol of the door.
type Door struct {
	Protocol codec.Protocol // of the programs
	// Serve serves one program until it has left or ctx ends, and closes rw. It returns nil when the
	// program left by itself. It must be safe for concurrent use.
	Serve func(ctx context.Context, rw io.ReadWriteCloser) error
}

// doorName is the name of the interceptor that has the door of a host as its value.
const doorName = "door"

// Open puts the door in front of a host, which must have none, until close is called.
func (d *Door) Open(host *supervisor.Host) (close func()) {
	own := &actors.Interceptor{Name: doorName, Stage: actors.StageLast, Value: d}
	host.Ref().Intercept(own)
	return func() { host.Ref().Withdraw(own) }
}

// DoorOf returns the door in front of a host, nil without one.
func DoorOf(host *supervisor.Host) *Door {
	d, _ := host.Ref().Interceptor(doorName).(*Door)
	return d
}

// ProtocolOf returns the protocol of programs that attach to a host, nil if none can.
func ProtocolOf(host *supervisor.Host) codec.Protocol {
	if d := DoorOf(host); d != nil {
		return d.Protocol
	}
	if p := host.Spec().Protocol; Can(p) {
		return p
	}
	return nil
}
