package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/secret/stores"
	"github.com/hostsup/hostsup/supervisor"
)

func (a *app) secretVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "secret",
		Short: "Manage secrets that are passed to hosts",
		Long: `Manage secrets that are passed to hosts. They are kept in the keyring of the
system, or in an encrypted file where the system has no keyring. A configuration
names them: env = { TOKEN = secret("github") }. Its secrets block says where they are;
without a configuration they are in the usual place.`,
		Example: `  hostsup secret set github            asks for the value
  hostsup secret set github < file     takes it from a file or a pipe
  hostsup secret list`,
		Args: noSuchVerb,
		RunE: noVerb,
	}
	set := &cobra.Command{
		Use:   "set NAME",
		Short: "Store or replace a value",
		Long: `Store or replace a value. It is read from standard input, without the line
end at its end; at a terminal it is asked for and not shown. It is never an
argument: those can be seen by everybody. Hosts get it at their next start.`,
		Args:              args(1, 1, "NAME"),
		ValidArgsFunction: a.completeSecrets,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.secretSet(cmd.Context(), given[0]) },
	}
	list := &cobra.Command{
		Use:   "list",
		Short: "List the names, not the values",
		Args:  args(0, 0, ""),
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.secretList(cmd.Context()) },
	}
	a.jsonFlag(list, "print one JSON document")
	rm := &cobra.Command{
		Use:               "rm NAME",
		Short:             "Remove a value",
		Args:              args(1, 1, "NAME"),
		ValidArgsFunction: a.completeSecrets,
		RunE:              func(cmd *cobra.Command, given []string) error { return a.secretRemove(cmd.Context(), given[0]) },
	}
	cmd.AddCommand(set, list, rm)
	return cmd
}

// secrets opens the store that the configuration names, or the default.
func (a *app) secrets() (*secret.Store, error) {
	path, err := config.Find(a.config)
	if errors.Is(err, config.ErrNoConfig) {
		return openSecrets(stores.Options{}, 0)
	}
	if err != nil {
		return nil, err
	}
	file, diags, err := a.load(path, config.Options{})
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, &configError{diags: diags}
	}
	return openSecrets(file.Spec.Secrets, file.Spec.SecretCache)
}

func openSecrets(where supervisor.SecretStore, cache time.Duration) (*secret.Store, error) {
	source, err := where.Open()
	if err != nil {
		return nil, err
	}
	return secret.Open(source, cache), nil
}

// withSecret opens the store for an operation on one name.
func (a *app) withSecret(name string, do func(*secret.Store) error) error {
	if err := secret.CheckName(name); err != nil {
		return &usageError{text: err.Error()}
	}
	store, err := a.secrets()
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}

func (a *app) secretSet(ctx context.Context, name string) error {
	return a.withSecret(name, func(store *secret.Store) error {
		value, err := a.secretValue(name)
		if err != nil {
			return err
		}
		defer secret.Wipe(value)
		if err := store.Set(ctx, name, value); err != nil {
			return err
		}
		a.out.line(fmt.Sprintf("secret %q is set in %s", name, show.Clean(store.Where())))
		return nil
	})
}

// secretValue prompts for a value, or reads it.
func (a *app) secretValue(name string) ([]byte, error) {
	if f, ok := a.in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(a.errout, "value of secret %q (not shown): ", name)
		value, err := term.ReadPassword(int(f.Fd()))
		fmt.Fprintln(a.errout)
		if err != nil {
			secret.Wipe(value)
			return nil, fmt.Errorf("the value was not read: %w", err)
		}
		return value, nil
	}
	value := make([]byte, 0, secret.MaxValue+8) // does not grow: no copy stays behind
	for len(value) < cap(value) {
		n, err := a.in.Read(value[len(value):cap(value)])
		value = value[:len(value)+n]
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			secret.Wipe(value)
			return nil, fmt.Errorf("the value was not read: %w", err)
		}
	}
	if line, ok := bytes.CutSuffix(value, []byte{'\n'}); ok {
		value = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return value, nil
}

func (a *app) secretList(ctx context.Context) error {
	store, err := a.secrets()
	if err != nil {
		return err
	}
	defer store.Close()
	names, err := store.List(ctx)
	if err != nil {
		return err
	}
	if a.json {
		if names == nil {
			names = []string{}
		}
		a.out.jsonDocument(names)
		return nil
	}
	for _, name := range names {
		a.out.line(show.Clean(name))
	}
	return nil
}

func (a *app) secretRemove(ctx context.Context, name string) error {
	return a.withSecret(name, func(store *secret.Store) error {
		if err := store.Delete(ctx, name); err != nil {
			return err
		}
		a.out.line(fmt.Sprintf("secret %q is removed from %s", name, show.Clean(store.Where())))
		return nil
	})
}

func (a *app) completeSecrets(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	store, err := a.secrets()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer store.Close()
	names, err := store.List(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Clip(names), cobra.ShellCompDirectiveNoFileComp
}
