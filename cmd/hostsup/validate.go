package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/execserver/part"
)

func (a *app) validateVerb() *cobra.Command {
	var elsewhere bool
	cmd := &cobra.Command{
		Use:   "validate",
		Short: "Check a configuration without running it",
		Long: `Check a configuration without running it. Sandboxes are checked against this
machine: paths that are granted have to be there, and it has to be able to
enforce their level. A program or folder that is missing is a warning.`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return a.validate(elsewhere) },
	}
	cmd.Flags().BoolVar(&elsewhere, "elsewhere", false, "the file is for another machine: do not check sandboxes, programs and folders against this one")
	return cmd
}

func (a *app) validate(elsewhere bool) error {
	makeRoom()
	path, file, err := a.configuration(config.Options{Enforce: enforceable, Elsewhere: elsewhere})
	if err != nil {
		return err
	}
	hosts := 0
	for _, g := range file.Spec.Groups {
		hosts += len(g.Hosts)
	}
	text := fmt.Sprintf("%s is valid: %d %s in %d %s", show.Clean(path),
		hosts, show.Plural(hosts, "host", "hosts"), len(file.Spec.Groups), show.Plural(len(file.Spec.Groups), "group", "groups"))
	servers := 0
	for _, p := range file.Spec.Parts {
		if _, is := p.(part.Spec); is {
			servers++
		}
	}
	if servers > 0 {
		text += fmt.Sprintf(", %d %s", servers, show.Plural(servers, "exec server", "exec servers"))
	}
	a.out.line(text)
	return nil
}

// configuration finds and reads the configuration. It prints warnings.
func (a *app) configuration(opts config.Options) (string, *config.File, error) {
	path, err := config.Find(a.config)
	if err != nil {
		return "", nil, err
	}
	file, diags, err := a.load(path, opts)
	if err != nil {
		return "", nil, err
	}
	if file == nil {
		return "", nil, &configError{diags: diags}
	}
	scr := screen(a.errout)
	if err := config.Print(a.errout, diags, scr.Color, scr.Width); err != nil {
		return "", nil, err
	}
	return path, file, nil
}
