//go:build !man

package main

import "github.com/spf13/cobra"

func (a *app) builderVerbs() []*cobra.Command { return nil }
