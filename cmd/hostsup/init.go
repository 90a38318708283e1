package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/editors"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/initial"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/newhost"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/nearest"
)

// defaultConfig is the file that the other verbs look for.
const defaultConfig = "config.hcl"

// maxAgentFile is how much of an agent's file is read, in bytes.
const maxAgentFile = 8 << 20

// initFlags holds the flags of init.
type initFlags struct {
	lsp, mcp []string
	from     []string
	nvim     bool
	out      string
	force    bool
	yes      bool
	editors  []string
	newHost  string
}

func (a *app) initVerb() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Write a first configuration",
		Long: `Write a configuration with the language servers, MCP servers and Neovim that are
named, or that are in the list of an agent or an editor. Without any of these it
looks in node_modules/.bin and in PATH for those that it knows.

Language servers that are known by name: ` + strings.Join(initial.KnownLanguageServers(), ", ") + `.
MCP servers: ` + strings.Join(initial.KnownMCPServers(), ", ") + `.
Others are given as NAME=COMMAND.

--from takes a file, or the name of a program whose usual files are read:
` + strings.Join(lists.Programs(), ", ") + `. What
such a program replaces in its list becomes env("NAME"). Values that look like
secrets are never written to the file: it gets secret("NAME"). At a terminal init
asks whether to store the value under that name; --yes stores it without a
question, and otherwise "hostsup secret set NAME" does.

--write-editor prints what makes an editor or an agent use the hosts:
` + strings.Join(editors.Names(), ", ") + `. With =FILE it puts that into the file,
and keeps the former one beside it.

--new-host writes a project to begin a host of your own with into the folder DIR: a
program, a test and a configuration. Languages: ` + strings.Join(newhost.Languages(), ", ") + `.`,
		Example: `  hostsup init
  hostsup init --lsp pyright --mcp filesystem=/srv
  hostsup init --lsp mine='./my-server --stdio' -o -
  hostsup init --from ~/.cursor/mcp.json
  hostsup init --from codex --from zed --write-editor claude=.mcp.json
  hostsup init --new-host typescript my-host`,
		Args: args(0, 1, "DIR"),
		ValidArgsFunction: func(cmd *cobra.Command, folders []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if f.newHost == "" || len(folders) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(cmd *cobra.Command, folders []string) error {
			switch {
			case f.newHost != "":
				return a.newHost(f.newHost, folders)
			case len(folders) > 0:
				return usagef("%q is too much: no argument is expected without --new-host", folders[0])
			}
			return a.init(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.lsp, "lsp", nil, "a language server, `NAME[=COMMAND]`; may be repeated")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "an MCP server, `NAME[=DIR,…|=COMMAND]`; may be repeated")
	flags.StringArrayVar(&f.from, "from", nil, "the servers in the list of an agent or an editor, `FILE|PROGRAM`; - is standard input; may be repeated")
	flags.BoolVar(&f.nvim, "nvim", false, "Neovim, without a screen")
	flags.StringVarP(&f.out, "output", "o", defaultConfig, "`FILE` to write; - is standard output")
	flags.BoolVar(&f.force, "force", false, "replace a file that is there")
	flags.BoolVarP(&f.yes, "yes", "y", false, "store what looks like a secret without asking")
	flags.StringArrayVar(&f.editors, "write-editor", nil, "print the side of an `EDITOR[=FILE]`, or put it into a file; may be repeated")
	flags.StringVar(&f.newHost, "new-host", "", "write a project for a host in this `LANGUAGE` into the folder DIR")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("new-host", cobra.FixedCompletions(newhost.Languages(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("lsp", cobra.FixedCompletions(initial.KnownLanguageServers(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("mcp", cobra.FixedCompletions(initial.KnownMCPServers(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("from", cobra.FixedCompletions(lists.Programs(), cobra.ShellCompDirectiveDefault)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("write-editor", cobra.FixedCompletions(editors.Names(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.MarkFlagFilename("output", "hcl"))
	return cmd
}

func (a *app) init(ctx context.Context, f initFlags) error {
	switch {
	case a.config != "":
		return usagef("-c is a configuration to read; name the one to write with -o FILE")
	case f.out == "":
		return usagef("the name of the file to write is empty")
	case f.out == "-" && len(f.editors) > 0:
		return usagef("--write-editor is for a configuration that is written, and -o - only shows one")
	}
	sides, err := editorSides(f.editors)
	if err != nil {
		return err
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	path := f.out
	if path == "-" {
		path = defaultConfig
	}
	if path, err = filepath.Abs(path); err != nil {
		return err
	}
	m := initial.Here(ctx, dir, config.IsLoopback)
	found, err := a.initial(f, m)
	if err != nil {
		return err
	}
	hosts, secrets, err := a.guarded(m, found, nil)
	if err != nil {
		return err
	}
	text := initial.Render(hosts, filepath.Dir(path))
	if f.out == "-" {
		if err := validConfig(text, path); err != nil {
			return err
		}
		a.out.line(strings.TrimSuffix(string(text), "\n"))
		a.tellSecrets(secrets, nil)
		return nil
	}
	same := holdsText(path, text)
	if !same {
		if err := checkTarget(path, f.force); err != nil {
			return err
		}
	}
	if err := validConfig(text, path); err != nil {
		return err
	}
	if hosts, err = a.storeSecrets(ctx, f.yes, m, found, hosts, secrets); err != nil {
		return err
	}
	if text = initial.Render(hosts, filepath.Dir(path)); !same {
		if err := writeNew(path, text, 0o644, f.force); err != nil {
			return err
		}
	}
	a.initialised(f.out, hosts, same)
	return a.writeEditors(sides, hosts)
}

// validConfig checks the text of a configuration.
func validConfig(text []byte, path string) error {
	if _, diags := config.Parse(text, path, config.Options{}); diags.HasErrors() {
		return &configError{diags: diags, hint: "nothing was written"}
	}
	return nil
}

// holdsText reports whether a file has exactly this text.
func holdsText(path string, text []byte) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != int64(len(text)) || !info.Mode().IsRegular() {
		return false
	}
	is, err := os.ReadFile(path)
	return err == nil && bytes.Equal(is, text)
}

// initial returns the hosts that are named, or else those that are found.
func (a *app) initial(f initFlags, m initial.Machine) ([]initial.Host, error) {
	var named []initial.Host
	for _, arg := range f.lsp {
		h, err := m.LanguageServer(arg)
		if err != nil {
			return nil, unknownServer("--lsp", arg, err, initial.KnownLanguageServers())
		}
		named = append(named, h)
	}
	for _, arg := range f.mcp {
		h, err := m.MCPServer(arg)
		if err != nil {
			return nil, unknownServer("--mcp", arg, err, initial.KnownMCPServers())
		}
		named = append(named, h)
	}
	if f.nvim {
		named = append(named, m.Neovim())
	}
	var listed []initial.Host
	for _, from := range f.from {
		hosts, err := a.fromList(m, from)
		if err != nil {
			return nil, err
		}
		listed = append(listed, hosts...)
	}
	if len(named) == 0 && len(f.from) == 0 {
		var left []initial.Left
		named, left = m.Find()
		a.leftOut(left)
		if len(named) == 0 {
			return nil, errors.New(`no known language server, MCP server or nvim is in node_modules/.bin or in PATH: name what is to run, as in "hostsup init --lsp pyright --mcp filesystem=DIR" or "hostsup init --from mcp.json"`)
		}
	}
	hosts, err := initial.Join(named, listed)
	if err != nil {
		return nil, &usageError{text: err.Error()}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("nothing in %s can be supervised", show.Clean(strings.Join(f.from, ", ")))
	}
	return hosts, nil
}

// unknownServer lists the possible values of a flag's argument.
func unknownServer(flag, arg string, err error, names []string) error {
	if !errors.Is(err, initial.ErrUnknown) {
		return usagef("%s %v", flag, err)
	}
	text := fmt.Sprintf("%s %v", flag, err)
	if near := nearest.Question(arg, names); near != "" {
		text += ": " + near
	} else {
		text += fmt.Sprintf(": there are %s; any other one is given as %s=COMMAND", strings.Join(names, ", "), arg)
	}
	return &usageError{text: text}
}

// fromList returns the hosts of a file, or of the usual files of a program.
func (a *app) fromList(m initial.Machine, from string) ([]initial.Host, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	source := lists.Source{Dir: m.Dir, Home: home}
	if from == "-" {
		src, err := readBounded(a.in, "standard input")
		if err != nil {
			return nil, err
		}
		return a.fromText(m, src, from, source)
	}
	if _, err := os.Stat(from); err == nil || !slices.Contains(lists.Programs(), from) {
		return a.fromFile(m, from, source)
	}
	source.Program = lists.Program(from)
	folders := lists.Folders{Project: m.Dir, Home: home, Codex: os.Getenv("CODEX_HOME"), XDG: os.Getenv("XDG_CONFIG_HOME")}
	if dir, err := os.UserConfigDir(); err == nil {
		folders.Config = dir
	}
	if !filepath.IsAbs(folders.XDG) && home != "" {
		folders.XDG = filepath.Join(home, ".config")
	}
	var all []initial.Host
	var empty error
	found := false
	files := lists.Files(source.Program, folders)
	for _, file := range files {
		hosts, err := a.fromFile(m, file, source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.Is(err, lists.ErrNone):
			empty = err
			continue
		case err != nil:
			return nil, err
		}
		all, found = append(all, hosts...), true
	}
	switch {
	case found:
		return all, nil
	case empty != nil:
		return nil, empty
	default:
		return nil, fmt.Errorf("no list of %s was found: looked for %s; name the file with --from FILE", from, show.Clean(strings.Join(files, ", ")))
	}
}

func (a *app) fromFile(m initial.Machine, path string, source lists.Source) ([]initial.Host, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	src, err := readBounded(file, path)
	if err != nil {
		return nil, err
	}
	if source.File, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	return a.fromText(m, src, path, source)
}

// fromText reads a list, and reports what it leaves out.
func (a *app) fromText(m initial.Machine, src []byte, name string, source lists.Source) ([]initial.Host, error) {
	servers, left, err := lists.Read(src, source)
	var at *lists.Error
	switch {
	case errors.As(err, &at) && at.Column > 0:
		return nil, fmt.Errorf("%s:%d:%d: %s", name, at.Line, at.Column, at.Text)
	case errors.As(err, &at):
		return nil, fmt.Errorf("%s:%d: %s", name, at.Line, at.Text)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	a.leftOut(left)
	hosts, left := m.FromList(servers)
	a.leftOut(left)
	return hosts, nil
}

// readBounded reads a list that has a reasonable size.
func readBounded(in io.Reader, name string) ([]byte, error) {
	src, err := io.ReadAll(io.LimitReader(in, maxAgentFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxAgentFile {
		return nil, fmt.Errorf("%s: longer than 8 MiB, which no list of servers is", name)
	}
	return src, nil
}

// leftOut reports servers that the configuration does not have.
func (a *app) leftOut(left []initial.Left) {
	for _, l := range left {
		fmt.Fprintf(a.errout, "left out: %s: %s\n", show.Clean(l.Name), show.Clean(l.Why))
	}
}

// initialised reports what was written, and what to do next.
func (a *app) initialised(path string, hosts []initial.Host, same bool) {
	text := fmt.Sprintf("%s has %d %s", show.Clean(path), len(hosts), show.Plural(len(hosts), "host", "hosts"))
	if same {
		text += ", as before"
	}
	a.out.line(text + ":")
	for _, h := range hosts {
		line := "  " + h.Name
		if len(h.Remarks) > 0 {
			line += ": " + show.Clean(strings.Join(h.Remarks, " "))
		}
		a.out.line(line)
	}
	run := "hostsup run"
	if filepath.Clean(path) != defaultConfig {
		run += " -c " + show.Clean(path)
	}
	a.out.line(fmt.Sprintf("Run it: %s", run))
}

// checkTarget returns why a file cannot be written, or nil.
func checkTarget(path string, replace bool) error {
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a file", path)
	case err == nil && !replace:
		return fmt.Errorf("%s exists already: --force replaces it, -o FILE writes another one, -o - shows what would be written", path)
	}
	return nil
}

// writeNew writes a file whole or not at all. An existing file stays unless it may
// be replaced.
func writeNew(path string, text []byte, mode fs.FileMode, replace bool) error {
	if replace {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // the link stays
		}
	}
	if err := checkTarget(path, replace); err != nil {
		return err
	}
	if !replace { // not by a rename: it would replace a file made meanwhile
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		return filled(file, text)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".hostsup-init-")
	if err != nil {
		return err
	}
	if err := filled(file, text, file.Chmod(mode)); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// filled writes and closes a file. It removes the file if that, or an earlier step,
// fails.
func filled(file *os.File, text []byte, before ...error) error {
	_, err := file.Write(text)
	if err = errors.Join(append(before, err, file.Close())...); err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}
