package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/jsonrpc"
	"github.com/hostsup/hostsup/codec/msgpackrpc"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/sandbox"
	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/supervisor"
)

// aloneOptions holds the flags of attach with a command, which is supervised in this process.
type aloneOptions struct {
	protocol string // "": the first byte of the input tells
	sandbox  string // a profile or a policy file; "": it is not confined
	confine  confine
	tasks    int
	cpu      float64

	shared bool
	idle   time.Duration // with shared, see sharedIdle
}

func (o *aloneOptions) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.protocol, "protocol", "", "what the command speaks: `NAME` is lsp, mcp or msgpack-rpc (default: what the first byte of the input shows)")
	f.StringVar(&o.sandbox, "sandbox", "", "confine it: `PROFILE` of a sandbox, or a policy file")
	o.confine.grants(f)
	f.IntVar(&o.tasks, "tasks", 0, "limit it to `N` processes and threads")
	f.Float64Var(&o.cpu, "cpu", 0, "limit it to `N` processors, such as 1.5")
	f.BoolVar(&o.shared, "shared", false, "share it with all programs that attach to the same command with the same flags in the same folder")
	f.DurationVar(&o.idle, "idle", sharedIdle, "with --shared, stop it when no program was attached for so long, and then its supervisor")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("protocol", cobra.FixedCompletions([]string{"lsp", "mcp", "msgpack-rpc"}, cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("sandbox", cobra.FixedCompletions(policy.Profiles(), cobra.ShellCompDirectiveDefault)))
}

// misplaced returns the name of a given flag that has no meaning: with a command those that
// find a supervisor, else those of a command; "" if all are in place.
func misplaced(cmd *cobra.Command, withCommand bool) (name string) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		inherited := cmd.InheritedFlags().Lookup(f.Name) != nil
		if inherited == withCommand && f.Name != "var" && f.Name != "key" && f.Name != "set" && name == "" {
			name = f.Name
		}
	})
	return name
}

// spokenNames are the names that --protocol takes, with those of the configuration.
var spokenNames = map[string]string{"lsp": "jsonrpc-headers", "mcp": "jsonrpc-lines"}

// spoken returns the protocol of a name, nil for an unknown one.
func spoken(name string) codec.Protocol {
	if full, ok := spokenNames[name]; ok {
		name = full
	}
	switch name {
	case "jsonrpc-headers":
		return jsonrpc.Headers(jsonrpc.Options{})
	case "jsonrpc-lines":
		return jsonrpc.Lines(jsonrpc.Options{})
	case "msgpack-rpc":
		return msgpackrpc.New(msgpackrpc.Options{})
	}
	return nil
}

// attachAlone supervises a command in this process, with the standard streams as its only
// client. It returns when the client has left, the command was given up, or a signal came;
// nothing of the command is left then.
func (a *app) attachAlone(o *aloneOptions, command []string) error {
	if err := unsupported("attach", runtime.GOOS); err != nil {
		return err
	}
	spec, err := a.aloneSpec(o, command)
	if err != nil {
		return err
	}
	in, err := a.speak(o, &spec)
	if in == nil || err != nil {
		return err
	}
	sandbox.CloseInheritedOnExec()
	return a.serveAlone(supervisor.Spec{
		Groups: []supervisor.GroupSpec{supervisor.Alone(spec)}, Parts: []supervisor.Part{attach.Part{Alone: true}}, OnFailed: supervisor.Exit,
	}, spec.Name, in, nil)
}

// speak finds out which protocol the client speaks. It returns the client's input, nil if the
// client has said nothing.
func (a *app) speak(o *aloneOptions, spec *supervisor.HostSpec) (io.Reader, error) {
	in := bufio.NewReaderSize(a.in, 64<<10)
	if spec.Protocol = spoken(o.protocol); spec.Protocol == nil && o.protocol != "" {
		return nil, usagef("--protocol %s: expected lsp, mcp or msgpack-rpc", o.protocol)
	}
	if o.protocol != "" {
		return in, nil
	}
	name, b, err := attach.Opening(in)
	if errors.Is(err, io.EOF) {
		return nil, nil // a client that says nothing wants nothing
	}
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if spec.Protocol = spoken(name); spec.Protocol == nil {
		return nil, usagef("the input begins with byte %#02x, which is no message of lsp, mcp or msgpack-rpc", b)
	}
	return in, nil
}

