package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/systemd"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/control/evidence"
	"github.com/hostsup/hostsup/control/samples"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/metrics"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/traces"
)

// closeWithin bounds the responses under way after the supervisor has ended.
const closeWithin = time.Second

func (a *app) runVerb() *cobra.Command {
	var opt runOptions
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Supervise in the foreground",
		Long: `Supervise what the configuration names, in the foreground: hosts, and exec
servers. SIGTERM and SIGINT stop all hosts gracefully, a second one kills them at
once. SIGHUP loads the configuration again, as hostsup reload does. A supervisor whose
exec server cannot listen where it is to does not start.

In a terminal the output of hosts is shown beside the log, with their names in front
as hostsup logs --all has them, unless the log is in JSON.`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if opt.plain && opt.noOutput {
				return usagef("either --plain or --no-output, not both")
			}
			return a.run(opt)
		},
	}
	cmd.Flags().BoolVar(&opt.plain, "plain", false, "show log and output of hosts without colours, the output also when standard error is no terminal")
	cmd.Flags().BoolVar(&opt.noOutput, "no-output", false, "do not show the output of hosts")
	cmd.Flags().BoolVar(&opt.watched, "watch", false, "load the configuration again whenever its file changes, or one that it includes")
	return cmd
}

// runOptions are the flags of hostsup run.
type runOptions struct {
	watched  bool // the configuration is loaded again when it changes
	plain    bool // no colours
	noOutput bool // what hosts print is not shown
}

func (a *app) run(opt runOptions) error {
	if err := unsupported("run", runtime.GOOS); err != nil {
		return err
	}
	if run, err := asInit(); !run {
		return err
	}
	next, err := newSuccessor()
	if err != nil {
		return err
	}
	return next.fail(a.supervise(opt, next))
}

// supervise runs a supervisor until it has ended, or another process has taken over.
func (a *app) supervise(opt runOptions, next successor) error {
	service, err := systemd.FromEnvironment()
	if err != nil {
		return err
	}
	makeRoom()
	// A host that cannot be confined as required is refused when it starts; the others run.
	var others []string
	_, file, err := a.configuration(config.Options{Enforce: enforceable, Lenient: true, OnFile: func(p string) { others = append(others, p) }})
	if err != nil {
		return err
	}
	loaded := time.Now()
	spec, err := completed(file, a.socket)
	if err != nil {
		return err
	}
	vars, err := config.ParseVars(a.vars)
	if err != nil {
		return &usageError{text: err.Error()}
	}

	sandbox.CloseInheritedOnExec()
	// From here on a signal requests a stop.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	l, err := next.controlSocket(&spec, service.Socket) // before any host is started
	if err != nil {
		return err
	}
	if err := next.check(spec); err != nil {
		return errors.Join(err, l.Close())
	}
	con, err := openConsole(context.Background(), file, spec.StateDir, next)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	served, err := openServes(context.Background(), file, spec.StateDir, next)
	if err != nil {
		return errors.Join(err, l.Close(), con.Close())
	}
	scr := screen(a.errout)
	if opt.plain {
		scr = show.Screen{Terminal: true, Now: scr.Now}
	}
	log, err := newOwnLog(a.errout, scr, file.Log, "")
	if err != nil {
		return errors.Join(err, l.Close(), con.Close(), served.Close())
	}
	defer log.end()
	tracing, err := openTraces(file.Traces, log.Named("traces"))
	if err != nil {
		return errors.Join(err, l.Close(), con.Close(), served.Close())
	}
	defer closeTraces(tracing)
	if err := next.takeOver(spec); err != nil {
		return errors.Join(err, l.Close(), con.Close(), served.Close())
	}
	figures := samples.NewStore()
	keeper := evidence.New(evidence.Options{
		MaxAge: file.Crashes.MaxAge, MaxSize: file.Crashes.MaxSize, MaxReports: file.Crashes.MaxReports, Samples: evidence.SamplesOf(figures),
	})
	sup, err := supervisor.Start(context.Background(), spec, supervisor.WithEvidence(keeper), supervisor.WithLogger(log), supervisor.WithAdvice(show.Advice), supervisor.WithCompression(), supervisor.WithJournal(""))
	if diags := file.Blame(err); diags != nil { // the error has a position in the file
		log.end()
		scr := screen(a.errout)
		return errors.Join(config.Print(a.errout, diags, scr.Color, scr.Width), l.Close(), con.Close(), served.Close(), &printed{exitFailed})
	}
	if err != nil {
		return errors.Join(err, l.Close(), con.Close(), served.Close())
	}
	note := sup.Note
	log.note.Store(&note)
	log.setHosts(sup.Hosts())
	r := &running{sup: sup, log: log, spec: spec, errout: log.errout, service: service, console: con, serves: served, traces: tracing, samples: figures, evidence: keeper}
	if scr.Terminal && !opt.noOutput && file.Log.Format != config.FormatJSON {
		r.output = &hostOutput{screen: scr, queue: log.errout}
	}
	r.loader = &loader{
		path: spec.Config, vars: vars, socket: a.socket, sup: sup, log: log, conf: file.Log, console: file.Console, serves: file.Serves, traces: file.Traces, crashes: file.Crashes,
		status: supervisor.ConfigStatus{Loaded: loaded}, turn: make(chan struct{}, 1),
	}
	if _, is := l.(given); is {
		r.loader.given = spec.Socket
	}
	if opt.watched {
		if r.watcher, err = newWatcher(spec.Config, others); err != nil {
			return errors.Join(fmt.Errorf("watch the configuration: %w", err), sup.Stop(context.Background()), l.Close())
		}
		r.loader.files, r.loader.watch = others, r.watcher.watch
	}
	return r.serve(l, signals, next)
}

