package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/supervisor"
)

// Asker asks a program that nobody here wrote one cheap question, over and over.
type Asker interface {
	// Ask returns when the right answer has come. It is safe for concurrent use.
	Ask(ctx context.Context) error
	// Close ends the program and waits for it.
	Close() error
}

// The question to Neovim.
const (
	sum       = "6*7"
	sumAnswer = 42
)

// Neovim has Neovim do a sum: under a supervisor, or else by a client with a
// table of channels, a read loop and a write loop.
func Neovim(supervised bool) (Asker, error) {
	if !supervised {
		c, err := dialNeovim(func(dec *msgpack.Decoder) ([]byte, error) {
			n, err := dec.DecodeInt()
			if n != sumAnswer && err == nil {
				err = wrongSum(n)
			}
			return nil, err
		})
		if err != nil {
			return nil, err
		}
		return bareNeovim{c}, nil
	}
	argv, err := neovimCommand()
	if err != nil {
		return nil, err
	}
	h := supervisor.HostSpec{Command: argv, Protocol: msgpackrpc.New(msgpackrpc.Options{})}
	return superviseAsker(h, func(ctx context.Context, h *supervisor.Host) error {
		var n int
		if err := h.Call(ctx, "nvim_eval", []any{sum}, &n); err != nil {
			return err
		}
		if n != sumAnswer {
			return wrongSum(n)
		}
		return nil
	})
}

func wrongSum(n int) error { return fmt.Errorf("neovim: %s is %d", sum, n) }

type bareNeovim struct{ *neovim }

func (c bareNeovim) Ask(context.Context) error {
	_, err := c.eval(sum)
	return err
}

// The questions to programs that speak JSON-RPC. A language server says of a
// method that begins so that it has no such method.
const (
	lspQuestion = "$/bench"
	mcpQuestion = "ping"
)

// LanguageServer asks a language server, of that command line, for what it does
// not have.
func LanguageServer(argv []string, supervised bool) (Asker, error) {
	if !supervised {
		return dialJSON(argv, headers{})
	}
	h := supervisor.HostSpec{Command: argv, Protocol: jsonrpc.Headers(jsonrpc.Options{}), Init: lspInit()}
	return superviseAsker(h, func(ctx context.Context, h *supervisor.Host) error {
		err := h.Call(ctx, lspQuestion, nil, nil)
		if errors.Is(err, supervisor.ErrNoSuchMethod) {
			return nil
		}
		return fmt.Errorf("%s was answered with %w", lspQuestion, err)
	})
}

// MCPServer pings a server of the Model Context Protocol.
func MCPServer(argv []string, supervised bool) (Asker, error) {
	if !supervised {
		return dialJSON(argv, lines{})
	}
	h := supervisor.HostSpec{Command: argv, Protocol: jsonrpc.Lines(jsonrpc.Options{})}
	return superviseAsker(h, func(ctx context.Context, h *supervisor.Host) error {
		return h.Call(ctx, mcpQuestion, nil, nil)
	})
}

func lspInit() map[string]any { return map[string]any{"capabilities": map[string]any{}} }

// superviseAsker starts a host that asks.
func superviseAsker(h supervisor.HostSpec, ask func(context.Context, *supervisor.Host) error) (Asker, error) {
	h.Name, h.InheritEnv = "asked", []string{"PATH", "HOME"}
	h.Env = map[string]string{"TMPDIR": os.TempDir()}
	h.Requests.Timeout = time.Hour
	s, host, err := supervise(supervisor.Spec{Groups: []supervisor.GroupSpec{{Name: "asked", Hosts: []supervisor.HostSpec{h}}}})
	if err != nil {
		return nil, err
	}
	return &asker{hostsupConn{s: s, h: host}, ask}, nil
}

type asker struct {
	hostsupConn
	ask func(context.Context, *supervisor.Host) error
}

func (a *asker) Ask(ctx context.Context) error { return a.ask(ctx, a.h) }
