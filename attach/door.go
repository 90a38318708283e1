package attach

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/supervisor"
)

// Door serves programs in the name of a host that they could not speak to themselves. They attach to
// the host, and speak the protocol of one of its servers: with several, the first byte of a program
// decides which; see [Opening].
type Door []DoorServer

// DoorServer serves the programs of one protocol.
type DoorServer struct {
	Protocol codec.Protocol // of the programs
	// Serve serves one program until it has left or ctx ends, and closes rw. It returns nil when the
	// program left by itself. It must be safe for concurrent use.
	Serve func(ctx context.Context, rw io.ReadWriteCloser) error
}

// ErrOpening means that the first byte of a program that attached begins no message of the protocols
// that the servers of the door speak.
var ErrOpening = errors.New("the program speaks no protocol of the host")

// doorName is the name of the interceptor that has the door of a host as its value.
const doorName = "door"

// Open puts the door, which must have a server, in front of a host, which must have no door, until
// close is called.
func (d Door) Open(host *supervisor.Host) (close func()) {
	own := &actors.Interceptor{Name: doorName, Stage: actors.StageLast, Value: d}
	host.Ref().Intercept(own)
	return func() { host.Ref().Withdraw(own) }
}

// DoorOf returns the door in front of a host, nil without one.
func DoorOf(host *supervisor.Host) Door {
	d, _ := host.Ref().Interceptor(doorName).(Door)
	return d
}

// ProtocolsOf returns the protocols of programs that attach to a host, nil if none can. Several are
// told apart by [Opening].
func ProtocolsOf(host *supervisor.Host) (list []codec.Protocol) {
	for _, s := range DoorOf(host) {
		list = append(list, s.Protocol)
	}
	if list != nil {
		return list
	}
	if p := host.Spec().Protocol; Can(p) {
		list = append(list, p)
	}
	return list
}

// serve serves a program by the server of its protocol, and closes rw.
func (d Door) serve(ctx context.Context, host string, rw io.ReadWriteCloser) error {
	if len(d) == 1 {
		return d[0].Serve(ctx, rw)
	}
	stop := context.AfterFunc(ctx, func() { _ = rw.Close() })
	in := bufio.NewReader(rw)
	name, first, err := Opening(in)
	if !stop() {
		return context.Cause(ctx)
	}
	if err == nil {
		for _, s := range d {
			if s.Protocol.Name() == name {
				return s.Serve(ctx, opened{rw, in})
			}
		}
		err = fmt.Errorf("host %q: %w: its first byte is %#02x, which begins no message of %s", host, ErrOpening, first, strings.Join(d.names(), " or "))
	}
	_ = rw.Close()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil // it has left without a message
	}
	return err
}

func (d Door) names() (list []string) {
	for _, s := range d {
		list = append(list, s.Protocol.Name())
	}
	return list
}

// opened is the stream of a program of which something was read already, which in has.
type opened struct {
	io.ReadWriteCloser
	in io.Reader
}

func (o opened) Read(p []byte) (int, error) { return o.in.Read(p) }

// Opening returns the name of the protocol whose messages begin as r does, and the first byte of r
// that is no white space, which it leaves in r. A header is of the Language Server Protocol, an object
// or array of the Model Context Protocol, and an array of three or four elements of MessagePack-RPC.
// The name is "" for another byte. The error is that of r.
func Opening(r *bufio.Reader) (protocol string, first byte, err error) {
	for first = ' '; first == ' ' || first == '\t' || first == '\r' || first == '\n'; {
		if first, err = r.ReadByte(); err != nil {
			return "", 0, err
		}
	}
	switch {
	case first >= 'A' && first <= 'Z' || first >= 'a' && first <= 'z':
		protocol = "jsonrpc-headers"
	case first == '{' || first == '[':
		protocol = "jsonrpc-lines"
	case first == 0x93 || first == 0x94:
		protocol = "msgpack-rpc"
	}
	return protocol, first, r.UnreadByte()
}
