// gosdk is the official Go SDK of MCP as a peer of the integration tests: a server with the
// tools "era", "more" and "never", and a client that uses such servers through hostsup and
// kills them in the middle of calls. It is a module of its own, so that the SDK is nothing
// that hostsup itself needs.
//
// usage:
//
//	gosdk serve                                       over stdin and stdout
//	gosdk serve HOST:PORT                             over HTTP
//	gosdk use HOSTSUP SOCKET NAME…                    through hostsup attach
//	gosdk use-http HOSTSUP SOCKET URL TOKENFILE NAME… at URL/HOST/mcp
//
// NAME stands for the three hosts NAME-new, NAME-old and NAME, which are such servers.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "gosdk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 1 && args[0] == "serve":
		return serveStdio(ctx)
	case len(args) == 2 && args[0] == "serve":
		return serveHTTP(ctx, args[1])
	case len(args) > 3 && args[0] == "use":
		a := agents{hostsup: args[1], socket: args[2]}
		return a.use(ctx, args[3:])
	case len(args) > 5 && args[0] == "use-http":
		token, err := os.ReadFile(args[4])
		if err != nil {
			return err
		}
		a := agents{hostsup: args[1], socket: args[2], url: args[3], token: string(token)}
		return a.use(ctx, args[5:])
	}
	return errors.New("wrong arguments")
}
