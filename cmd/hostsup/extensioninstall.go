package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/install"
	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/extensions/install/registry"
)

// installed is the result of a verb that changes what is installed.
type installed struct {
	install.Result
	// Rescanned are the changes of running hosts; null if no supervisor runs.
	Rescanned []extensions.Difference `json:"rescanned"`
}

func (a *app) installVerb() *cobra.Command {
	t := installTarget{engines: true}
	var digest, url string
	cmd := &cobra.Command{
		Use:   "install FILE.vsix|FOLDER|ID[@VERSION]",
		Short: "Install an extension from a package, a folder or the registry",
		Long: `Install an extension of VS Code, or another version of one, into the folder that
hosts of the configuration have for it. A .vsix file and a folder are named by a path:
write ./NAME for one in this folder. ID is publisher.name; its package comes from the
URL that "registry" in the extensions block or --registry names. Packages are checked
first, and nothing in them is run. The versions before are kept; a running supervisor
reads its folders again.`,
		Example: `  hostsup extension install ./words-1.2.0.vsix --digest sha256:…
  hostsup extension install acme.words@1.2.0
  hostsup extension install ./words --to /srv/extensions`,
		Args:              args(1, 1, "FILE.vsix, FOLDER or ID[@VERSION]"),
		ValidArgsFunction: completePackages,
		RunE: func(cmd *cobra.Command, given []string) error {
			in, err := a.installer(t)
			if err != nil {
				return err
			}
			if url != "" {
				in.registry = url
			}
			p, err := in.open(cmd.Context(), given[0])
			if err != nil {
				return err
			}
			defer p.Close()
			if digest != "" {
				if err := p.Verify(digest); err != nil {
					return err
				}
			}
			result, err := in.Install(cmd.Context(), p)
			return a.changed(cmd.Context(), in, result, err)
		},
	}
	a.installFlags(cmd, &t)
	cmd.Flags().StringVar(&digest, "digest", "", "refuse a package with another `DIGEST`: sha256: and 64 hexadecimal digits")
	cmd.Flags().StringVar(&url, "registry", "", "get packages by this `URL`, with {publisher}, {name}, {version} and {target} in it")
	cmd.Flags().IntVar(&t.keep, "keep", install.Keep, "keep `N` versions of the extension, with this one")
	a.jsonFlag(cmd, "print what was done as one JSON document")
	return cmd
}

func (a *app) rollbackVerb() *cobra.Command {
	return a.installedVerb("rollback ID", "Go back to the version of an extension that was installed before",
		`Use the version of an extension again that was in use before this one. The newer one
is kept, until other versions take its place. Again goes back further.`,
		true, func(ctx context.Context, in *installing, id string) (install.Result, error) {
			return in.Rollback(ctx, id)
		})
}

func (a *app) uninstallVerb() *cobra.Command {
	return a.installedVerb("uninstall ID", "Remove an installed extension",
		`Remove an installed extension with all its versions. What it has stored stays.`,
		false, func(ctx context.Context, in *installing, id string) (install.Result, error) {
			return in.Uninstall(ctx, id)
		})
}

// installedVerb is a verb that changes an installed extension. engines is as in [installTarget].
func (a *app) installedVerb(use, short, long string, engines bool, do func(context.Context, *installing, string) (install.Result, error)) *cobra.Command {
	t := installTarget{engines: engines}
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long, Args: args(1, 1, "ID"),
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return a.completeInstalled(t, given)
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			in, err := a.installer(t)
			if err != nil {
				return err
			}
			result, err := do(cmd.Context(), in, given[0])
			if errors.Is(err, install.ErrNotInstalled) {
				return in.unknown(given[0])
			}
			return a.changed(cmd.Context(), in, result, err)
		},
	}
	a.installFlags(cmd, &t)
	a.jsonFlag(cmd, "print what was done as one JSON document")
	return cmd
}

