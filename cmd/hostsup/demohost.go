package main

import (
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/sdk/demo"
)

func (a *app) demoHostVerb() *cobra.Command {
	return &cobra.Command{
		Use:   "demo-host",
		Short: "Run as the demo host of config.hcl",
		Long: `Run as the demo host of config.hcl. It is started by a supervisor, which
passes it a connection. Its methods: echo, add, pid, sleep, hang, fail, exit,
crash, stream, print, spawn, garbage.`,
		Args: args(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if code := demo.Main(cmd.Context()); code != 0 {
				return &printed{code}
			}
			return nil
		},
	}
}
