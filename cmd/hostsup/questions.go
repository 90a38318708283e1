package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
)

func (a *app) questionsVerb() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "questions [HOST]",
		Short: "List the open questions of extensions to their user",
		Long: `List what extensions of VS Code ask their user and has no answer yet. Hosts with
extensions { questions = "ask" } have such questions; hostsup answer answers them.`,
		Args:              args(0, 1, "[HOST]"),
		ValidArgsFunction: a.completeOneExtensionHost,
		RunE: func(cmd *cobra.Command, given []string) error {
			return a.questions(cmd.Context(), strings.Join(given, ""))
		},
	}
	a.jsonFlag(cmd, "print one JSON document")
	return cmd
}

func (a *app) questions(ctx context.Context, host string) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	list, err := c.Questions(ctx, host)
	return showList(a, list, err, screen(a.out).Questions, "no question is open")
}

func (a *app) answerVerb() *cobra.Command {
	var dismiss bool
	cmd := &cobra.Command{
		Use:   "answer ID [VALUE…]",
		Short: "Answer or dismiss a question of an extension",
		Long: `Answer a question that hostsup questions lists: with the label of an item, a text,
or the absolute path of a file; with several where several may be chosen. An answer
that does not fit leaves the question open. With - the answer is the first line of
standard input, which is how a password is given: arguments can be seen by everybody.`,
		Example: `  hostsup answer k3bq7a2x Yes
  hostsup answer m5cd2w7y - < file
  hostsup answer k3bq7a2x --dismiss`,
		Args:              args(1, -1, "ID [VALUE…]"),
		ValidArgsFunction: a.completeAnswer,
		RunE: func(cmd *cobra.Command, given []string) error {
			values := given[1:]
			if dismiss == (len(values) > 0) {
				return &usageError{text: "either a VALUE or --dismiss is expected"}
			}
			return a.answer(cmd.Context(), given[0], values, dismiss)
		},
	}
	cmd.Flags().BoolVar(&dismiss, "dismiss", false, "dismiss the question, as a user does with the key Escape")
	return cmd
}

func (a *app) answer(ctx context.Context, id string, values []string, dismiss bool) error {
	if slices.Equal(values, []string{"-"}) {
		line, err := bufio.NewReader(a.in).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		values = []string{strings.TrimRight(line, "\r\n")}
	}
	c, err := a.client()
	if err != nil {
		return err
	}
	if dismiss {
		return c.DismissQuestion(ctx, id)
	}
	return c.AnswerQuestion(ctx, id, values...)
}

// completeAnswer completes the id of an open question, and then its items.
func (a *app) completeAnswer(cmd *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
	defer cancel()
	c, err := a.client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := c.Questions(ctx, "") // without a list nothing is completed
	var out []cobra.Completion
	for _, q := range list {
		switch {
		case len(given) == 0:
			out = append(out, cobra.CompletionWithDesc(q.ID, show.Clean(q.Text)))
		case q.ID == given[0] && (q.Many || len(given) == 1):
			out = append(out, q.Items...)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
