package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/workbench/tests"
)

func (a *app) testsVerb() *cobra.Command {
	q, ids := tests.Query{}, false
	cmd := &cobra.Command{
		Use:   "tests [HOST [ID]]",
		Short: "Show the tests of extensions, and run them",
		Long: `List the test controllers that the extensions of hosts of VS Code have created. With a
HOST show their tests, or those below the test with an ID, which --ids prints: + stands
before a test with others below it that its extension has not looked for.`,
		Example: `  hostsup tests
  hostsup tests code --ids
  hostsup tests run code
  hostsup tests run code 'mocha::calc.js::adds' --output`,
		Args:              args(0, 2, "[HOST [ID]]"),
		ValidArgsFunction: a.completeTests,
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				for _, name := range []string{"depth", "ids", "refresh"} {
					if cmd.Flags().Changed(name) {
						return &usageError{text: "--" + name + " expects a HOST"}
					}
				}
				return a.testControllers(cmd.Context())
			}
			if q.Depth < 0 {
				return &usageError{text: "--depth expects 0 or more"}
			}
			q.Test = strings.Join(given[1:], "")
			return a.tests(cmd.Context(), given[0], q, ids)
		},
	}
	cmd.Flags().IntVar(&q.Depth, "depth", 0, "ask extensions for `N` levels only; 0: for all")
	cmd.Flags().BoolVar(&q.Refresh, "refresh", false, "let extensions find their tests again")
	cmd.Flags().BoolVar(&ids, "ids", false, "print the ids of tests")
	a.jsonFlag(cmd, "print one JSON document")
	cmd.AddCommand(a.testsRunVerb(), a.testsRunsVerb(), a.testsCancelVerb())
	return cmd
}

func (a *app) testsRunVerb() *cobra.Command {
	q, output := tests.Request{}, false
	cmd := &cobra.Command{
		Use:   "run HOST [ID…]",
		Short: "Run tests",
		Long: `Run all tests of the extensions of a host, or those with the IDs and all below them,
and print the results. It exits 1 unless tests have passed and no test has failed. An
interrupt cancels the run.`,
		Args:              args(1, -1, "HOST [ID…]"),
		ValidArgsFunction: a.completeTests,
		RunE: func(cmd *cobra.Command, given []string) error {
			q.Tests = given[1:]
			return a.runTests(cmd.Context(), given[0], q, output)
		},
	}
	cmd.Flags().StringVar(&q.Profile, "profile", "", "run them with the profile that has this `LABEL` (default: the default one)")
	cmd.Flags().StringArrayVar(&q.Exclude, "exclude", nil, "do not run the test with this `ID`; may be repeated")
	cmd.Flags().BoolVar(&output, "output", false, "print what the tests have written, too")
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) testsRunsVerb() *cobra.Command {
	output := false
	cmd := &cobra.Command{
		Use:               "runs [HOST]",
		Short:             "Show the last runs of tests, also those that extensions have begun",
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeOneExtensionHost,
		RunE: func(cmd *cobra.Command, given []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			list, err := c.TestRuns(cmd.Context(), strings.Join(given, ""))
			each := func(w io.Writer, list []tests.Run) error {
				for _, r := range list {
					if err := screen(a.out).TestRun(w, r, output); err != nil {
						return err
					}
				}
				return nil
			}
			return showList(a, list, err, each, "no tests were run")
		},
	}
	cmd.Flags().BoolVar(&output, "output", false, "print what the tests have written, too")
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) testsCancelVerb() *cobra.Command {
	return &cobra.Command{
		Use:               "cancel RUN",
		Short:             "Cancel a run of tests",
		Args:              args(1, 1, "RUN"),
		ValidArgsFunction: a.completeTestRuns,
		RunE: func(cmd *cobra.Command, given []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			return c.CancelTestRun(cmd.Context(), given[0])
		},
	}
}

func (a *app) testControllers(ctx context.Context) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.TestControllers(ctx, "")
	return showList(a, list, err, screen(a.out).TestControllers, "no extension has created a test controller")
}

func (a *app) tests(ctx context.Context, host string, q tests.Query, ids bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	tree, err := c.ReadTests(ctx, host, q)
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(tree)
		return nil
	}
	return screen(a.out).Tests(a.out, *tree, ids)
}

func (a *app) runTests(ctx context.Context, host string, q tests.Request, output bool) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	run, err := c.RunTests(ctx, host, q)
	switch {
	case err != nil:
		return err
	case a.json:
		a.out.jsonDocument(run)
	default:
		if err := screen(a.out).TestRun(a.out, *run, output); err != nil {
			return err
		}
	}
	if run.State != tests.Passed {
		return &printed{exitFailed}
	}
	return nil
}

// completeTests completes a host, and then tests that its extensions have looked for.
func (a *app) completeTests(cmd *cobra.Command, given []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.completeOneExtensionHost(cmd, given, prefix)
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	tree, err := c.ReadTests(ctx, given[0], tests.Query{})
	if err != nil { // nothing is completed
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return testNames(nil, tree.Tests), cobra.ShellCompDirectiveNoFileComp
}

func testNames(out []cobra.Completion, list []tests.Test) []cobra.Completion {
	for _, t := range list {
		out = testNames(append(out, cobra.CompletionWithDesc(show.Clean(t.ID), show.Clean(t.Label))), t.Tests)
	}
	return out
}

// completeTestRuns completes a run that has not ended.
func (a *app) completeTestRuns(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil || len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.TestRuns(ctx, "") // without a list nothing is completed
	var out []cobra.Completion
	for _, r := range list {
		if r.State == tests.Running {
			out = append(out, cobra.CompletionWithDesc(show.Clean(r.ID), show.Clean(r.Host)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
