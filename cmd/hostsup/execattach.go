package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/wire"
)

// errDetached is the reason of an end that leaves the command running.
var errDetached = errors.New("detached")

func (a *app) execAttachVerb() *cobra.Command {
	var keys string
	cmd := &cobra.Command{
		Use:   "attach ID",
		Short: "Attach to a command that was left running",
		Long: `Attach to a command that was left running: what is kept of its output comes
first, then what comes; our streams are the command's, and so is the exit code
when it ends. The detach keys leave it running again, and so do SIGTERM and SIGHUP.
One terminal at a time can be attached.`,
		Example: `  hostsup exec attach 3f2a91c0`,
		Args:    args(1, 1, "ID"),
		RunE: func(cmd *cobra.Command, given []string) error {
			parsed, err := detachKeys(keys)
			if err != nil {
				return err
			}
			return a.execAttach(cmd.Context(), given[0], parsed)
		},
		ValidArgsFunction: completeDetached,
	}
	cmd.Flags().StringVar(&keys, "detach-keys", "ctrl-p,ctrl-q", "`KEYS` that leave it running, one after another; \"\" for none")
	return cmd
}

func (a *app) execAttach(ctx context.Context, id string, keys []byte) error {
	watch := &connectionWatch{errout: a.errout}
	signals := execSignals()
	defer signal.Stop(signals)
	d, client, p, err := a.takeUp(ctx, id, watch, signals)
	if err != nil {
		return err
	}
	defer client.Close()
	s := &execStreams{app: a, client: client, p: p, sub: p.Subscribe(execserver.Keep), watch: watch, tty: d.TTY, keys: keys}
	if d.TTY {
		s.screen = a.terminal(&remote{})
	}
	if d.TTY || d.Input {
		s.input = a.input(&remote{}, s.screen)
	}
	exit, err := s.run(ctx, func(ctx context.Context, fail context.CancelCauseFunc) {
		for {
			select {
			case <-ctx.Done():
				return
			case sig := <-signals:
				if sig != os.Interrupt {
					fail(errDetached)
					return
				}
				tell, cancel := context.WithTimeout(ctx, execSignal)
				_ = p.Interrupt(tell) // the next one may get there
				cancel()
			}
		}
	})
	if errors.Is(err, errDetached) {
		fmt.Fprintf(a.errout, "hostsup: detached: hostsup exec attach %s attaches again\n", d.ID)
		return nil
	}
	if err != nil {
		return a.execError(err)
	}
	a.over(ctx, client, d)
	if exit.Code != 0 {
		return &printed{exit.Code}
	}
	return nil
}

// over forgets a command that has ended, locally and on the server.
func (a *app) over(ctx context.Context, client *execserver.Client, d *detached) {
	d.forget()
	_, _ = client.Keep(ctx, 0) // otherwise the server forgets it later
}

// takeUp finds a command that was left running, and connects to it. The caller must
// close the client.
func (a *app) takeUp(ctx context.Context, id string, watch *connectionWatch, signals <-chan os.Signal) (*detached, *execserver.Client, *execserver.Process, error) {
	d, err := a.findDetached(id)
	if err != nil {
		return nil, nil, nil, err
	}
	client, err := a.resume(ctx, d, watch, signals)
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := adopt(ctx, client, d)
	if err != nil {
		client.Close()
		return nil, nil, nil, a.execError(err)
	}
	return d, client, p, nil
}

// adopt continues the process of d, starting with the kept output.
func adopt(ctx context.Context, client *execserver.Client, d *detached) (*execserver.Process, error) {
	list, err := client.Processes(ctx)
	if err != nil {
		return nil, err
	}
	after := uint64(0)
	for _, p := range list {
		if p.ProcessID == d.Process && p.Lost != nil {
			after = p.Lost.ThroughSeq
		}
	}
	return client.Adopt(ctx, d.Process, after)
}

func (a *app) execKillVerb() *cobra.Command {
	grace := execGrace
	cmd := &cobra.Command{
		Use:   "kill ID",
		Short: "End a command that was left running, and forget it",
		Long: `End a command that was left running, with everything that it has started, and
forget it: SIGTERM first, and SIGKILL after the grace. One that has ended is
only forgotten.`,
		Args:              args(1, 1, "ID"),
		RunE:              func(cmd *cobra.Command, given []string) error { return a.execKill(cmd.Context(), given[0], grace) },
		ValidArgsFunction: completeDetached,
	}
	cmd.Flags().DurationVar(&grace, "grace", execGrace, "how long it may run after SIGTERM; 0 kills at once")
	return cmd
}

func (a *app) execKill(ctx context.Context, id string, grace time.Duration) error {
	signals := execSignals()
	defer signal.Stop(signals)
	d, client, p, err := a.takeUp(ctx, id, nil, signals)
	if err != nil {
		return err
	}
	defer client.Close()
	if _, err := p.Terminate(ctx, grace); err != nil {
		return a.execError(err)
	}
	if _, err := p.Wait(ctx); err != nil {
		return a.execError(err)
	}
	a.over(ctx, client, d)
	return nil
}

func (a *app) execLogsVerb() *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:               "logs ID",
		Short:             "Print what is kept of the output of a command that was left running",
		Args:              args(1, 1, "ID"),
		RunE:              func(cmd *cobra.Command, given []string) error { return a.execLogs(cmd.Context(), given[0], follow) },
		ValidArgsFunction: completeDetached,
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the command has ended")
	return cmd
}

// afterAll is larger than the number of any event.
const afterAll = 1 << 62

