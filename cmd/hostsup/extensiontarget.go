package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/extensions/install"
	"github.com/hostsup/hostsup/extensions/vscode"
)

// installWait is how long a verb waits for another one that changes the same folder.
const installWait = 30 * time.Second

// installTarget is what flags say of the folder to install into.
type installTarget struct {
	to, host string
	keep     int
	engines  bool // engines.vscode is compared with the editors of the hosts
}

// installing is an installer with the registry of its hosts; "" without one.
type installing struct {
	install.Installer
	registry string
}

func (a *app) installFlags(cmd *cobra.Command, t *installTarget) {
	cmd.Flags().StringVar(&t.to, "to", "", "the `FOLDER` of extensions; else the first of \"user\" in the extensions block")
	cmd.Flags().StringVar(&t.host, "host", "", "the folder of this `HOST`")
	cobra.CheckErr(cmd.MarkFlagDirname("to"))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("host", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		hosts, _ := a.installHosts() // without a configuration there is nothing to offer
		for _, h := range hosts {
			out = append(out, h.Host)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}))
}

// installHosts returns the hosts of the configuration with folders for extensions. Its
// warnings are not for these verbs.
func (a *app) installHosts() ([]config.Installs, error) {
	path, err := config.Find(a.config)
	if err != nil {
		return nil, err
	}
	file, diags, err := a.load(path, config.Options{Elsewhere: true})
	if err != nil {
		return nil, err
	}
	if file == nil {
		return nil, &configError{diags: diags}
	}
	return file.Installs, nil
}

// installer returns the installer for a folder, with the editors and the registry of the hosts
// that scan it.
func (a *app) installer(t installTarget) (*installing, error) {
	if t.to != "" && t.host != "" {
		return nil, usagef("either --to or --host, not both")
	}
	hosts, err := a.installHosts()
	if err != nil && (t.to == "" || !errors.Is(err, config.ErrNoConfig)) {
		return nil, err
	}
	in := &installing{Installer: install.Installer{Wait: installWait, Keep: t.keep}}
	if in.Dir, err = installDir(t, hosts); err != nil {
		return nil, err
	}
	for _, h := range hosts {
		if !slices.Contains(h.Folders, in.Dir) {
			continue
		}
		if in.registry == "" || h.Host == t.host {
			in.registry = h.Registry
		}
		if !t.engines {
			continue
		}
		build, err := vscode.ReadBuild(h.Build)
		if err != nil {
			fmt.Fprintf(a.errout, "hostsup: engines.vscode is not compared with the editor of host %s: %s\n", show.Clean(h.Host), show.Clean(err.Error()))
			continue
		}
		in.Products = append(in.Products, build.Version)
	}
	return in, nil
}

// installDir returns the folder to install into.
func installDir(t installTarget, hosts []config.Installs) (string, error) {
	if t.to != "" {
		return filepath.Abs(t.to)
	}
	var folders, names []string
	for _, h := range hosts {
		if h.Host == t.host {
			return h.Folders[0], nil
		}
		names = append(names, h.Host)
		if !slices.Contains(folders, h.Folders[0]) {
			folders = append(folders, h.Folders[0])
		}
	}
	switch {
	case t.host != "":
		return "", &control.Error{Class: control.NoSuchHost, Message: fmt.Sprintf("no host %q with protocol = \"vscode\" and folders in \"user\" is configured", t.host)}
	case len(folders) == 0:
		return "", usagef("no host of the configuration has a folder for extensions: set user in its extensions block, or name a folder with --to")
	case len(folders) > 1:
		return "", usagef("several folders are configured for extensions: choose with --host (%s) or --to (%s)", strings.Join(names, ", "), strings.Join(folders, ", "))
	}
	return folders[0], nil
}
