package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
	"github.com/hostsup/hostsup/sandbox/policy"
)

const (
	execGrace  = 5 * time.Second // between SIGTERM and SIGKILL of a command that must end
	execSignal = 2 * time.Second // for sending a signal to the server
	execQuiet  = 2 * time.Second // how long a lost connection is not reported
)

// remote is a command on a server, as the command line describes it.
type remote struct {
	url, dir, tokenFile string
	env                 []string
	tty, noTTY          bool
	interactive         bool
	sandbox             string // a profile or a file; "": none
	wait                time.Duration

	detach bool
	keep   time.Duration
	full   string // when_full of a detached command
}

func (a *app) execVerb() *cobra.Command {
	var r remote
	cmd := &cobra.Command{
		Use:   "exec [FLAG…] --url URL [--] CMD [ARG…]",
		Short: "Run a command on an exec server",
		Long: `Run a command on an exec server. Its streams are ours, signals are passed on to
it, and the exit code is its own: 128+N when signal N ended it (1 with a terminal
on a server other than ours). It is over when the command has ended and nothing
that it has started has its output open any more; what is left of that ends with
the session. It has a terminal when standard input and output are one, or with
-t, and none with -T.

With a terminal Ctrl-C is the command's. Without one the first SIGINT interrupts
it, the second asks it to end, and the third ends it; SIGTERM and SIGHUP ask it to
end, and end it after five seconds. A connection that is cut is made again, without
loss, for 45 seconds.

With --detach it is left running, and its ID is printed, by which "hostsup exec"
followed at once by ps, attach, logs or kill finds it. Behind a flag or -- these
words are commands: "hostsup exec --url URL ps" runs ps.

It gets the server's environment, but for variables whose names look like
secrets, and what --env names. The exit code is 4 when there is no server at the
URL, and 1 when the command cannot be started or the server is lost.`,
		Example: `  hostsup exec --url ws://127.0.0.1:8080 -- make test
  tar c . | hostsup exec --url unix:///run/exec.sock --dir /srv/in -- tar x`,
		Args: args(1, -1, "CMD"),
		RunE: func(cmd *cobra.Command, command []string) error {
			switch {
			case r.tty && r.noTTY:
				return usagef("-t and -T are opposites")
			case r.detach:
				return a.execDetached(cmd.Context(), &r, command)
			}
			return a.exec(cmd.Context(), &r, command)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false) // words after the command are its arguments
	f.StringVar(&r.url, "url", "", "where the server is: `URL` is ws://HOST:PORT, wss://HOST or unix:///PATH")
	f.StringVar(&r.dir, "dir", "", "working `FOLDER`, on the server (default: the server's own)")
	f.StringArrayVar(&r.env, "env", nil, "give it a variable, `NAME=VALUE` or the NAME of one of the own environment; may be repeated")
	f.StringVar(&r.tokenFile, "token-file", "", "`FILE` with the token that the server asks for")
	f.BoolVarP(&r.tty, "tty", "t", false, "a terminal for the command, even if hostsup has none")
	f.BoolVarP(&r.noTTY, "no-tty", "T", false, "no terminal for the command, even if hostsup has one")
	f.BoolVarP(&r.interactive, "interactive", "i", false, "give it the input of hostsup even if that is empty; with --detach, that of the client that attaches")
	f.StringVar(&r.sandbox, "sandbox", "", "confine it: `PROFILE` of a sandbox, or a policy file with paths of the server")
	f.BoolVarP(&r.detach, "detach", "d", false, "leave it running, and print its ID")
	f.DurationVar(&r.keep, "keep", 24*time.Hour, "with --detach, how long it and its output are kept without a client")
	f.StringVar(&r.full, "when-full", string(server.Drop), "with --detach, what it does when no more of its output is kept: `HOW` is drop (the oldest goes) or pause")
	f.DurationVar(&r.wait, "wait", 0, "how long to wait for the server to start, such as 10s")
	cobra.CheckErr(cmd.MarkFlagFilename("token-file"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(policy.Profiles(), cobra.ShellCompDirectiveDefault)))
	cmd.AddCommand(a.execPsVerb(), a.execAttachVerb(), a.execLogsVerb(), a.execKillVerb())
	return cmd
}

func (a *app) exec(ctx context.Context, r *remote, command []string) error {
	endpoint, err := r.endpoint()
	if err != nil {
		return err
	}
	screen := a.terminal(r)
	watch := &connectionWatch{errout: a.errout}
	// From here on signals are the command's.
	signals := execSignals()
	defer signal.Stop(signals)
	client := execserver.New(endpoint, r.options(watch))
	defer client.Close()
	if err := connectOrSignal(ctx, client, signals); err != nil {
		return a.notConnected(r.url, err)
	}
	params, err := a.params(r, client, command, screen)
	if err != nil {
		return err
	}
	input := a.input(r, screen)
	params.PipeStdin = input != nil && !params.TTY
	p, sub, err := client.StartSubscribed(ctx, params, execserver.Keep)
	if err != nil {
		return a.execError(fmt.Errorf("%s: %w", command[0], err))
	}
	s := &execStreams{app: a, client: client, p: p, sub: sub, screen: screen, watch: watch, input: input, tty: params.TTY}
	exit, err := s.run(ctx, func(ctx context.Context, fail context.CancelCauseFunc) { passOn(ctx, fail, p, signals) })
	if err != nil {
		// No connection is left to report it.
		end, stop := context.WithTimeout(context.Background(), execSignal)
		defer stop()
		_, _ = p.Terminate(end, 0)
		return a.execError(err)
	}
	if exit.Code != 0 {
		return &printed{exit.Code}
	}
	return nil
}

// execSignals returns the signals that a command gets, and that would leave a
// terminal raw.
func execSignals() chan os.Signal {
	signals := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// options returns the options of a client that connects for r.
func (r *remote) options(watch *connectionWatch) execserver.Options {
	opt := execserver.Options{Name: "hostsup exec", Retry: execserver.Retry{First: 100 * time.Millisecond, Max: time.Second, For: r.wait}}
	if watch != nil {
		opt.OnState = watch.changed
	}
	if r.wait <= 0 {
		opt.Retry.For = -1
	}
	return opt
}

// notConnected returns why there is no connection to the server at url.
func (a *app) notConnected(url string, err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(a.errout, "hostsup: no exec server at %s: start one with \"hostsup exec-server --listen %[1]s\"\n", show.Clean(url))
		return &printed{exitNoSupervisor}
	}
	return a.execError(err)
}

// endpoint returns the selected server.
func (r *remote) endpoint() (execserver.Endpoint, error) {
	if r.url == "" {
		return nil, usagef("--url is missing: where the server is, such as ws://127.0.0.1:8080 or unix:///run/exec.sock")
	}
	e, err := execserver.ParseEndpoint(r.url)
	if err != nil {
		return nil, &usageError{text: err.Error()}
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

// params returns the parameters of the command to run.
func (a *app) params(r *remote, client *execserver.Client, command []string, screen *screenOf) (wire.ProcessStartParams, error) {
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
	if r.sandbox != "" {
		var err error
		if params.Policy, err = a.remotePolicy(r, client, &params.Cwd); err != nil {
			return params, err
		}
	}
	if screen != nil || r.tty {
		params.TTY = true
		params.Env["TERM"] = cmp.Or(os.Getenv("TERM"), "xterm")
	}
	if screen != nil && client.Has(wire.ExtProcessResize) {
		params.Size = screen.size()
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

// remotePolicy returns the policy that --sandbox names, for the server to enforce.
// It changes the working folder to / if none was requested and the present one is
// not granted.
func (a *app) remotePolicy(r *remote, client *execserver.Client, cwd *wire.URI) (json.RawMessage, error) {
	c, err := a.namedPolicy(r.sandbox)
	if err != nil {
		return nil, err
	}
	if !client.Has(wire.ExtProcessPolicy) {
		return nil, errors.New("--sandbox: this server cannot enforce a policy of hostsup's")
	}
	if dir, bad := cwd.Native(); r.dir == "" && bad == nil && !slices.ContainsFunc(slices.Concat(c.policy.Read, c.policy.Exec, c.policy.Write), func(granted string) bool {
		rel, err := filepath.Rel(strings.TrimPrefix(granted, "-"), dir)
		return err == nil && filepath.IsLocal(rel)
	}) {
		*cwd = "file:///"
	}
	return json.Marshal(map[string]any{"policy": c.policy, "limits": c.limits})
}

// namedPolicy reads the policy that --sandbox names: a profile, or a file.
func (a *app) namedPolicy(name string) (confine, error) {
	var c confine
	if err := c.choose(name); err != nil {
		return c, err
	}
	return c, a.readPolicy(&c)
}

// choose makes the value of --sandbox the policy: a profile, or a policy file.
func (c *confine) choose(name string) error {
	if _, ok := policy.Profile(name); ok {
		c.profile = name
		return nil
	}
	if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
		return usagef("--sandbox %s: it is no file, and no profile: %s", name, strings.Join(policy.Profiles(), ", "))
	}
	c.file = name
	return nil
}

// execError adds what the user needs to know to an error.
func (a *app) execError(err error) error {
	var by *signalled
	if errors.As(err, &by) {
		if n, ok := by.signal.(syscall.Signal); ok {
			return &printed{128 + int(n)}
		}
	}
	if cut := (*execserver.DisconnectedError)(nil); errors.As(err, &cut) && errors.Is(err, execserver.ErrSessionLost) && cut.Resume != nil {
		if errors.Is(cut.Resume, execserver.ErrUnknownSession) {
			return errors.New("the connection was cut, and the server no longer knows the session: it was restarted, or has ended it, and the command with it")
		}
		return fmt.Errorf("the connection was cut, and the session could not be resumed: %w", cut.Resume)
	}
	if errors.Is(err, execserver.ErrConnect) {
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(err.Error()))
		return &printed{exitNoSupervisor}
	}
	return err
}
