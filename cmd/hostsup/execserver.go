package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
)

// execStopWithin bounds the end of an exec server. Processes that the kernel does
// not end by then are left to the launcher's keeper.
const execStopWithin = 12 * time.Second

// Kinds of authentication.
const (
	authCapability = "capability-token"
	authSigned     = "signed-bearer-token"
)

// execFlags holds the flags of exec-server.
type execFlags struct {
	opt        server.Options
	auth       string
	tokenFile  string
	secretFile string
	skew       int
	retain     int    // KiB
	budget     int    // MiB
	sandbox    string // a profile or a file; "": none
	level      string
}

func (a *app) execServerVerb() *cobra.Command {
	var f execFlags
	cmd := &cobra.Command{
		Use:   "exec-server [--listen URL]",
		Short: "Run commands for clients such as Codex",
		Long: `Run commands, read and write files and make HTTP requests for clients that speak
the protocol of Codex's exec-server. With a WebSocket, the address is printed on
standard output as soon as clients can connect. With stdio there is one client,
and its end is the server's.

Everything that was started ends with its session, and with the server, also
when that is killed.`,
		Example: `  hostsup exec-server --listen ws://127.0.0.1:8080
  hostsup exec-server --listen unix:///run/exec.sock --sandbox build-tool
  hostsup exec-server --listen ws://0.0.0.0:8080 --ws-auth capability-token --ws-token-file /etc/exec.token`,
		Args:              args(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return a.execServer(cmd.Context(), &f) },
	}
	s, def := cmd.Flags(), server.Defaults()
	s.StringVar(&f.opt.Listen, "listen", "ws://127.0.0.1:0", "`URL` is ws://IP:PORT (port 0 for any), unix:///PATH or stdio")
	s.StringVar(&f.auth, "ws-auth", "", "what a WebSocket's client must present: `KIND` is capability-token or signed-bearer-token")
	s.StringVar(&f.tokenFile, "ws-token-file", "", "absolute `PATH` of the file with the capability token")
	s.StringVar(&f.opt.Auth.TokenSHA256, "ws-token-sha256", "", "SHA-256 of the capability token, in `HEX`")
	s.StringVar(&f.secretFile, "ws-shared-secret-file", "", "absolute `PATH` of the file with the secret of signed tokens (HS256)")
	s.StringVar(&f.opt.Auth.JWTIssuer, "ws-issuer", "", "`ISSUER` that signed tokens must have")
	s.StringVar(&f.opt.Auth.JWTAudience, "ws-audience", "", "`AUDIENCE` that signed tokens must have")
	s.IntVar(&f.skew, "ws-max-clock-skew-seconds", 30, "`SECONDS` by which clocks may differ")
	s.BoolVar(&f.opt.Exposed, "allow-unauthenticated", false, "listen beyond this machine without authentication")
	s.IntVar(&f.opt.Concurrent, "concurrent-requests", 0, "at most `N` requests of one connection at a time (default 256)")
	s.DurationVar(&f.opt.KeepDetached, "keep-detached", 80*time.Second, "how long a session lives without a connection")
	s.DurationVar(&f.opt.KeepClosed, "keep-closed", 80*time.Second, "how long the output of an ended process can be read")
	s.IntVar(&f.retain, "retain-kib", def.Retain>>10, "`KIB` of output that are kept per process")
	s.IntVar(&f.budget, "retain-budget-mib", def.Budget>>20, "`MIB` of memory for the output of all processes beyond 1 MiB each")
	s.StringVar((*string)(&f.opt.WhenFull), "when-full", string(def.WhenFull), "what a process without a connection does when that is full: `HOW` is pause or drop")
	s.IntVar(&f.opt.MaxProcesses, "max-processes", 0, "at most `N` processes at a time (default: any number)")
	s.IntVar(&f.opt.MaxSessions, "max-sessions", 0, "at most `N` sessions at a time (default: any number)")
	s.BoolVar(&f.opt.NoPrivateHTTP, "refuse-private-http", false, "no HTTP requests to private addresses and to this machine")
	s.StringVar(&f.sandbox, "sandbox", "", "confine all requests of clients: `PROFILE` of a sandbox, or a policy file")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(policy.Profiles(), cobra.ShellCompDirectiveDefault)))
	s.StringVar(&f.level, "log-level", "warn", "`LEVEL` of the log on standard error: trace, debug, info, warn or error")
	return cmd
}

