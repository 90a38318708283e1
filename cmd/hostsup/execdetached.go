package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/execserver"
	"github.com/hostsup/hostsup/execserver/server"
	"github.com/hostsup/hostsup/execserver/wire"
)

// beforeCommand inserts -- in front of the command of exec if flags precede it, so
// that a command is never taken for a verb below exec, which must follow exec
// directly.
func beforeCommand(root *cobra.Command, args []string) []string {
	verb := firstWord(root.PersistentFlags(), args)
	if verb < 0 || args[verb] != "exec" {
		return args
	}
	exec, _, err := root.Find([]string{"exec"})
	if err != nil {
		return args
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.AddFlagSet(exec.Flags())
	flags.AddFlagSet(root.PersistentFlags())
	rest := args[verb+1:]
	if at := firstWord(flags, rest); at > 0 {
		return slices.Insert(slices.Clone(args), verb+1+at, "--")
	}
	return args
}

// firstWord returns the index of the first argument that is not a flag; -1 if there
// is none, or if -- precedes it.
func firstWord(flags *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		name, long := strings.CutPrefix(args[i], "--")
		switch {
		case args[i] == "--":
			return -1
		case long && !strings.Contains(name, "="):
			if f := flags.Lookup(name); f != nil && f.NoOptDefVal == "" {
				i++ // its value
			}
		case long:
		case len(args[i]) > 1 && args[i][0] == '-':
			for j, letter := range args[i][1:] {
				if f := flags.ShorthandLookup(string(letter)); f != nil && f.NoOptDefVal == "" {
					if j+2 == len(args[i]) {
						i++ // its value, which is a separate argument
					}
					break
				}
			}
		default:
			return i
		}
	}
	return -1
}

// detached is the local record of a command that was left running. Its owner can
// resume the session.
type detached struct {
	ID        string    `json:"id"`
	URL       string    `json:"url"`
	TokenFile string    `json:"token_file,omitempty"`
	Session   string    `json:"session"`
	Process   string    `json:"process"`
	Token     string    `json:"token"`
	Command   []string  `json:"command"`
	TTY       bool      `json:"tty"`
	Input     bool      `json:"input"`
	Started   time.Time `json:"started"`
}

// detachedDir returns the folder of the records, one file each.
func detachedDir() (string, error) {
	dir, err := config.StateDir(config.SystemEnv(), "")
	return filepath.Join(dir, "exec"), err
}

func (d *detached) file() (string, error) {
	dir, err := detachedDir()
	return filepath.Join(dir, d.ID+".json"), err
}

func (d *detached) save() error {
	file, err := d.file()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

// forget removes the record.
func (d *detached) forget() {
	if file, err := d.file(); err == nil {
		_ = os.Remove(file) // another process may have removed it
	}
}

// allDetached returns all records, the oldest first.
func allDetached() ([]*detached, error) {
	dir, err := detachedDir()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var all []*detached
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if os.IsNotExist(err) {
			continue // it was just forgotten
		}
		d := &detached{}
		if err == nil {
			err = json.Unmarshal(b, d)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(dir, e.Name()), err)
		}
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b *detached) int { return a.Started.Compare(b.Started) })
	return all, nil
}

// findDetached finds a record by its ID or a prefix of it.
func (a *app) findDetached(id string) (*detached, error) {
	all, err := allDetached()
	if err != nil {
		return nil, err
	}
	var found []*detached
	for _, d := range all {
		if strings.HasPrefix(d.ID, id) {
			found = append(found, d)
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return nil, usagef("%q is the beginning of %d IDs", id, len(found))
	}
	return nil, a.noDetached(id, "no command")
}

// noDetached reports that there is no such command, or that it has ended.
func (a *app) noDetached(id, what string) error {
	fmt.Fprintf(a.errout, "hostsup: %s %q was left running by hostsup exec --detach: hostsup exec ps lists them\n", what, id)
	return &printed{exitNoHost}
}

// remote returns the server of d.
func (d *detached) remote() *remote { return &remote{url: d.URL, tokenFile: d.TokenFile} }

// leaving bounds how long the server may take to notice that another client has left.
const leaving = 2 * time.Second

// resume connects to the session of d, which ends with the connection unless it is kept.
func (a *app) resume(ctx context.Context, d *detached, watch *connectionWatch, signals <-chan os.Signal) (*execserver.Client, error) {
	endpoint, err := d.remote().endpoint()
	if err != nil {
		return nil, err
	}
	opt := d.remote().options(watch)
	opt.Resume = d.Session
	opt.Retry.For = leaving
	client := execserver.New(endpoint, opt)
	err = connectOrSignal(ctx, client, signals)
	switch {
	case err == nil:
		return client, nil
	case errors.Is(err, execserver.ErrUnknownSession):
		d.forget()
		err = a.noDetached(d.ID, "it or its server has ended: no command")
	case errors.Is(err, execserver.ErrAttached):
		err = fmt.Errorf("%s is attached elsewhere: detach it there first", d.ID)
	default:
		err = a.notConnected(d.URL, err)
	}
	client.Close()
	return nil, err
}

// execDetached starts a command and leaves it running.
func (a *app) execDetached(ctx context.Context, r *remote, command []string) error {
	switch {
	case r.keep <= 0:
		return usagef("--keep %v: a time is expected", r.keep)
	case !slices.Contains(server.WhenFulls(), server.WhenFull(r.full)):
		return usagef("--when-full %q: %s or %s is expected", r.full, server.Drop, server.Pause)
	}
	endpoint, err := r.endpoint()
	if err != nil {
		return err
	}
	signals := execSignals()
	defer signal.Stop(signals)
	client := execserver.New(endpoint, r.options(nil))
	defer client.Close()
	if err := connectOrSignal(ctx, client, signals); err != nil {
		return a.notConnected(r.url, err)
	}
	if !client.Has(wire.ExtSessionKeep) {
		return errors.New("--detach: this server ends a command soon after its client has left")
	}
	params, err := a.params(r, client, command, nil)
	if err != nil {
		return err
	}
	params.PipeStdin, params.WhenFull = r.interactive && !params.TTY, &r.full
	p, err := client.Start(ctx, params)
	if err != nil {
		return a.execError(fmt.Errorf("%s: %w", command[0], err))
	}
	session := client.SessionID()
	d := &detached{ID: session[:min(len(session), 8)], URL: r.url, Session: session, Process: p.ID(), Token: p.Started().AttachToken,
		Command: command, TTY: params.TTY, Input: r.interactive, Started: time.Now()}
	if r.tokenFile != "" {
		if d.TokenFile, err = filepath.Abs(r.tokenFile); err != nil {
			return err
		}
	}
	kept, err := client.Keep(ctx, r.keep)
	if err == nil {
		err = d.save()
	}
	if err != nil {
		_, _ = p.Terminate(ctx, 0) // no record would lead to it
		return a.execError(err)
	}
	if kept < r.keep {
		fmt.Fprintf(a.errout, "hostsup: the server keeps it for %v without a client\n", kept)
	}
	a.out.line(d.ID)
	return nil
}

// completeDetached completes the ID of a detached command.
func completeDetached(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	all, err := allDetached()
	if err != nil || len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, d := range all {
		out = append(out, cobra.CompletionWithDesc(d.ID, strings.Join(d.Command, " ")))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
