package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
)

const (
	execGrace  = 5 * time.Second // between SIGTERM and SIGKILL of a command that is to end
	execSignal = 2 * time.Second // for the server to be told of a signal
	execQuiet  = 2 * time.Second // how long a lost connection is not worth a word
)

// remote is what a command line says of a command on a server.
type remote struct {
	url, dir, tokenFile string
	env                 []string
	noTTY               bool
	wait                time.Duration
}

func (a *app) execVerb() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "exec --url URL [--] CMD [ARG…]",
		Short: "Run a command on an exec server",
		Long: `Run a command on an exec server. Its streams are ours, signals are passed on to
it, and the exit code is its own: 128+N when signal N ended it (1 with a terminal
on a server other than ours). It is over when the command has ended and nothing
that it has started has its output open any more; what is left of that ends with
the session. It has a terminal when standard input and output are one.

SIGINT interrupts it; SIGTERM and SIGHUP ask it to end, and end it after five
seconds. A connection that is cut is made again, without loss, for 45 seconds.

It gets the server's environment, but for variables whose names look like
secrets, and what --env names. The exit code is 4 when there is no server at the
URL, and 1 when the command cannot be started or the server is lost.`,
		Example: `  hostsup exec --url ws://127.0.0.1:8080 -- make test
  tar c . | hostsup exec --url unix:///run/exec.sock --dir /srv/in -- tar x`,
		Args: args(1, -1, "CMD"),
		RunE: func(cmd *cobra.Command, command []string) error {
			return a.exec(cmd.Context(), &r, command)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // what follows the command is the command's
	f.StringVar(&r.url, "url", "", "where the server is: `URL` is ws://HOST:PORT, wss://HOST or unix:///PATH")
	f.StringVar(&r.dir, "dir", "", "working `FOLDER`, on the server (default: the server's own)")
	f.StringArrayVar(&r.env, "env", nil, "give it a variable, `NAME=VALUE` or the NAME of one of ours; may be repeated")
	f.StringVar(&r.tokenFile, "token-file", "", "`FILE` with the token that the server asks for")
	f.BoolVar(&r.noTTY, "no-tty", false, "no terminal for the command, even if we have one")
	f.DurationVar(&r.wait, "wait", 0, "how long to wait for the server to be there, such as 10s")
	cobra.CheckErr(cmd.MarkFlagFilename("token-file"))
	return cmd
}

func (a *app) exec(ctx context.Context, r *remote, command []string) error {
	endpoint, err := r.endpoint()
	if err != nil {
		return err
	}
	screen := a.terminal(r)
	watch := &connectionWatch{errout: a.errout}
	opt := execserver.Options{Name: "hostsup exec", OnState: watch.changed, Retry: execserver.Retry{First: 100 * time.Millisecond, Max: time.Second, For: r.wait}}
	if r.wait <= 0 {
		opt.Retry.For = -1
	}
	// From here on signals are the command's.
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)

	client := execserver.New(endpoint, opt)
	defer client.Close()
	if err := connectOrSignal(ctx, client, signals); err != nil {
		return a.execError(err)
	}
	params, err := r.params(client, command, screen)
	if err != nil {
		return err
	}
	input := a.input(screen)
	params.PipeStdin = input != nil && screen == nil
	p, sub, err := client.StartSubscribed(ctx, params, execserver.Stall)
	if err != nil {
		return a.execError(fmt.Errorf("%s: %w", command[0], err))
	}
	if screen != nil {
		if err := screen.raw(); err != nil {
			return err
		}
		defer screen.restore()
		watch.raw()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel(nil)
	helpers.Go(func() { passOn(ctx, cancel, p, signals) })
	if screen != nil && client.Has(wire.ExtProcessResize) {
		helpers.Go(func() { screen.follow(ctx, p) })
	}
	if input != nil {
		// It is left where it waits for input when the command has ended: then
		// this program does too.
		go a.feed(ctx, client, p, input, screen != nil)
	}
	exit, err := sub.Copy(ctx, a.out, a.errout)
	if err != nil {
		// Nobody is left to hear of it.
		end, stop := context.WithTimeout(context.Background(), execSignal)
		defer stop()
		_, _ = p.Terminate(end, 0)
		return a.execError(err)
	}
	if exit.Code != 0 {
		return &told{exit.Code}
	}
	return nil
}

// endpoint is the server that is meant.
func (r *remote) endpoint() (execserver.Endpoint, error) {
	if r.url == "" {
		return nil, usagef("--url is missing: where the server is, such as ws://127.0.0.1:8080 or unix:///run/exec.sock")
	}
	e, err := execserver.ParseEndpoint(r.url)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	if r.tokenFile == "" {
		return e, nil
	}
	ws, ok := e.(execserver.WebSocket)
	if !ok {
		return nil, usagef("--token-file is for ws:// and wss:// only")
	}
	token, err := os.ReadFile(r.tokenFile)
	if err != nil {
		return nil, err
	}
	ws.Token = strings.TrimSpace(string(token))
	return ws, nil
}

// connectOrSignal connects, unless a signal comes first.
func connectOrSignal(ctx context.Context, client *execserver.Client, signals <-chan os.Signal) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- client.Connect(ctx) }()
	select {
	case err := <-done:
		return err
	case s := <-signals:
		cancel()
		<-done
		return &signalled{s}
	}
}

// params is what is to be run.
func (r *remote) params(client *execserver.Client, command []string, screen *screenOf) (wire.ProcessStartParams, error) {
	params := wire.ProcessStartParams{
		Argv:      command,
		Cwd:       client.Info().Cwd,
		Env:       map[string]string{},
		EnvPolicy: &wire.EnvPolicy{Inherit: wire.InheritAll},
	}
	switch {
	case r.dir != "" && !path.IsAbs(r.dir) && client.Info().PlatformOS != "windows":
		return params, usagef("--dir %s: the folder is the server's, and has to be absolute", r.dir)
	case r.dir != "":
		params.Cwd = wire.FileURI(r.dir)
	case params.Cwd == "":
		params.Cwd = "file:///"
	}
	if screen != nil {
		params.TTY = true
		params.Env["TERM"] = os.Getenv("TERM")
		if client.Has(wire.ExtProcessResize) {
			params.Size = screen.size()
		}
	}
	for _, s := range r.env {
		name, value, given := strings.Cut(s, "=")
		if name == "" {
			return params, usagef("--env %q: write NAME or NAME=VALUE", s)
		}
		if !given {
			var ok bool
			if value, ok = os.LookupEnv(name); !ok {
				return params, usagef("--env %s: there is no variable of that name", name)
			}
		}
		params.Env[name] = value
	}
	return params, nil
}

// execError tells what went wrong.
func (a *app) execError(err error) error {
	var by *signalled
	if errors.As(err, &by) {
		if n, ok := by.signal.(syscall.Signal); ok {
			return &told{128 + int(n)}
		}
	}
	if errors.Is(err, execserver.ErrConnect) {
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(err.Error()))
		return &told{exitNoSupervisor}
	}
	return err
}
