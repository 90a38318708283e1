//go:build !hostsup_posix

package shim

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/hostsup/hostsup/internal/poll"
)

// A shim that no client can find any more, because its folder was removed, ends with its command.
func TestShimWithoutFolderEnds(t *testing.T) {
	for name, order := range map[string][]func(*Conn) error{
		"before its client left": {removeFolder, (*Conn).Close},
		"afterwards":             {(*Conn).Close, removeFolder},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Start(Options{
				Folder: filepath.Join(t.TempDir(), "shim"), Name: "host.1",
				Path: "/bin/sh", Args: []string{"sh", "-c", "sleep 1000 & exec sleep 1000"}, Env: []string{"PATH=/bin:/usr/bin"}, Survive: true,
			})
			if err != nil {
				t.Fatal(err)
			}
			pids := []int{c.Record().Shim.PID, c.Record().Command.PID}
			for _, f := range order {
				if err := f(c); err != nil {
					t.Fatal(err)
				}
			}
			poll.Until(t, 20*time.Second, "the shim and its command end", func() bool { return !slices.ContainsFunc(pids, runs) })
		})
	}
}

func removeFolder(c *Conn) error { return os.RemoveAll(c.folder) }
