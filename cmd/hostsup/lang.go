package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/language"
)

// langQuery is a question as package extensions/hosted reads it.
type langQuery struct {
	language.Query
	Wait float64 `json:"waitSeconds,omitempty"`
}

// maxResolved is how many links and lenses get their targets and titles, which extensions find one by one.
const maxResolved = 1000

// langFeatures are the features of the verb, with what they need as the last argument.
var langFeatures = map[language.Feature]string{
	language.FeatureHover: "", language.FeatureDefinition: "", language.FeatureDeclaration: "", language.FeatureTypeDefinition: "",
	language.FeatureImplementation: "", language.FeatureReferences: "", language.FeatureHighlights: "", language.FeatureCompletion: "",
	language.FeatureSignature: "", language.FeatureSymbols: "", language.FeatureWorkspaceSymbol: "", language.FeatureFormat: "",
	language.FeatureRename: "NAME", language.FeatureActions: "", language.FeatureLenses: "", language.FeatureFolding: "",
	language.FeatureTokens: "", language.FeatureHints: "", language.FeatureLinks: "", language.FeatureColors: "", language.FeatureDiagnostics: "",
	language.FeatureInline: "", language.FeatureLinked: "", language.FeatureSelections: "",
	language.FeatureIncoming: "", language.FeatureOutgoing: "", language.FeatureSupertypes: "", language.FeatureSubtypes: "",
}

// featureNames returns the names of the features in their order.
func featureNames() (out []string) {
	for f := range langFeatures {
		out = append(out, string(f))
	}
	slices.Sort(out)
	return out
}

func (a *app) langVerb() *cobra.Command {
	var host string
	var wait time.Duration
	q := langQuery{}
	cmd := &cobra.Command{
		Use:   "lang FEATURE FILE[:LINE[:COL]] [NAME]",
		Short: "Ask the extensions of VS Code about a file",
		Long: `Ask the extensions of VS Code about a file: what is defined, shown or offered at a
position, its symbols and problems, and how it would be formatted or renamed. The
extensions of the language are activated, and their hosts started, if need be. Nothing
is changed: edits are printed.

LINE and COL count from 1, as compilers and editors print them; COL counts UTF-16
units. FEATURE is one of:
  ` + wrapped(featureNames(), 76) + `
workspace-symbols takes a text in the place of FILE; rename takes the new NAME.`,
		Example: `  hostsup lang hover main.ts:3:14
  hostsup lang rename main.ts:3:14 total
  hostsup lang diagnostics main.ts --json`,
		Args: args(2, 3, "FEATURE FILE[:LINE[:COL]] [NAME]"),
		ValidArgsFunction: func(_ *cobra.Command, given []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			switch len(given) {
			case 0:
				return featureNames(), cobra.ShellCompDirectiveNoFileComp
			case 1:
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, given []string) error {
			q.Wait = wait.Seconds()
			if err := q.read(given); err != nil {
				return err
			}
			return a.lang(cmd.Context(), host, q)
		},
	}
	a.hostFlag(cmd, &host, "ask the extensions of this `HOST`; else of the first one that provides the feature")
	cmd.Flags().StringVar(&q.Kind, "kind", "", "only code actions of this `KIND` and those below it, such as refactor")
	cmd.Flags().DurationVar(&wait, "wait", 5*time.Second, "how long extensions may take to find the first problem, for diagnostics")
	a.jsonFlag(cmd, "print the result as one JSON document; its lines and characters count from 0")
	return cmd
}

// wrapped joins words with spaces, in lines of a width.
func wrapped(words []string, width int) string {
	var b strings.Builder
	at := 0
	for _, w := range words {
		switch {
		case at > 0 && at+1+len(w) > width:
			b.WriteString("\n  ")
			at = 0
		case at > 0:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(w)
		at += len(w)
	}
	return b.String()
}

var filePosition = regexp.MustCompile(`^(.+?)(?::(\d+)(?::(\d+))?)?$`)

// read reads the arguments of the verb.
func (q *langQuery) read(given []string) error {
	q.Feature = language.Feature(given[0])
	more, known := langFeatures[q.Feature]
	switch {
	case !known:
		return usagef("%q is not a feature that is known: %s", given[0], strings.Join(featureNames(), ", "))
	case q.Wait < 0:
		return usagef("--wait is negative")
	case more != "" && len(given) < 3:
		return usagef("%s is missing: %s takes it as the last argument", more, q.Feature)
	case more == "" && len(given) > 2:
		return usagef("%q is too much: %s takes no other argument", given[2], q.Feature)
	case q.Feature == language.FeatureWorkspaceSymbol:
		q.Text = given[1]
		return nil
	case more != "":
		q.Text = given[2]
	}
	if q.Feature == language.FeatureLinks || q.Feature == language.FeatureLenses {
		q.Resolve = maxResolved
	}
	file, line, column := given[1], "", ""
	if m := filePosition.FindStringSubmatch(file); m != nil && !exists(file) {
		file, line, column = m[1], m[2], m[3]
	}
	for _, n := range []struct {
		text string
		to   *int
	}{{line, &q.Position.Line}, {column, &q.Position.Character}} {
		if n.text == "" {
			continue
		}
		count, err := strconv.Atoi(n.text)
		if err != nil || count < 1 {
			return usagef("%q: lines and columns count from 1", given[1])
		}
		*n.to = count - 1
	}
	path, err := filepath.Abs(file)
	q.URI = workbench.File(path)
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func (a *app) lang(ctx context.Context, host string, q langQuery) error {
	c, err := a.client()
	if err != nil {
		return err
	}
	raw, err := c.AskLanguage(ctx, host, q)
	if err != nil {
		return err
	}
	if a.json {
		a.out.jsonDocument(raw)
		return nil
	}
	file, _ := q.URI.FilePath()
	lines, err := language.Lines(q.Feature, file, raw)
	if err != nil {
		return fmt.Errorf("the supervisor has sent an answer of another version: %w", err)
	}
	for _, line := range lines {
		a.out.line(show.Clean(line))
	}
	if len(lines) == 0 {
		fmt.Fprintf(a.errout, "hostsup: the extensions have no %s here\n", q.Feature)
	}
	return nil
}
