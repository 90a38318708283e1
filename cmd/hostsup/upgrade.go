package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
)

func (a *app) upgradeVerb() *cobra.Command {
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "upgrade [BINARY]",
		Short: "Have another version of the program take over",
		Long: `Have a process of BINARY take over from the supervisor that runs, without an end of
its hosts with survive = true. BINARY is the program file of the supervisor, as it is
on the disk now, unless another one is named.

The new process starts with the same arguments, reads the configuration and the state
folder, and tells that it is ready. Only then do requests wait, calls that are under
way get the time of --drain, other hosts are stopped, and the new process starts them
again. If it does not become ready, or fails later, the old program goes on.

The process id of the supervisor changes. Without systemd the old process stays as the
parent of the new one, passes signals on, and ends as it does.`,
		Args: args(0, 1, "BINARY"),
		RunE: func(cmd *cobra.Command, given []string) error {
			path := ""
			if len(given) > 0 {
				var err error
				if path, err = filepath.Abs(given[0]); err != nil {
					return err
				}
			}
			c, err := a.client()
			if err != nil {
				return err
			}
			u, err := c.Upgrade(cmd.Context(), path, drain)
			if err != nil {
				return err
			}
			if a.json {
				a.out.jsonLine(u)
				return nil
			}
			a.upgraded(u)
			return nil
		},
	}
	cmd.Flags().DurationVar(&drain, "drain", 5*time.Second, "how long calls under way may take, `DURATION` up to 15s; new ones wait meanwhile")
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

// upgraded prints what an upgrade has done.
func (a *app) upgraded(u *control.Upgraded) {
	pause := time.Duration(u.Pause * float64(time.Second)).Round(time.Millisecond)
	fmt.Fprintf(a.out, "%s has taken over from %s (pid %d); requests waited %s\n", show.Clean(u.To), show.Clean(u.From), u.PID, pause)
	for _, line := range []struct {
		what  string
		hosts []string
	}{{"went on", u.Stayed}, {"started again", u.Restarted}, {"ended, not in the configuration", u.Removed}} {
		if len(line.hosts) > 0 {
			fmt.Fprintf(a.out, "%s: %s\n", line.what, show.Clean(strings.Join(line.hosts, ", ")))
		}
	}
	if u.Cut > 0 {
		fmt.Fprintf(a.out, "cut off: %d %s under way for longer than --drain\n", u.Cut, show.Plural(u.Cut, "request was", "requests were"))
	}
}
