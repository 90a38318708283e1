package demo

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/hostsup/hostsup/sdk"
)

// Version is what the demo host says of itself, beside the name "demo".
const Version = "1"

// Main is the demo host as a program: it serves the connection that the
// environment names until its end, and returns the code to exit with: 0 after
// a graceful end, else 1 with the reason on standard error.
func Main(ctx context.Context) int {
	if os.Getenv(envChild) != "" {
		return child()
	}
	if how := os.Getenv(EnvStart); how != "" {
		return misbehave(ctx, how)
	}
	return report(serve(ctx))
}

// Serve is the demo host on a connection that is there already. Methods that
// end the process end this one.
func Serve(ctx context.Context, rw io.ReadWriteCloser, opts ...sdk.Option) error {
	w := &wire{ReadWriteCloser: rw}
	return newServer(w, opts...).ServeConn(ctx, w)
}

// serve opens the connection and ends gracefully on SIGTERM.
func serve(ctx context.Context, opts ...sdk.Option) error {
	rw, err := sdk.Open()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM)
	defer stop()
	return Serve(ctx, rw, opts...)
}

// report turns the end of a connection into an exit code.
func report(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "demo-host:", err)
	return 1
}
