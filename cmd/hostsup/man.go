//go:build man

package main

import (
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/hostsup/hostsup/internal/version"
)

// builderVerbs are those of whoever makes packages: man writes the man pages into a
// folder. Their date is that of SOURCE_DATE_EPOCH, in seconds. A program that is
// published has no use for the library that writes them.
func (a *app) builderVerbs() []*cobra.Command {
	return []*cobra.Command{{
		Use:   "man FOLDER",
		Short: "Write the man pages",
		Long:  `Write a page for each verb into a folder that exists.`,
		Args:  args(1, 1, "FOLDER"),
		RunE: func(cmd *cobra.Command, given []string) error {
			root := cmd.Root()
			root.RemoveCommand(cmd)
			date := time.Now()
			if s, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
				date = time.Unix(s, 0)
			}
			root.DisableAutoGenTag = true
			return doc.GenManTree(root, &doc.GenManHeader{Section: "1", Date: &date, Source: "hostsup " + version.Version(), Manual: "hostsup"}, given[0])
		},
	}}
}