func (a *app) listInstalledVerb() *cobra.Command {
	var t installTarget
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the installed extensions with the versions that are kept",
		Long: `List the extensions that "hostsup extension install" has installed into a folder,
with their versions. "hostsup extensions" lists all that hosts have.`,
		Args:              args(0, 0, ""),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(*cobra.Command, []string) error {
			in, err := a.installer(t)
			if err != nil {
				return err
			}
			list, err := in.List()
			if list == nil {
				list = []index.Extension{} // a list, also in JSON
			}
			return showList(a, list, err, screen(a.out).Installed, "no extension is installed in "+show.Clean(in.Dir))
		},
	}
	a.installFlags(cmd, &t)
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) completeInstalled(t installTarget, given []string) (out []cobra.Completion, _ cobra.ShellCompDirective) {
	t.engines = false // it would print which cannot be compared
	if in, err := a.installer(t); err == nil && len(given) == 0 {
		list, _ := in.List() // without a list there is nothing to offer
		for _, e := range list {
			out = append(out, cobra.CompletionWithDesc(e.ID, e.InUse().Version))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completePackages completes the path of a package.
func completePackages(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveDefault // files and folders
}

// open opens the package that an argument names.
func (in *installing) open(ctx context.Context, name string) (*install.Package, error) {
	ref, err := registry.ParseRef(name)
	if strings.ContainsAny(name, `/\`) && !strings.Contains(name, ".@") || strings.HasSuffix(strings.ToLower(name), ".vsix") || err != nil {
		return install.Open(ctx, name, install.Limits{})
	}
	if in.registry == "" {
		if _, err := os.Stat(name); err == nil {
			return nil, usagef("there is no registry to get %q from: write ./%s for the folder or file of that name", name, name)
		}
		return nil, usagef("there is no registry to get %q from: set registry in the extensions block of a host, or name one with --registry", name)
	}
	r := registry.Registry{URL: in.registry}
	return r.Open(ctx, ref)
}

// unknown is the error for an extension that is not installed.
func (in *installing) unknown(id string) error {
	e := &control.Error{Class: control.NoSuchExtension, Message: fmt.Sprintf("extension %q is not installed in %s", id, in.Dir), Extension: id}
	list, err := in.List()
	for _, x := range list {
		e.Extensions = append(e.Extensions, x.ID)
	}
	return errors.Join(e, err)
}

// changed prints what was done, and lets a running supervisor read its folders again. Files
// that are no longer listed are removed after that, so that its hosts can end extensions first.
func (a *app) changed(ctx context.Context, in *installing, result install.Result, err error) error {
	if err != nil {
		return err
	}
	out := installed{Result: result}
	if !a.json {
		a.printInstalled(in, result)
	}
	rescanErr := a.rescanned(ctx, in, &out)
	cleanErr := in.Clean(ctx)
	if a.json {
		a.out.jsonDocument(out)
	} else {
		a.differences(out.Rescanned)
	}
	return errors.Join(rescanErr, cleanErr)
}

func (a *app) printInstalled(in *installing, r install.Result) {
	id, dir := show.Clean(r.ID), show.Clean(in.Dir)
	switch {
	case r.Version == "":
		a.out.line(fmt.Sprintf("%s %s was removed from %s", id, show.Clean(r.Before), dir))
		return
	case !r.Changed:
		a.out.line(fmt.Sprintf("%s %s is installed in %s already", id, show.Clean(r.Version), dir))
	case r.Before == "":
		a.out.line(fmt.Sprintf("%s %s is installed in %s", id, show.Clean(r.Version), dir))
	default:
		a.out.line(fmt.Sprintf("%s %s is installed in %s, in place of %s", id, show.Clean(r.Version), dir, show.Clean(r.Before)))
	}
	a.out.line(r.Digest)
}

// rescanned has a running supervisor read its folders again.
func (a *app) rescanned(ctx context.Context, in *installing, out *installed) error {
	if !out.Changed {
		return nil
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	out.Rescanned, err = c.RescanExtensions(ctx, "")
	var e *control.Error
	switch {
	case errors.As(err, &e) && e.Class == control.NoSupervisor:
		fmt.Fprintln(a.errout, "hostsup: no supervisor runs: its hosts have this at their next start")
		return nil
	case errors.As(err, &e) && e.Class == control.NoExtensions, err == nil && len(out.Rescanned) == 0:
		fmt.Fprintf(a.errout, "hostsup: this changes no host of the running supervisor: none uses this extension of %s\n", show.Clean(in.Dir))
		return nil
	case err != nil:
		return fmt.Errorf("it is done, but the running supervisor could not read its folders again: %w", err)
	}
	return nil
}
