package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/supervisor"
)

// inspection holds the flags of inspect.
type inspection struct {
	host    string
	profile time.Duration // 0: none
	heap    bool
	file    string // "": a name made of the host and the time
}

func (a *app) inspectVerb() *cobra.Command {
	var q inspection
	cmd := &cobra.Command{
		Use:   "inspect HOST",
		Short: "Open the inspector of a host that runs node, or save a CPU profile or heap snapshot of it",
		Long: `Open the inspector of a host that is node, without a restart, and print where it
is. It stays open until the host's process ends, and whoever knows the address can
do with the host what he likes.

With --profile or --heap a file is saved instead, which Chrome and VS Code open,
and the inspector is closed again unless it was open. The host stands still while
a snapshot of its heap is made.`,
		Example: `  hostsup inspect code
  hostsup inspect code --profile 5s
  hostsup inspect code --heap -o code.heapsnapshot`,
		Args:              args(1, 1, "HOST"),
		ValidArgsFunction: a.completeHosts(1),
		RunE: func(cmd *cobra.Command, given []string) error {
			q.host = given[0]
			if err := q.check(cmd.Flags().Changed("profile"), cmd.Flags().Changed("output")); err != nil {
				return err
			}
			return a.inspect(cmd.Context(), q)
		},
	}
	flags := cmd.Flags()
	flags.DurationVar(&q.profile, "profile", 0, "save a CPU profile of this `LENGTH`, such as 5s")
	flags.BoolVar(&q.heap, "heap", false, "save a snapshot of the heap")
	flags.StringVarP(&q.file, "output", "o", "", "save it as `FILE` (default: HOST-TIME.cpuprofile or HOST-TIME.heapsnapshot)")
	a.jsonFlag(cmd, "print what was done as one JSON document")
	return cmd
}

func (q *inspection) check(profile, output bool) error {
	switch {
	case profile && (q.profile < supervisor.MinProfile || q.profile > supervisor.MaxProfile):
		return usagef("--profile %v: a profile lasts from %v to %v", q.profile, supervisor.MinProfile, supervisor.MaxProfile)
	case profile && q.heap:
		return usagef("either --profile or --heap, not both: the one would be in the other")
	case output && !profile && !q.heap:
		return usagef("--output needs --profile or --heap: there is nothing to save")
	case output && q.file == "":
		return usagef("--output is empty: FILE is expected")
	}
	return nil
}

func (a *app) inspect(ctx context.Context, q inspection) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	if q.profile == 0 && !q.heap {
		return a.openInspector(ctx, c, q.host)
	}
	kind, write := "heapsnapshot", func(w io.Writer) error { return c.HeapSnapshot(ctx, q.host, w) }
	if q.profile > 0 {
		kind, write = "cpuprofile", func(w io.Writer) error { return c.Profile(ctx, q.host, q.profile, w) }
	}
	if q.file == "" {
		q.file = fmt.Sprintf("%s-%s.%s", strings.ReplaceAll(q.host, "/", "_"), time.Now().Format("20060102-150405"), kind)
	}
	size, err := save(q.file, write)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(struct {
			Host  string `json:"host"`
			Kind  string `json:"kind"`
			File  string `json:"file"`
			Bytes int64  `json:"bytes"`
		}{q.host, kind, q.file, size})
		return nil
	}
	a.out.line(fmt.Sprintf("%s (%d bytes)", show.Clean(q.file), size))
	return nil
}

func (a *app) openInspector(ctx context.Context, c *control.Client, host string) error {
	in, err := c.Inspect(ctx, host)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(in)
		return nil
	}
	a.out.line(show.Clean(in.URL))
	a.out.line(show.Clean(in.DevTools))
	if in.Apart {
		fmt.Fprintf(a.errout, "hostsup: the host has a network of its own: it can be reached there only (nsenter --target %d --net)\n", in.PID)
	}
	fmt.Fprintf(a.errout, "hostsup: the inspector stays open until process %d ends\n", in.PID)
	return nil
}

// save writes a file under a temporary name, and renames it when it is complete.
func save(path string, write func(io.Writer) error) (size int64, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".partial-*") // mode 0600
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it may be closed already
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return 0, err
	}
	if size, err = f.Seek(0, io.SeekCurrent); err != nil {
		return 0, err
	}
	if err := f.Close(); err != nil {
		return 0, err
	}
	return size, os.Rename(f.Name(), path)
}