// options turns the flags into options.
func (f *execFlags) options() (server.Options, error) {
	o := f.opt
	if f.retain <= 0 || f.budget <= 0 || f.opt.Concurrent < 0 || f.skew < 0 || f.opt.MaxProcesses < 0 || f.opt.MaxSessions < 0 ||
		o.KeepDetached <= 0 || o.KeepClosed <= 0 {
		return o, usagef("numbers and times must be positive")
	}
	o.Retain, o.Budget = f.retain<<10, f.budget<<20
	if !slices.Contains(server.WhenFulls(), o.WhenFull) {
		return o, usagef("--when-full %q: %s or %s is expected", o.WhenFull, server.Pause, server.Drop)
	}
	o.Auth.JWTSkew = time.Duration(f.skew) * time.Second
	if o.Auth.JWTSkew == 0 {
		o.Auth.JWTSkew = time.Nanosecond
	}
	for flag, path := range map[string]string{"ws-token-file": f.tokenFile, "ws-shared-secret-file": f.secretFile} {
		if path != "" && !filepath.IsAbs(path) {
			return o, usagef("--%s %q: the path must be absolute", flag, path)
		}
	}
	switch f.auth {
	case "":
		if f.tokenFile != "" || f.secretFile != "" || o.Auth.TokenSHA256 != "" {
			return o, usagef("--ws-auth is missing: %s or %s", authCapability, authSigned)
		}
	case authCapability:
		switch {
		case f.secretFile != "":
			return o, usagef("--ws-shared-secret-file is for --ws-auth %s", authSigned)
		case (f.tokenFile == "") == (o.Auth.TokenSHA256 == ""):
			return o, usagef("--ws-auth %s needs --ws-token-file or --ws-token-sha256", authCapability)
		}
		o.Auth.TokenFile = f.tokenFile
	case authSigned:
		if f.secretFile == "" || f.tokenFile != "" || o.Auth.TokenSHA256 != "" {
			return o, usagef("--ws-auth %s needs --ws-shared-secret-file, and nothing else", authSigned)
		}
		o.Auth.JWTSecretFile = f.secretFile
	default:
		return o, usagef("--ws-auth %q: %s or %s is expected", f.auth, authCapability, authSigned)
	}
	return o, nil
}

func (a *app) execServer(ctx context.Context, f *execFlags) error {
	if err := unsupported("exec-server", runtime.GOOS); err != nil {
		return err
	}
	if run, err := asInit(); !run {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if hclog.LevelFromString(f.level) == hclog.NoLevel {
		return usagef("--log-level %q: trace, debug, info, warn or error is expected", f.level)
	}
	if f.sandbox != "" {
		c, err := a.namedPolicy(f.sandbox)
		if err != nil {
			return err
		}
		o.Sandbox, o.Limits = &c.policy, c.limits
	}
	queue := newLogQueue(a.errout, func(n int) []byte { return lostRemark(n, "standard error was not read", false) })
	log := hclog.New(logOptions(queue, screen(a.errout), config.Log{Level: config.Level(f.level)}))
	defer queue.flush()
	o.Log, o.Idle = log.Named("exec-server"), giveBack
	sandbox.CloseInheritedOnExec()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	// Starting leaves much garbage, which must not wait for the next collection.
	collect := debug.SetGCPercent(400)
	s, err := server.Start(o)
	if err != nil {
		return err
	}
	if strings.HasPrefix(s.URL(), "ws:") {
		if _, err := io.WriteString(a.out, s.URL()+"\n"); err != nil {
			o.Log.Warn("cannot report the address", "error", err)
		}
	}
	tidy := time.AfterFunc(time.Second, func() {
		debug.SetGCPercent(collect)
		giveBack()
	})
	defer tidy.Stop()
	select {
	case <-s.Done():
		return s.Err()
	case sig := <-signals:
		o.Log.Info("stopping", "signal", sig.String())
	case <-ctx.Done():
	}
	stopping, cancel := context.WithTimeout(context.Background(), execStopWithin)
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-stopping.Done():
		}
	}()
	if err := s.Stop(stopping); errors.Is(err, context.Canceled) {
		return errors.New("stopped at once by a second signal")
	} else if err != nil {
		return err
	}
	return nil
}