// observe connects to the server of d and watches its process.
func (a *app) observe(ctx context.Context, d *detached, after uint64) (*execserver.Client, *execserver.Process, error) {
	endpoint, err := d.remote().endpoint()
	if err != nil {
		return nil, nil, err
	}
	client := execserver.New(endpoint, d.remote().options(nil))
	if err := client.Connect(ctx); err != nil {
		client.Close()
		return nil, nil, err
	}
	_, _ = client.Keep(ctx, 0) // otherwise the session ends a little later
	p, err := client.Observe(ctx, d.Token, after)
	if err != nil {
		client.Close()
		if errors.Is(err, execserver.ErrNotFound) {
			d.forget()
		}
		return nil, nil, err
	}
	return client, p, nil
}

func (a *app) execLogs(ctx context.Context, id string, follow bool) error {
	d, err := a.findDetached(id)
	if err != nil {
		return err
	}
	client, p, err := a.observe(ctx, d, 0)
	switch {
	case errors.Is(err, execserver.ErrNotFound):
		return a.noDetached(d.ID, "it or its server has ended: no command")
	case err != nil:
		return a.notConnected(d.URL, err)
	}
	defer client.Close()
	info := p.Observed()
	if !follow && info.RetainedBytes == 0 && !info.Exited {
		return nil
	}
	for e, err := range p.Subscribe(execserver.Keep).All(ctx) {
		var lagged *execserver.LaggedError
		switch {
		case errors.As(err, &lagged):
			fmt.Fprint(a.errout, "hostsup: what came before is no longer kept\n")
			continue
		case err != nil:
			return a.execError(err)
		case e.Kind == execserver.Failed:
			return a.execError(e.Err)
		}
		var w io.Writer = a.out
		if e.Stream == wire.Stderr {
			w = a.errout
		}
		if _, err := w.Write(e.Data); err != nil {
			return err
		}
		if !follow && e.Seq+1 >= info.NextSeq {
			return nil
		}
	}
	return nil
}

func (a *app) execPsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the commands that were left running",
		Long: `List the commands that were left running by this user on this machine, and what
has become of them. Those that their server no longer knows are forgotten.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.execPs(cmd.Context()) },
	}
	a.jsonFlag(cmd, "print JSON")
	return cmd
}

// psLine is a detached command in the output of exec ps.
type psLine struct {
	ID       string    `json:"id"`
	State    string    `json:"state"` // running, exited, or unreachable
	PID      *int      `json:"pid"`   // on the server; null when it has ended
	ExitCode *int32    `json:"exit_code"`
	Started  time.Time `json:"started"`
	URL      string    `json:"url"`
	Command  []string  `json:"command"`
}

func (a *app) execPs(ctx context.Context) error {
	all, err := allDetached()
	if err != nil {
		return err
	}
	lines := []psLine{}
	for _, d := range all {
		line := psLine{ID: d.ID, State: "unreachable", Started: d.Started, URL: d.URL, Command: d.Command}
		ask, cancel := context.WithTimeout(ctx, execGrace)
		client, p, err := a.observe(ask, d, afterAll)
		cancel()
		if errors.Is(err, execserver.ErrNotFound) {
			continue
		}
		if err == nil {
			info := p.Observed()
			line.State, line.PID = "running", &info.PID
			if info.Exited {
				line.State, line.PID, line.ExitCode = "exited", nil, info.ExitCode
			}
			client.Close()
		}
		lines = append(lines, line)
	}
	if a.json {
		a.out.jsonDocument(lines)
		return nil
	}
	rows := make([]show.Detached, len(lines))
	for i, l := range lines {
		rows[i] = show.Detached(l)
	}
	return screen(a.out).Detached(a.out, rows)
}

// detachKeys parses keys such as ctrl-p,ctrl-q.
func detachKeys(text string) ([]byte, error) {
	var keys []byte
	for _, key := range strings.Split(text, ",") {
		letter, ctrl := strings.CutPrefix(strings.ToLower(key), "ctrl-")
		switch {
		case text == "":
		case ctrl && len(letter) == 1 && (letter[0] >= 'a' && letter[0] <= 'z' || strings.Contains(`@[\]^_`, letter)):
			keys = append(keys, strings.ToUpper(letter)[0]-'@')
		case len(key) == 1:
			keys = append(keys, key[0])
		default:
			return nil, usagef("--detach-keys %q: %q is no key: write a letter, or ctrl- with one", text, key)
		}
	}
	return keys, nil
}

// keyReader passes on what it reads, except the keys in a row, which end it.
type keyReader struct {
	from    io.Reader
	keys    []byte
	pressed func()

	held int    // how many of keys were read but not passed on yet
	rest []byte // to be passed on
	over bool
	buf  [4096]byte
}

// Read implements io.Reader.
func (k *keyReader) Read(b []byte) (int, error) {
	for len(k.rest) == 0 {
		if k.over { // the input before the keys has been passed on
			k.pressed()
			return 0, errDetached // not the end of the command's input
		}
		n, err := k.from.Read(k.buf[:])
		for _, c := range k.buf[:n] {
			if c != k.keys[k.held] && k.held > 0 {
				k.rest = append(k.rest, k.keys[:k.held]...)
				k.held = 0
			}
			if c != k.keys[k.held] {
				k.rest = append(k.rest, c)
				continue
			}
			if k.held++; k.held == len(k.keys) {
				k.over = true
				break
			}
		}
		if err != nil && len(k.rest) == 0 {
			return 0, err
		}
	}
	n := copy(b, k.rest)
	k.rest = k.rest[n:]
	return n, nil
}
