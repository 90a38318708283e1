package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/lifecycle"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/supervisor"
)

// sharedVerbName is the verb by which attach --shared starts the supervisor of its user.
const sharedVerbName = "shared-supervisor"

func (a *app) sharedVerb() *cobra.Command {
	idle := sharedIdle
	cmd := &cobra.Command{
		Use:    sharedVerbName,
		Short:  "Supervise the hosts that attach --shared adds",
		Hidden: true,
		Args:   args(0, 0, ""),
		RunE:   func(*cobra.Command, []string) error { return a.runShared(idle) },
	}
	cmd.Flags().DurationVar(&idle, "idle", sharedIdle, "end when no host has run for so long")
	return cmd
}

// runShared supervises the hosts that attach --shared adds, until none has run for some time, or
// a signal comes. Where another process does so it returns at once.
func (a *app) runShared(idle time.Duration) error {
	makeRoom()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM) // SIGHUP comes for what belongs to a terminal
	signal.Ignore(syscall.SIGHUP)
	defer signal.Stop(signals)
	l, err := control.Listen(a.socket)
	var used *control.InUseError
	if errors.As(err, &used) {
		return nil
	}
	if err != nil {
		return err
	}
	sandbox.RememberProbe()
	log, err := newOwnLog(a.errout, screen(a.errout), config.Log{Level: config.LevelWarn, Format: config.FormatText, File: a.socket + ".log", MaxSize: 1 << 20, Files: 2}, "")
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer log.end()
	sup, err := supervisor.Start(context.Background(), supervisor.Spec{Socket: a.socket, Parts: []supervisor.Part{attach.Part{}}},
		supervisor.WithLogger(log), supervisor.WithAdvice(show.Advice))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s := &shared{sup: sup, log: log}
	srv := control.NewServer(control.Over(sup), control.Options{Version: version.Version(), Logger: log.Named("control"), Configuration: s})
	served := make(chan error, 1)
	go func() { served <- srv.Serve(l) }()
	stop := func() { go func() { _ = sup.Stop(context.Background()) }() } // it ends with the supervisor
	unused := make(chan struct{}, 1)
	go s.watch(idle, unused)
	for done := false; !done; {
		select {
		case <-signals:
			stop()
		case <-unused:
			stop()
		case err = <-served:
			served = nil
			stop()
		case <-sup.Done():
			done = true
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeWithin)
	defer cancel()
	err = errors.Join(err, srv.Close(ctx), l.Close(), sup.Stop(context.Background()))
	if served != nil {
		err = errors.Join(err, <-served)
	}
	return err
}

// shared is the configuration of a supervisor without a file: the hosts that attach --shared
// adds. It implements [control.Configuration].
type shared struct {
	sup *supervisor.Supervisor
	log *ownLog

	mu sync.Mutex // held while a host is added
}

var errNoFile = &control.Error{Class: control.Invalid, Message: "this supervisor was started by hostsup attach --shared, has no file, and takes hosts from that alone"}

// Add adds the host that is in vars, unless it is there.
func (s *shared) Add(ctx context.Context, _ string, vars map[string]string) (*control.Applied, error) {
	var in sharedSpec
	if json.Unmarshal([]byte(vars[sharedVar]), &in) != nil {
		return nil, errNoFile
	}
	spec, err := in.spec()
	if err != nil {
		return nil, &control.Error{Class: control.Invalid, Message: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sup.Hosts()) >= config.MaxHosts {
		return nil, &control.Error{Class: control.Overloaded, Message: "the supervisor of attach --shared has as many hosts as one can have: hostsup remove takes one out"}
	}
	if _, err := s.sup.Add(context.WithoutCancel(ctx), "", spec); err != nil {
		return nil, err
	}
	s.log.setHosts(s.sup.Hosts())
	return &control.Applied{Added: []string{spec.Name}}, nil
}

// Remove stops a host and takes it out.
func (s *shared) Remove(ctx context.Context, host string) (*control.Applied, error) {
	if err := s.sup.Remove(context.WithoutCancel(ctx), host); err != nil {
		return nil, err
	}
	return &control.Applied{}, nil
}

// Plan returns an error: there is no file.
func (s *shared) Plan(context.Context, string, map[string]string) (*control.Applied, error) {
	return nil, errNoFile
}

// Reload returns an error: there is no file.
func (s *shared) Reload(context.Context) (*control.Applied, error) { return nil, errNoFile }

// Status returns nil: there is no file.
func (s *shared) Status() *supervisor.ConfigStatus { return nil }

// watch tells when no host has run for some time. It returns then, or when the supervisor has
// ended.
func (s *shared) watch(idle time.Duration, unused chan<- struct{}) {
	timer := time.AfterFunc(idle, func() { unused <- struct{}{} })
	defer timer.Stop()
	for range s.sup.Follow(context.Background()) {
		timer.Stop()
		if s.resting() {
			timer.Reset(idle)
		}
	}
}

// resting reports whether no host runs, or is to run.
func (s *shared) resting() bool {
	for _, h := range s.sup.Hosts() {
		if st := h.State(); st != lifecycle.Stopped && st != lifecycle.Failed {
			return false
		}
	}
	return true
}