// running is a supervisor and its control socket.
type running struct {
	sup    *supervisor.Supervisor
	log    hclog.Logger
	spec   supervisor.Spec
	errout io.Writer

	output  *hostOutput // nil: what hosts print is not shown
	service *systemd.Service
	console *console // nil: the API is not served on a network
	serves  serves
	traces  *traces.Traces // nil: none are sent
	loader  *loader
	watcher *watcher // nil: the file is not watched

	samples  *samples.Store
	evidence *evidence.Keeper
}

// socket is where control connections come from.
type socket interface {
	net.Listener
	Keep(ctx context.Context, report func(what string, err error))
	Leave() error // Close that leaves the socket to another process
}

// given is a socket of the service manager's, who keeps it.
type given struct{ net.Listener }

func (given) Keep(context.Context, func(string, error)) {}

// Leave is Close: the socket is the manager's.
func (g given) Leave() error { return g.Close() }

// Close is idempotent: the server closes it, too.
func (g given) Close() error {
	if err := g.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// serve serves the control socket until the supervisor has ended, which signals request.
func (r *running) serve(l socket, signals <-chan os.Signal, next successor) error {
	up := &upgrader{run: r, from: l, ask: make(chan *replacement)}
	opt := control.Options{Version: version.Version(), Logger: r.log.Named("control"), Configuration: r.loader, Upgrader: up, Samples: r.samples, Evidence: r.evidence, Serves: r.serves.status()}
	if r.console != nil {
		opt.Console = r.console.info
	}
	figures := metrics.Options{Version: opt.Version, Logger: opt.Logger, Usage: opt.Samples.Usage, Configuration: r.loader.Status}
	tree := control.Over(r.sup)
	if r.traces != nil {
		tree, figures.Spans = r.traces.Over(tree), r.traces.Counts
	}
	opt.Metrics = metrics.New(r.sup, figures)
	srv := control.NewServer(tree, opt)
	up.srv = srv
	consoled := serveConsole(srv, r.console)
	httpDone := r.serves.start(srv, r.sup, r.log.Named("mcp"))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	next.running(l, r.log)
	var kept sync.WaitGroup
	keepCtx, keepNoMore := context.WithCancel(context.Background())
	kept.Go(func() { l.Keep(keepCtx, r.restored) })
	kept.Go(func() { opt.Samples.Run(keepCtx, r.sup) })
	kept.Go(func() { r.evidence.Run(keepCtx) })
	kept.Go(func() { r.tell(func() error { return r.service.Watch(keepCtx, r.sup.Ping) }) })
	if r.output != nil {
		kept.Go(func() { r.output.show(keepCtx, control.Over(r.sup)) })
	}
	if r.traces != nil {
		kept.Go(func() { r.traces.Follow(keepCtx, r.sup) })
	}
	if r.watcher != nil {
		kept.Go(func() {
			r.watcher.run(keepCtx, func() { r.reload(keepCtx) }, func(err error) { r.log.Warn("watching the configuration", "error", err) })
		})
	}
	hup := make(chan struct{}, 1) // full: one that has not begun sees whatever the file says by then
	kept.Go(func() {
		for {
			select {
			case <-hup:
				r.reload(keepCtx)
			case <-keepCtx.Done():
				return
			}
		}
	})
	ready := make(chan error, 1)
	go func() { ready <- r.sup.Ready(context.Background()) }() // ends with the supervisor at the latest

	stopCtx, kill := context.WithCancel(context.Background())
	defer kill()
	stopping := false
	stop := func() {
		stopping = true
		r.tell(r.service.Stopping)
		go func() { _ = r.sup.Stop(stopCtx) }() // it ends with the supervisor
	}
	var serveErr error
	var by *replacement  // takes over
	var passOn os.Signal // for the process that takes over
	for done := false; !done; {
		select {
		case err := <-ready:
			if err == nil {
				fmt.Fprintln(r.errout, r.readyLine())
				r.tell(func() error { return r.service.Ready(strings.TrimPrefix(r.readyLine(), "hostsup: ")) })
			}
			ready = nil
			// Starting many hosts leaves garbage that an idle supervisor would keep for hours,
			// because nothing triggers a collection.
			debug.FreeOSMemory()
		case sig := <-signals:
			switch {
			case by != nil:
				passOn = sig
			case sig == syscall.SIGHUP && stopping: // there is nothing left to change
			case sig == syscall.SIGHUP:
				select {
				case hup <- struct{}{}:
				default:
				}
			case !stopping:
				r.log.Info("stopping", "signal", sig.String())
				stop()
			default:
				r.log.Warn("killing all hosts at once", "signal", sig.String())
				kill()
			}
		case to := <-up.ask:
			if stopping {
				to.done <- errStopping
				break
			}
			by, stopping = to, true
			by.let(r)
			go func() { _ = r.sup.Stop(stopCtx) }() // it ends with the supervisor
		case serveErr = <-served:
			served = nil
			serveErr = fmt.Errorf("the control socket failed: %w", serveErr)
			if !stopping {
				stop()
			}
		case <-r.sup.Done():
			done = true
		}
	}

	keepNoMore()
	kept.Wait()
	r.serves.end() // before their connections: what is open is answered
	var codeErr error
	if by != nil {
		if serveErr = up.handOver(by); serveErr == nil {
			if passOn != nil {
				_ = by.next.Signal(passOn) // it may have ended
			}
			_ = errors.Join(l.Leave(), r.console.Close(), r.serves.Close()) // the other process listens
			codeErr = up.follow(by, signals)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	closeErr := errors.Join(srv.Close(ctx), l.Close(), <-consoled, <-httpDone)
	if served != nil {
		closeErr = errors.Join(closeErr, <-served)
	}
	if by != nil && serveErr == nil {
		return codeErr
	}
	left := r.sup.Stop(context.Background()) // the tree has ended: Stop only returns what did not end with it
	switch {
	case r.sup.Err() != nil:
		return errors.Join(r.sup.Err(), left)
	case stopCtx.Err() != nil:
		return errors.Join(errors.New("stopped at once by a second signal"), left)
	}
	return errors.Join(serveErr, closeErr, left)
}

// reload loads the configuration again, unless ctx ends before its turn. Its outcome is in the log.
func (r *running) reload(ctx context.Context) {
	r.tell(r.service.Reloading)
	_, _ = r.loader.Reload(ctx)
	r.tell(func() error { return r.service.Ready(strings.TrimPrefix(r.readyLine(), "hostsup: ")) })
}

// tell tells the service manager something, and logs when that fails.
func (r *running) tell(send func() error) {
	if err := send(); err != nil {
		r.log.Warn("the service manager cannot be told", "error", err)
	}
}

// restored reports that the control socket was removed and made again.
func (r *running) restored(what string, err error) {
	if err != nil {
		r.log.Error(what+", and cannot be made again", "error", err)
		r.sup.Note(fmt.Sprintf("%s, and cannot be made again: %v", what, err))
		return
	}
	r.log.Warn(what + ", and made again")
	r.sup.Note(what + ", and made again")
}

// readyLine returns the line that scripts wait for.
func (r *running) readyLine() string {
	st := r.sup.Status()
	up := 0
	for _, h := range st.Hosts {
		if h.State == lifecycle.Running {
			up++
		}
	}
	servers := ""
	execs, _ := part.Statuses(&st) // this program made them
	for _, e := range execs {
		servers += fmt.Sprintf(", exec server %s at %s", e.Name, e.URL)
	}
	return fmt.Sprintf("hostsup: ready (%d of %d %s running%s, pid %d, socket %s%s)",
		up, len(st.Hosts), show.Plural(len(st.Hosts), "host", "hosts"), servers, os.Getpid(), r.spec.Socket, r.console.where()+r.serves.where())
}
