package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/execserver/part"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// closeWithin bounds the responses under way after the supervisor has ended.
const closeWithin = time.Second

func (a *app) runVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "run",
		Short: "Supervise in the foreground",
		Long: `Supervise what the configuration names, in the foreground: hosts, and exec
servers. SIGTERM and SIGINT stop all hosts gracefully, a second one kills them at
once. A supervisor whose exec server cannot listen where it is to does not start.`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return a.run() },
	}
}

func (a *app) run() error {
	if runtime.GOOS == "windows" {
		return errors.New("hostsup run does not support windows yet; verbs that talk to a supervisor work")
	}
	makeRoom()
	// A host that cannot be confined as required is refused when it starts; the others run.
	_, file, err := a.configuration(config.Options{Enforce: enforceable, Lenient: true})
	if err != nil {
		return err
	}
	spec := file.Spec
	env := config.SystemEnv()
	spec.Socket = config.SocketPath(env, a.socket, file.Socket)
	if spec.StateDir, err = config.StateDir(env, file.StateDir); err != nil {
		return err
	}

	sandbox.CloseInheritedOnExec()
	// From here on a signal requests a stop.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	l, err := control.Listen(spec.Socket) // before any host is started
	if err != nil {
		return err
	}
	log, queue := newLogger(a.errout, file.Log)
	defer queue.flush()
	sup, err := supervisor.Start(context.Background(), spec, supervisor.WithLogger(log), supervisor.WithAdvice(show.Advice))
	if diags := file.Blame(err); diags != nil { // the error has a position in the file
		queue.flush()
		scr := screen(a.errout)
		return errors.Join(config.Print(a.errout, diags, scr.Color, scr.Width), l.Close(), &printed{exitFailed})
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	r := &running{sup: sup, log: log, spec: spec, errout: queue}
	return r.serve(l, signals)
}

// running is a supervisor and its control socket.
type running struct {
	sup    *supervisor.Supervisor
	log    hclog.Logger
	spec   supervisor.Spec
	errout io.Writer
}

// serve serves the control socket until the supervisor has ended, which signals request.
func (r *running) serve(l *control.Listener, signals <-chan os.Signal) error {
	srv := control.NewServer(control.Over(r.sup), control.Options{Version: version.Version(), Logger: r.log.Named("control")})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	kept := make(chan struct{})
	keepCtx, keepNoMore := context.WithCancel(context.Background())
	go func() {
		defer close(kept)
		l.Keep(keepCtx, r.restored)
	}()
	ready := make(chan error, 1)
	go func() { ready <- r.sup.Ready(context.Background()) }() // ends with the supervisor at the latest

	stopCtx, kill := context.WithCancel(context.Background())
	defer kill()
	stopping := false
	stop := func() {
		stopping = true
		go func() { _ = r.sup.Stop(stopCtx) }() // it ends with the supervisor
	}
	var serveErr error
	for done := false; !done; {
		select {
		case err := <-ready:
			if err == nil {
				fmt.Fprintln(r.errout, r.readyLine())
			}
			ready = nil
			// Starting many hosts leaves garbage that an idle supervisor would keep for hours,
			// because nothing triggers a collection.
			debug.FreeOSMemory()
		case sig := <-signals:
			switch {
			case sig == syscall.SIGHUP:
				r.log.Warn("reloading the configuration is not in this version; going on with the one in force")
			case !stopping:
				r.log.Info("stopping", "signal", sig.String())
				stop()
			default:
				r.log.Warn("killing all hosts at once", "signal", sig.String())
				kill()
			}
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
	<-kept
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	closeErr := errors.Join(srv.Close(ctx), l.Close())
	if served != nil {
		closeErr = errors.Join(closeErr, <-served)
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
	return fmt.Sprintf("hostsup: ready (%d of %d %s running%s, pid %d, socket %s)",
		up, len(st.Hosts), show.Plural(len(st.Hosts), "host", "hosts"), servers, os.Getpid(), r.spec.Socket)
}

// newLogger logs as configured, and never blocks if its output is not read. A
// terminal gets colour. The queue must be flushed before the program ends, and
// before anything else is written to w.
func newLogger(w io.Writer, conf config.Log) (hclog.Logger, *logQueue) {
	queue := newLogQueue(w)
	opt := &hclog.LoggerOptions{
		Name:       "hostsup",
		Level:      hclog.LevelFromString(string(conf.Level)),
		Output:     queue,
		JSONFormat: conf.Format == config.FormatJSON,
	}
	if scr := screen(w); scr.Terminal && !opt.JSONFormat {
		opt.TimeFormat = "15:04:05.000"
		if scr.Color {
			opt.Color, opt.ColorHeaderAndFields = hclog.ForceColor, true
		}
	}
	return hclog.New(opt), queue
}
