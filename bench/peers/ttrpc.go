package peers

import (
	"context"
	"errors"
	"net"

	"github.com/containerd/ttrpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	service    = "bench.Echo"
	methodEcho = "Echo"
	methodPark = "Park"
)

// ttrpcPeer is containerd's protocol between a daemon and its shims: protobuf
// frames on one unix socket. The message is a well-known wrapper of bytes, so
// that nothing has to be generated.
func ttrpcPeer() Peer {
	const name = "ttrpc"
	return Peer{
		Name: name,
		Dial: func() (Conn, error) {
			s, err := startServer(name)
			if err != nil {
				return nil, err
			}
			nc, err := s.dial()
			if err != nil {
				return nil, errors.Join(err, s.Close())
			}
			return &ttrpcConn{client: ttrpc.NewClient(nc), server: s}, nil
		},
		Serve: func(l net.Listener, stop <-chan struct{}) error {
			srv, err := ttrpc.NewServer()
			if err != nil {
				return err
			}
			srv.Register(service, map[string]ttrpc.Method{
				methodEcho: func(_ context.Context, decode func(any) error) (any, error) {
					in := new(wrapperspb.BytesValue)
					return in, decode(in)
				},
				methodPark: func(ctx context.Context, decode func(any) error) (any, error) {
					in := new(wrapperspb.BytesValue)
					if err := decode(in); err != nil {
						return nil, err
					}
					<-ctx.Done()
					return in, nil
				},
			})
			go func() {
				<-stop
				srv.Close()
			}()
			if err := srv.Serve(context.Background(), l); !errors.Is(err, ttrpc.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
}

type ttrpcConn struct {
	client *ttrpc.Client
	server *server
}

func (c *ttrpcConn) Echo(ctx context.Context, payload []byte) ([]byte, error) {
	var out wrapperspb.BytesValue
	err := c.client.Call(ctx, service, methodEcho, &wrapperspb.BytesValue{Value: payload}, &out)
	return out.Value, err
}

func (c *ttrpcConn) Park(ctx context.Context) error {
	var out wrapperspb.BytesValue
	return c.client.Call(ctx, service, methodPark, &wrapperspb.BytesValue{}, &out)
}

func (c *ttrpcConn) Close() error { return errors.Join(c.client.Close(), c.server.Close()) }
