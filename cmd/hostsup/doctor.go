package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/doctor"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/version"
	"github.com/hostsup/hostsup/sandbox"
)

// diagnosis is the output of `doctor --json`.
type diagnosis struct {
	OK     bool         `json:"ok"` // no check is a fault
	Checks []show.Check `json:"checks"`
}

func (a *app) doctorVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check machine, user and configuration, and say what to do",
		Long: `Check whether the machine, this user and the configuration have what a supervisor
needs: the kernel, how process trees are ended, confinement, limits, the programs of
hosts, folders, the control socket. Each check that is not ok comes with what to do
about it. Nothing is changed. The exit code is 1 if a check is a fault; warnings are
things that work with less.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.doctor(cmd.Context()) },
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) doctor(ctx context.Context) error {
	makeRoom()
	d := diagnosis{OK: true, Checks: append([]show.Check{doctor.System()}, doctor.Sandbox(sandbox.Probe())...)}
	if runtime.GOOS != "windows" {
		d.Checks = append(d.Checks, doctor.Trees())
	}
	conf, file, err := a.examined()
	if err != nil {
		return err
	}
	d.Checks = append(d.Checks, conf...)
	d.Checks = append(d.Checks, doctor.Programs(file.Spec.Groups, os.Getenv("PATH"))...)
	d.Checks = append(d.Checks, secretsThere(ctx, file)...)
	hosts := 0
	for _, g := range file.Spec.Groups {
		hosts += len(g.Hosts)
	}
	d.Checks = append(d.Checks, doctor.Limits(hosts)...)
	spec, err := completed(file, a.socket)
	if err != nil {
		d.Checks = append(d.Checks, show.Check{Name: "state folder", Verdict: show.Fault, Detail: err.Error()})
	} else {
		d.Checks = append(d.Checks, doctor.Folder("state folder", spec.StateDir))
	}
	d.Checks = append(d.Checks, answering(ctx, spec.Socket))
	for _, c := range d.Checks {
		d.OK = d.OK && c.Verdict != show.Fault
	}
	if a.json {
		a.out.jsonDocument(d)
	} else if err := screen(a.out).Checks(a.out, d.Checks); err != nil {
		return err
	}
	if !d.OK {
		return &printed{exitFailed}
	}
	return nil
}

// examined reads the configuration, and says what is wrong with it. The file is empty if
// there is none, or it is not valid.
func (a *app) examined() ([]show.Check, *config.File, error) {
	const name = "configuration"
	path, err := config.Find(a.config)
	if err != nil {
		c := show.Check{Name: name, Verdict: show.Fault, Detail: err.Error()}
		if errors.Is(err, config.ErrNoConfig) {
			c.Verdict, c.Advice = show.Warning, "hostsup init writes one; hostsup run needs it"
		}
		return []show.Check{c}, &config.File{}, nil
	}
	file, diags, err := a.load(path, config.Options{Enforce: enforceable, Lenient: true})
	if err != nil {
		return nil, nil, err
	}
	var out []show.Check
	for _, diag := range diags {
		c := show.Check{Name: name, Verdict: show.Warning, Detail: strings.Join(strings.Fields(diag.Summary+": "+diag.Detail), " ")}
		if diag.Severity == hcl.DiagError {
			c.Verdict, c.Advice = show.Fault, "hostsup validate shows the place"
		}
		if diag.Subject != nil {
			c.Detail = fmt.Sprintf("%s:%d: %s", diag.Subject.Filename, diag.Subject.Start.Line, c.Detail)
		}
		out = append(out, c)
	}
	if file == nil {
		return out, &config.File{}, nil
	}
	return append(out, doctor.File(name, path)), file, nil
}

// secretsThere says whether the secrets that the configuration names are set. It lists their
// names, and reads no value. Without any the store is left alone.
func secretsThere(ctx context.Context, file *config.File) []show.Check {
	const name = "secrets"
	var wanted []string
	for _, g := range file.Spec.Groups {
		for _, h := range g.Hosts {
			for _, text := range h.Secrets.Env {
				wanted = append(wanted, text.Names()...)
			}
		}
	}
	tokens := slices.Clone(file.Console.Tokens)
	for _, s := range file.Serves {
		tokens = append(tokens, s.Tokens...)
	}
	for _, t := range tokens {
		if t.Secret != "" {
			wanted = append(wanted, t.Secret)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	const advice = "hostsup secret list says more; docs/secrets.md has where values are kept"
	store, err := openSecrets(file.Spec.Secrets, file.Spec.SecretCache)
	if err != nil {
		return []show.Check{{Name: name, Verdict: show.Fault, Detail: err.Error(), Advice: advice}}
	}
	defer store.Close()
	set, err := store.List(ctx)
	if err != nil {
		return []show.Check{{Name: name, Verdict: show.Fault, Detail: err.Error(), Advice: advice}}
	}
	var out []show.Check
	for _, w := range wanted {
		if !slices.Contains(set, w) {
			out = append(out, show.Check{Name: name, Verdict: show.Fault, Detail: fmt.Sprintf("%q is not set", w), Advice: "hostsup secret set " + w})
		}
	}
	if len(out) == 0 {
		out = append(out, show.Check{Name: name, Verdict: show.OK, Detail: fmt.Sprintf("%d of %[1]d set", len(wanted))})
	}
	return out
}

// answering says whether a supervisor answers at a control socket, or could listen there.
func answering(ctx context.Context, socket string) show.Check {
	const name = "control socket"
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := control.NewClient(socket)
	defer client.Close()
	status, err := client.Status(ctx)
	var e *control.Error
	switch {
	case err == nil && status.Supervisor.Version != version.Version():
		return show.Check{
			Name: name, Verdict: show.Warning, Detail: fmt.Sprintf("at %s answers version %s, and this is %s", socket, status.Supervisor.Version, version.Version()),
			Advice: "start that supervisor again, to have it run this version",
		}
	case err == nil:
		return show.Check{Name: name, Verdict: show.OK, Detail: fmt.Sprintf("at %s answers a supervisor with pid %d", socket, status.Supervisor.PID)}
	case errors.As(err, &e) && e.Class == control.NoSupervisor:
		c := doctor.Folder(name, filepath.Dir(socket))
		if c.Verdict == show.OK {
			c.Detail = fmt.Sprintf("no supervisor runs at %s", socket)
		}
		return c
	}
	return show.Check{Name: name, Verdict: show.Fault, Detail: fmt.Sprintf("%s: %v", socket, err), Advice: "hostsup status says more; another --socket may be meant"}
}
