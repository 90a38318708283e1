package peers

import (
	"context"
	"errors"
	"io"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// echoServer is what the hand-written service description below stands for.
type echoServer struct{}

// echoService is what a generator would write for a service with the unary
// methods Echo and Park and the stream Stream, all over a wrapper of bytes.
var echoService = grpc.ServiceDesc{
	ServiceName: service,
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: methodEcho, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			return in, decode(in)
		}},
		{MethodName: methodPark, Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(wrapperspb.BytesValue)
			if err := decode(in); err != nil {
				return nil, err
			}
			<-ctx.Done()
			return in, nil
		}},
	},
	Streams: []grpc.StreamDesc{{
		StreamName: "Stream", ServerStreams: true, ClientStreams: true,
		Handler: func(_ any, s grpc.ServerStream) error {
			for {
				var m wrapperspb.BytesValue
				if err := s.RecvMsg(&m); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				if err := s.SendMsg(&m); err != nil {
					return err
				}
			}
		},
	}},
}

func serveGRPC(l net.Listener, stop <-chan struct{}) error {
	srv := grpc.NewServer()
	srv.RegisterService(&echoService, echoServer{})
	go func() {
		<-stop
		srv.Stop()
	}()
	return srv.Serve(l)
}

func dialGRPC(name string) (*grpc.ClientConn, *server, error) {
	s, err := startServer(name)
	if err != nil {
		return nil, nil, err
	}
	cc, err := grpc.NewClient("unix://"+s.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return cc, s, nil
}

// grpcPeer calls a unary method.
func grpcPeer() Peer {
	const name = "grpc-go"
	return Peer{Name: name, Serve: serveGRPC, Dial: func() (Conn, error) {
		cc, s, err := dialGRPC(name)
		if err != nil {
			return nil, err
		}
		return &grpcConn{cc: cc, close: func() error { return errors.Join(cc.Close(), s.Close()) }}, nil
	}}
}

type grpcConn struct {
	cc    *grpc.ClientConn
	close func() error
}

func (c *grpcConn) Echo(ctx context.Context, payload []byte) ([]byte, error) {
	var out wrapperspb.BytesValue
	err := c.cc.Invoke(ctx, "/"+service+"/"+methodEcho, &wrapperspb.BytesValue{Value: payload}, &out)
	return out.Value, err
}

func (c *grpcConn) Park(ctx context.Context) error {
	var out wrapperspb.BytesValue
	return c.cc.Invoke(ctx, "/"+service+"/"+methodPark, &wrapperspb.BytesValue{}, &out)
}

func (c *grpcConn) Close() error { return c.close() }
