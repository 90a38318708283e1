package main

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/intercept/secret/stores"
)

// app is one run of the program: its streams, and the flags that all verbs share.
type app struct {
	in     io.Reader
	out    *output
	errout io.Writer

	config    string   // -c
	socket    string   // --socket
	url       string   // --url
	vars      []string // --var
	tokenFile string   // --token-file
	ca        string   // --ca
	cert      string   // --cert
	key       string   // --key
	json      bool     // --json of the verb that runs

	initStore stores.Options // where init stores secrets: what it writes has no secrets block

	finish    func() // runs after the verb; may be nil
	wrongHelp error  // why no help was shown
}

func newApp(in io.Reader, out, errout io.Writer) *app {
	return &app{in: in, out: &output{w: out}, errout: errout}
}

// main runs one command line and returns the exit code.
func (a *app) main(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(beforeCommand(root, args))
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errout)
	cmd, err := root.ExecuteContextC(ctx)
	if a.finish != nil {
		a.finish()
	}
	if err == nil {
		err = a.wrongHelp
	}
	if err == nil {
		err = a.out.err
	}
	return a.exit(cmd, err)
}

const (
	groupRun  = "run"
	groupHost = "hosts"
	groupSee  = "see"
)

func (a *app) root() *cobra.Command {
	cobra.EnableCommandSorting = false // in the order in which they are used
	cmd := &cobra.Command{
		Use:   "hostsup",
		Short: "Keeps extension hosts, language servers and tool processes alive",
		Long: `hostsup keeps the out-of-process half of an editor or an agent alive: it starts
processes, talks to them, notices when they crash or hang, restarts them by rule
and tells what happened.`,
		Example: `  hostsup run                          supervise what config.hcl names
  hostsup status                       in another terminal
  hostsup call math add '[1, 2]'
  hostsup events -f`,
		Args: noSuchVerb,
		RunE: func(*cobra.Command, []string) error {
			return usagef("no verb given: hostsup status shows what runs, hostsup run starts it")
		},
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	cmd.SetFlagErrorFunc(wrongFlag)
	flags := cmd.PersistentFlags()
	flags.StringVarP(&a.config, "config", "c", "", "configuration `FILE` (default: $HOSTSUP_CONFIG, else ./config.hcl)")
	flags.StringVar(&a.socket, "socket", "", "control socket `PATH` (default: $HOSTSUP_SOCKET, else the configuration's, else the user's)")
	flags.StringVar(&a.url, "url", "", "`URL` of a supervisor's console, instead of a control socket (default: $HOSTSUP_URL)")
	flags.StringVar(&a.tokenFile, "token-file", "", "`FILE` with a token for --url or connect (default: $HOSTSUP_TOKEN_FILE)")
	flags.StringVar(&a.ca, "ca", "", "`FILE` with the authorities that --url and connect trust, in PEM (default: $HOSTSUP_CA, else the system's)")
	flags.StringVar(&a.cert, "cert", "", "`FILE` with a certificate to show to --url or by connect, in PEM (default: $HOSTSUP_CERT)")
	flags.StringVar(&a.key, "key", "", "`FILE` with its key (default: $HOSTSUP_KEY, else the file of --cert)")
	flags.StringArrayVar(&a.vars, "var", nil, "set a variable of the configuration, `NAME=VALUE`; may be repeated")
	cobra.CheckErr(cmd.MarkPersistentFlagFilename("config", "hcl"))

	cmd.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Supervise:"},
		&cobra.Group{ID: groupHost, Title: "Control hosts:"},
		&cobra.Group{ID: groupSee, Title: "See what happens:"},
	)
	add := func(group string, verbs ...*cobra.Command) {
		for _, v := range verbs {
			v.GroupID = group
			cmd.AddCommand(v)
		}
	}
	add(groupRun, a.initVerb(), a.runVerb(), a.validateVerb(), a.planVerb(), a.reloadVerb(), a.addVerb(), a.removeVerb(), a.upgradeVerb(), a.secretVerb(), a.sandboxVerb(), a.execServerVerb(), a.execVerb())
	add(groupHost, a.callVerb(), a.attachVerb(), a.connectVerb(), a.notifyVerb(), a.startVerb(), a.stopVerb(), a.restartVerb(), a.resetVerb(), a.waitVerb(), a.activateVerb(), a.extensionVerb(), a.langVerb(), a.answerVerb())
	add(groupSee, a.statusVerb(), a.topVerb(), a.eventsVerb(), a.logsVerb(), a.crashesVerb(), a.replayVerb(), a.extensionsVerb(), a.questionsVerb(), a.activityVerb(), a.viewsVerb(), a.scmVerb(), a.fileVerb(), a.testsVerb(), a.inspectVerb(), a.consoleVerb(), a.doctorVerb(), a.conformanceVerb())
	cmd.AddCommand(a.demoHostVerb(), a.versionVerb(), a.completionVerb(), a.sharedVerb())
	cmd.AddCommand(a.builderVerbs()...)
	a.checkHelp(cmd)
	a.completeRest(cmd)
	return cmd
}

// jsonFlag adds --json to a verb. Errors are then printed as JSON too.
func (a *app) jsonFlag(cmd *cobra.Command, what string) {
	cmd.Flags().BoolVar(&a.json, "json", false, what)
}

// screen returns the Screen to format text for w.
func screen(w io.Writer) show.Screen {
	s := show.Screen{Now: time.Now()}
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.Terminal = true
	s.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		s.Width = width
	}
	return s
}