// serveAlone starts a supervisor, serves the client, whose input is in, until it has left, and
// ends the supervisor. watch, unless it is nil, runs meanwhile and may send a reason to end.
func (a *app) serveAlone(tree supervisor.Spec, host string, in io.Reader, watch func(sup *supervisor.Supervisor, given chan<- error), opts ...supervisor.Option) error {
	// From here on a signal requests a stop.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	log, err := newOwnLog(a.errout, screen(a.errout), config.Log{Level: config.LevelWarn, Format: config.FormatText, To: config.LogToStderr}, "")
	if err != nil {
		return err
	}
	defer log.end()
	sup, err := supervisor.Start(context.Background(), tree, append(opts, supervisor.WithLogger(log))...)
	if err != nil {
		return err
	}
	log.setHosts(sup.Hosts())
	client := newStreams(in, a.out.w)
	given := make(chan error, 1)
	if watch != nil {
		go watch(sup, given)
	}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		showOutput(sup, host, log.errout)
	}()
	left := make(chan error, 1)
	go func() { left <- sup.Attach(context.Background(), host, client) }()

	stopCtx, kill := context.WithCancel(context.Background())
	defer kill()
	stop := func() { go func() { _ = sup.Stop(stopCtx) }() } // it ends with the supervisor
	var reason error
	var signaled os.Signal
	for done := false; !done; {
		select {
		case err = <-left:
			left = nil
			stop()
		case s := <-signals:
			if signaled != nil {
				log.Warn("killing the server at once", "signal", s.String())
				kill()
			}
			signaled = s
			stop()
		case reason = <-given:
			stop()
		case <-sup.Done():
			done = true
		}
	}
	if left != nil {
		err = <-left
	}
	<-shown
	remains := sup.Stop(context.Background()) // the tree has ended: Stop only returns what did not end with it
	switch {
	case reason != nil:
		return reason
	case sup.Err() != nil:
		return errors.Join(&control.Error{Class: control.Failed, Message: sup.Err().Error()}, remains)
	case signaled != nil && (err == nil || errors.Is(err, supervisor.ErrClosed)):
		return remains
	case err != nil:
		return errors.Join(classified(err), remains)
	}
	return remains
}

// classified gives an error of the supervisor the class that the control API has for it.
func classified(err error) error {
	return &control.Error{Class: control.ClassOf(err), Message: err.Error()}
}

// showOutput writes what a host prints to the log's standard error, as the host has printed
// it, until the supervisor has ended. It waits for a reader that is slow, for which the host
// does not wait.
func showOutput(sup *supervisor.Supervisor, host string, to *logQueue) {
	h, err := sup.Host(host)
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the supervisor, or with this function
		select {
		case <-sup.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	var last uint64
	for ln := range h.After(ctx, 0, true) {
		if !to.wait(ctx, asPrinted(ln)) {
			break
		}
		last = ln.Seq
	}
	for _, ln := range h.Tail(lastLines) {
		if ln.Seq > last {
			_, _ = to.Write(asPrinted(ln)) // it never fails
		}
	}
}

// lastLines is how many lines of a host that has ended are shown at most.
const lastLines = 200

// asPrinted returns a line as the host has printed it.
func asPrinted(ln supervisor.OutputLine) []byte {
	text := ln.Text
	if !ln.More {
		text += "\n"
	}
	if ln.Lost > 0 {
		text = fmt.Sprintf("hostsup: %d lines of the server were missed here\n", ln.Lost) + text
	}
	return []byte(text)
}

// aloneSpec returns what is to be supervised, but for the protocol.
func (a *app) aloneSpec(o *aloneOptions, command []string) (supervisor.HostSpec, error) {
	spec := supervisor.HostSpec{
		Name: hostName(command[0]), Attach: true,
		// The person waits, and the client has a time-out of its own: a first npx installs.
		Start: hostspec.StartRule{OnTimeout: hostspec.TimeoutWait},
	}
	c := &o.confine
	if o.sandbox == "" && c.given() {
		return spec, usagef("--sandbox is missing: grants are those of a sandbox, such as --sandbox mcp-server")
	}
	if o.tasks < 0 || o.cpu < 0 {
		return spec, usagef("a limit is negative")
	}
	if o.sandbox != "" {
		makeRoom()
		if err := c.choose(o.sandbox); err != nil {
			return spec, err
		}
		for i, to := range c.allow {
			if !strings.Contains(to, ":") {
				c.allow[i] = to + ":443"
			}
		}
		if err := a.loadPolicy(c); err != nil {
			return spec, policyError(err)
		}
		sandbox.RememberProbe()
		if err := reached(&c.policy); err != nil {
			return spec, policyError(err)
		}
		spec.Sandbox = &c.policy
		if c.observe {
			spec.Observe = hostspec.ObserveAlways
		}
	}
	spec.Resources = c.limits
	if o.tasks > 0 {
		spec.Resources.Tasks = o.tasks
	}
	if o.cpu > 0 {
		spec.Resources.CPU = o.cpu
	}
	run, err := c.command(command)
	if err != nil {
		return spec, err
	}
	spec.Command, spec.Dir = append([]string{run.Path}, command[1:]...), run.Dir
	env := run.Env
	if o.sandbox == "" {
		env = append(os.Environ(), c.env...) // as if the client had started it
	}
	spec.Env = map[string]string{}
	for _, v := range env {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			value = os.Getenv(name) // --env NAME
		}
		if name != "" && name != "HOSTSUP_SOCKET" {
			spec.Env[name] = value
		}
	}
	return spec, nil
}

// policyError makes what is wrong with a policy an invalid configuration.
func policyError(err error) error {
	if len(policy.Errors(err)) == 0 {
		return err
	}
	return &control.Error{Class: control.InvalidConfig, Message: err.Error()}
}

var nameGaps = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// hostName returns the name of a program as a name of a host.
func hostName(program string) string {
	name := strings.Trim(nameGaps.ReplaceAllString(filepath.Base(program), "-"), "._-")
	if len(name) > 63 {
		name = name[:63]
	}
	if name == "" {
		return "server"
	}
	return name
}
