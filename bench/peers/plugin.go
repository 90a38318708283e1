package peers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
)

var handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "HOSTSUP_BENCH", MagicCookieValue: "echo"}

// pluginPeer is HashiCorp's go-plugin with its gRPC protocol, as its users
// have it by default: without mutual TLS.
func pluginPeer() Peer {
	const name = "go-plugin"
	return Peer{
		Name: name,
		Dial: func() (Conn, error) {
			self, err := os.Executable()
			if err != nil {
				return nil, err
			}
			client := plugin.NewClient(&plugin.ClientConfig{
				HandshakeConfig:  handshake,
				Plugins:          plugin.PluginSet{"echo": &echoPlugin{}},
				Cmd:              exec.Command(self, "serve", name),
				AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
				Logger:           hclog.NewNullLogger(),
			})
			rpc, err := client.Client()
			if err != nil {
				client.Kill()
				return nil, err
			}
			raw, err := rpc.Dispense("echo")
			if err != nil {
				client.Kill()
				return nil, err
			}
			c, ok := raw.(*grpcConn)
			if !ok {
				client.Kill()
				return nil, fmt.Errorf("go-plugin dispensed a %T", raw)
			}
			c.close = func() error {
				client.Kill()
				if !client.Exited() {
					return errors.New("the plugin is still there")
				}
				return nil
			}
			return c, nil
		},
		Serve: func(net.Listener, <-chan struct{}) error {
			plugin.Serve(&plugin.ServeConfig{
				HandshakeConfig: handshake,
				Plugins:         plugin.PluginSet{"echo": &echoPlugin{}},
				GRPCServer:      plugin.DefaultGRPCServer,
				Logger:          hclog.NewNullLogger(),
			})
			return nil
		},
	}
}

type echoPlugin struct{ plugin.NetRPCUnsupportedPlugin }

var _ plugin.GRPCPlugin = (*echoPlugin)(nil)

// GRPCServer is called in the plugin's process.
func (*echoPlugin) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&echoService, echoServer{})
	return nil
}

// GRPCClient is called in the process that started the plugin.
func (*echoPlugin) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, cc *grpc.ClientConn) (any, error) {
	return &grpcConn{cc: cc}, nil
}
