package peers

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/sdk/demo"
	"github.com/hostsup/hostsup/supervisor"
)

// DemoHost is the host that [DemoSpec] describes: sdk/demo in this same
// binary.
func DemoHost() int { return demo.Main(context.Background()) }

// DemoSpec is a supervisor with one host named echo.
func DemoSpec(maxPending int) (supervisor.Spec, error) {
	self, err := os.Executable()
	if err != nil {
		return supervisor.Spec{}, err
	}
	h := supervisor.HostSpec{Name: "echo", Command: []string{self, "demo-host"}, Protocol: native.New()}
	if dir := os.Getenv(ProfileEnv); dir != "" {
		h.Env = map[string]string{ProfileEnv: dir}
	}
	h.Requests.MaxPending = maxPending
	h.Requests.Timeout = time.Hour
	return supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "echo", Hosts: []supervisor.HostSpec{h}}}}, nil
}

// hostsupPeer goes the way of a program that uses the library: a supervisor, a
// host started by it, Host.Call.
func hostsupPeer() Peer {
	return Peer{
		Name: "hostsup",
		Dial: func() (Conn, error) { return dialHostsup(0) },
	}
}

// evidencePeer is hostsupPeer with a recorder of the messages for crash reports, as hostsup run has
// one.
func evidencePeer() Peer {
	return Peer{
		Name: "hostsup-evidence",
		Dial: func() (Conn, error) { return dialHostsup(0, supervisor.WithEvidence(evidence.New(evidence.Options{}))) },
	}
}

func dialHostsup(maxPending int, opts ...supervisor.Option) (Conn, error) {
	spec, err := DemoSpec(maxPending)
	if err != nil {
		return nil, err
	}
	s, h, err := supervise(spec, opts...)
	if err != nil {
		return nil, err
	}
	return &hostsupConn{s: s, h: h}, nil
}

// supervise starts a supervisor and returns its only host once it is ready.
func supervise(spec supervisor.Spec, opts ...supervisor.Option) (*supervisor.Supervisor, *supervisor.Host, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	s, err := supervisor.Start(context.Background(), spec, opts...)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Ready(ctx); err != nil {
		return nil, nil, errors.Join(err, s.Stop(ctx))
	}
	return s, s.Hosts()[0], nil
}

type hostsupConn struct {
	s *supervisor.Supervisor
	h *supervisor.Host
}

func (c *hostsupConn) Echo(ctx context.Context, payload []byte) ([]byte, error) {
	var out []byte
	err := c.h.Call(ctx, "echo", payload, &out)
	return out, err
}

func (c *hostsupConn) Park(ctx context.Context) error {
	return c.h.Call(ctx, "sleep", map[string]int{"ms": int(time.Hour / time.Millisecond)}, nil)
}

func (c *hostsupConn) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return c.s.Stop(ctx)
}
