package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/sandbox/selftest"
)

func (a *app) sandboxSelftestVerb() *cobra.Command {
	var opt selftest.Options
	var levels []string
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Try to escape from the sandbox on this machine, and report the results",
		Long: `Try to get out of the sandbox on this machine in many ways, as this user, and say
what held. Each attempt is made without a sandbox as well: one that fails there
too proves nothing. Exits with 1 when something got out or could not be tried.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			for _, l := range levels {
				if !policy.Level(l).Valid() {
					return usagef("--level %s: use full, no-cgroup or landlock", l)
				}
				opt.Levels = append(opt.Levels, policy.Level(l))
			}
			opt.Ordinary = opt.Ordinary || opt.Within
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			if scr := screen(a.errout); scr.Terminal {
				opt.Progress = a.progress()
			}
			report, err := selftest.Run(ctx, opt)
			if report != nil {
				if a.json {
					a.out.jsonDocument(report)
				} else if err := report.WriteText(a.out); err != nil {
					return err
				}
			}
			if err == nil && report != nil {
				err = report.Err()
			}
			if err == nil {
				return nil
			}
			fmt.Fprintf(a.errout, "hostsup: %v\n", err)
			if errors.Is(err, selftest.ErrUnsupported) {
				return &printed{exitConfine}
			}
			return &printed{exitFailed}
		},
	}
	f := cmd.Flags()
	f.BoolVar(&opt.Ordinary, "exec-server", false, "confine as the exec server confines the commands of its clients")
	f.BoolVar(&opt.Within, "exec-server-sandbox", false, "confine as an exec server with a sandbox confines a client that asks for everything")
	f.StringArrayVar(&levels, "level", nil, "try this `LEVEL` (default: the strongest here, and landlock); may be repeated")
	f.StringArrayVar(&opt.Only, "only", nil, "only attempts whose class/name contains `TEXT`; may be repeated")
	f.IntVar(&opt.UID, "uid", 0, "as root, try as an ordinary user of this `ID` as well")
	f.StringVar(&opt.Dir, "dir", "", "make folders in `DIR` (default: that for temporary files)")
	f.IntVar(&opt.Parallel, "parallel", 0, "attempts at once (default: one for each processor, four at most)")
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

// progress shows the progress on a terminal.
func (a *app) progress() func(done, all int) {
	var mu sync.Mutex
	most := 0
	return func(done, all int) {
		mu.Lock()
		defer mu.Unlock()
		if done <= most {
			return
		}
		most = done
		fmt.Fprintf(a.errout, "\r%d of %d", done, all)
		if done == all {
			fmt.Fprint(a.errout, "\r\x1b[K")
		}
	}
}
