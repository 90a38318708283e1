package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestEveryVerbCompletes holds that the arguments of each verb are completed, or are files
// or commands, which the shell completes.
func TestEveryVerbCompletes(t *testing.T) {
	files := []string{"hostsup add", "hostsup man", "hostsup sandbox run", "hostsup sandbox explain", "hostsup conformance", "hostsup upgrade"}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			look(sub)
		}
		completed := cmd.ValidArgsFunction != nil || len(cmd.ValidArgs) > 0 || cmd.HasSubCommands()
		if path := cmd.CommandPath(); completed == slices.Contains(files, path) && strings.Contains(cmd.Use, " ") {
			t.Errorf("%s: its arguments are completed: %v", path, completed)
		}
		if !completed && !strings.Contains(cmd.Use, " ") {
			t.Errorf("%s takes no arguments, and files are completed for it", cmd.CommandPath())
		}
	}
	look(newApp(nil, nil, nil).root())
}
