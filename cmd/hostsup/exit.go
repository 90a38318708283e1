package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/control"
	"github.com/hostsup/hostsup/internal/nearest"
)

// Exit codes, which scripts rely on.
const (
	exitDone         = 0
	exitFailed       = 1 // it was tried and failed
	exitUsage        = 2 // wrong use
	exitConfig       = 3 // invalid configuration
	exitNoSupervisor = 4 // no supervisor at the socket
	exitNoHost       = 5 // no such host
)

// usageError is wrong use of the command line.
type usageError struct {
	text string
	cmd  *cobra.Command // whose help describes the right use; nil: the command that ran
}

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{text: fmt.Sprintf(format, args...)}
}

// configError is a configuration that cannot be used.
type configError struct {
	diags hcl.Diagnostics
	hint  string // what to do, unless it is to correct the file
}

func (e *configError) Error() string { return "the configuration is not valid" }

// printed is an error that has been printed completely.
type printed struct{ code int }

func (e *printed) Error() string { return fmt.Sprintf("exit %d", e.code) }

// exit prints the error of cmd and returns the exit code.
func (a *app) exit(cmd *cobra.Command, err error) int {
	if err == nil || isBrokenPipe(err) {
		return exitDone
	}
	var quiet *printed
	if errors.As(err, &quiet) {
		return quiet.code
	}
	scr := screen(a.errout)
	var usage *usageError
	var conf *configError
	switch {
	case errors.As(err, &usage):
		if usage.cmd != nil {
			cmd = usage.cmd
		}
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(usage.text))
		fmt.Fprintf(a.errout, "run \"%s --help\" for how to use it\n", cmd.CommandPath())
		return exitUsage
	case errors.As(err, &conf):
		_ = config.Print(a.errout, conf.diags, scr.Color, scr.Width) // there is nowhere else to report it
		if conf.hint != "" {
			fmt.Fprintf(a.errout, "hostsup: %s\n", conf.hint)
		}
		return exitConfig
	case errors.Is(err, config.ErrNoConfig):
		fmt.Fprintf(a.errout, "hostsup: %v\n", err)
		return exitConfig
	}
	return a.report(err)
}

// report prints the error of a verb, as JSON if requested, and returns the exit code.
func (a *app) report(err error) int {
	var e *control.Error
	if !errors.As(err, &e) {
		e = &control.Error{Class: control.Internal, Message: err.Error()}
		fmt.Fprintf(a.errout, "hostsup: %s\n", show.Clean(err.Error()))
	} else {
		fmt.Fprintf(a.errout, "hostsup: %s\n", screen(a.errout).Error(e))
	}
	if a.json {
		a.out.jsonLine(struct {
			Error *control.Error `json:"error"`
		}{e})
	}
	return exitCode(e.Class)
}

func exitCode(class control.Class) int {
	switch class {
	case control.Invalid, control.TooLarge:
		return exitUsage
	case control.InvalidConfig:
		return exitConfig
	case control.NoSupervisor:
		return exitNoSupervisor
	case control.NoSuchHost:
		return exitNoHost
	}
	return exitFailed
}

// args checks the number of a verb's arguments; names describes them for the
// message. most is -1 for any number.
func args(least, most int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, given []string) error {
		switch {
		case len(given) < least && len(given) == 0:
			return usagef("%s is missing", names)
		case len(given) < least:
			return usagef("too few arguments: %s is expected", names)
		case most == 0 && len(given) > 0:
			return usagef("%q is too much: no argument is expected", given[0])
		case most >= 0 && len(given) > most:
			return usagef("%q is too much: %s is expected", given[most], names)
		}
		if i := slices.Index(given, ""); i >= 0 && i < least {
			return usagef("argument %d is empty: %s is expected", i+1, names)
		}
		return nil
	}
}

// noSuchVerb returns the error for an unknown verb.
func noSuchVerb(cmd *cobra.Command, given []string) error {
	if len(given) == 0 {
		return nil
	}
	verbs := verbsOf(cmd)
	text := fmt.Sprintf("%q is not a verb of %s", given[0], cmd.CommandPath())
	if near := nearest.Question(given[0], verbs); near != "" {
		text += ": " + near
	} else if len(verbs) > 0 {
		text += ": there are " + strings.Join(verbs, ", ")
	} else {
		text += ", which has no verbs"
	}
	return &usageError{text, cmd}
}

// checkHelp makes help about an unknown verb wrong use, both as "help VERB" and as
// "VERB --help", for which cobra shows the help of the parent command. root must
// have all its verbs.
func (a *app) checkHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	help, _, err := root.Find([]string{"help"})
	cobra.CheckErr(err)
	help.Args = func(_ *cobra.Command, given []string) error {
		cmd, rest, err := root.Find(given)
		if err != nil {
			return err
		}
		return noSuchVerb(cmd, rest)
	}
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if given := cmd.Flags().Args(); cmd.HasSubCommands() && len(given) > 0 {
			if a.wrongHelp = cmd.ValidateArgs(given[:1]); a.wrongHelp != nil {
				return
			}
		}
		show(cmd, args)
	})
}

// noVerb returns the error for a missing verb below a command.
func noVerb(cmd *cobra.Command, _ []string) error {
	return usagef("no verb given: there are %s", strings.Join(verbsOf(cmd), ", "))
}

func verbsOf(cmd *cobra.Command) []string {
	var verbs []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			verbs = append(verbs, c.Name())
		}
	}
	return verbs
}

// wrongFlag describes the expected value of a flag.
func wrongFlag(cmd *cobra.Command, err error) error {
	text := err.Error()
	var unknown interface{ GetSpecifiedName() string }
	what, why, _ := strings.Cut(text, " flag: ")
	switch {
	case errors.As(err, &unknown):
		var names []string
		for _, flags := range []string{cmd.LocalFlags().FlagUsages(), cmd.InheritedFlags().FlagUsages()} {
			for _, word := range strings.Fields(flags) {
				if name, ok := strings.CutPrefix(word, "--"); ok {
					names = append(names, name)
				}
			}
		}
		if near := nearest.Name(unknown.GetSpecifiedName(), names); near != "" {
			text += fmt.Sprintf(": did you mean --%s?", near)
		}
	case strings.HasPrefix(why, "time: "):
		text = what + " flag: a duration such as 500ms, 5s or 1m30s is expected"
	case strings.HasPrefix(why, "strconv.ParseBool"):
		text = what + " flag: true or false is expected"
	case strings.HasPrefix(why, "strconv."):
		text = what + " flag: a whole number is expected"
	}
	return &usageError{text: text}
}
