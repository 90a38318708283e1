package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/initial"
	"github.com/hostsup/hostsup/cmd/hostsup/internal/show"
	"github.com/hostsup/hostsup/config"
	"github.com/hostsup/hostsup/internal/nearest"
)

// defaultConfig is the file that the other verbs look for.
// maxAgentFile bounds the bytes read of an agent's file.
const defaultConfig = "config.hcl"

// maxAgentFile is how much of an agent's file is read.
const maxAgentFile = 8 << 20

// initFlags holds the flags of init.
type initFlags struct {
	lsp, mcp []string
	from     string
	nvim     bool
	out      string
	force    bool
}

func (a *app) initVerb() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a first configuration",
		Long: `Write a configuration with the language servers, MCP servers and Neovim that are
named, or that are listed in the mcp.json of an agent or an editor. Without any of
these it looks in node_modules/.bin and in PATH for those that it knows.

Language servers that are known by name: ` + strings.Join(initial.KnownLanguageServers(), ", ") + `.
MCP servers: ` + strings.Join(initial.KnownMCPServers(), ", ") + `.
Others are given as NAME=COMMAND.`,
		Example: `  hostsup init
  hostsup init --lsp pyright --mcp filesystem=/srv
  hostsup init --lsp mine='./my-server --stdio' -o -
  hostsup init --from ~/.cursor/mcp.json`,
		Args: args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error { return a.init(f) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.lsp, "lsp", nil, "a language server, `NAME[=COMMAND]`; may be repeated")
	flags.StringArrayVar(&f.mcp, "mcp", nil, "an MCP server, `NAME[=DIR,…|=COMMAND]`; may be repeated")
	flags.StringVar(&f.from, "from", "", "the servers of an agent's mcp.json `FILE`; - is standard input")
	flags.BoolVar(&f.nvim, "nvim", false, "Neovim, without a screen")
	flags.StringVarP(&f.out, "output", "o", defaultConfig, "`FILE` to write; - is standard output")
	flags.BoolVar(&f.force, "force", false, "replace a file that is there")
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("lsp", cobra.FixedCompletions(initial.KnownLanguageServers(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("mcp", cobra.FixedCompletions(initial.KnownMCPServers(), cobra.ShellCompDirectiveNoFileComp)))
	cobra.CheckErr(cmd.MarkFlagFilename("from", "json"))
	cobra.CheckErr(cmd.MarkFlagFilename("output", "hcl"))
	return cmd
}

func (a *app) init(f initFlags) error {
	switch {
	case a.config != "":
		return usagef("-c is a configuration to read; name the one to write with -o FILE")
	case f.out == "":
		return usagef("the name of the file to write is empty")
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
	hosts, err := a.initial(f, dir)
	if err != nil {
		return err
	}
	text := initial.Render(hosts, filepath.Dir(path))
	if _, diags := config.Parse(text, path, config.Options{}); diags.HasErrors() {
		return &configError{diags: diags, hint: "nothing was written"}
	}
	if f.out == "-" {
		a.out.line(strings.TrimSuffix(string(text), "\n"))
		return nil
	}
	mode := fs.FileMode(0o644)
	if slices.ContainsFunc(hosts, initial.Host.Secret) {
		mode = 0o600
	}
	if err := writeNew(path, text, mode, f.force); err != nil {
		return err
	}
	a.initialised(f.out, hosts, mode)
	return nil
}

// initial returns the hosts that are named, or else those that are found.
func (a *app) initial(f initFlags, dir string) ([]initial.Host, error) {
	m := initial.Machine{Dir: dir, LookPath: exec.LookPath, IsDir: func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}}
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
	var agents []initial.Host
	if f.from != "" {
		var err error
		if agents, err = a.fromAgent(m, f.from); err != nil {
			return nil, err
		}
	} else if len(named) == 0 {
		if named = m.Find(); len(named) == 0 {
			return nil, errors.New(`no known language server, MCP server or nvim is in node_modules/.bin or in PATH: name what is to run, as in "hostsup init --lsp pyright --mcp filesystem=DIR" or "hostsup init --from mcp.json"`)
		}
	}
	hosts, err := initial.Join(named, agents)
	if err != nil {
		return nil, &usageError{text: err.Error()}
	}
	if len(hosts) == 0 {
		return nil, fmt.Errorf("nothing in %s can be supervised", show.Clean(f.from))
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

// fromAgent reads an agent's file, and reports what it leaves out.
func (a *app) fromAgent(m initial.Machine, path string) ([]initial.Host, error) {
	in := a.in
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	src, err := io.ReadAll(io.LimitReader(in, maxAgentFile+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxAgentFile {
		return nil, fmt.Errorf("%s: longer than 8 MiB, which no list of servers is", path)
	}
	hosts, left, err := m.FromAgent(src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for _, l := range left {
		fmt.Fprintf(a.errout, "left out: %s: %s\n", show.Clean(l.Name), show.Clean(l.Why))
	}
	return hosts, nil
}

// initialised reports what was written, and what to do next.
func (a *app) initialised(path string, hosts []initial.Host, mode fs.FileMode) {
	a.out.line(fmt.Sprintf("%s has %d %s:", show.Clean(path), len(hosts), show.Plural(len(hosts), "host", "hosts")))
	for _, h := range hosts {
		line := "  " + h.Name
		if len(h.Remarks) > 0 {
			line += ": " + show.Clean(strings.Join(h.Remarks, " "))
		}
		a.out.line(line)
	}
	if mode == 0o600 {
		a.out.line("It contains what looks like a secret, so no other user may read it.")
	}
	run := "hostsup run"
	if filepath.Clean(path) != defaultConfig {
		run += " -c " + show.Clean(path)
	}
	a.out.line(fmt.Sprintf("Run it: %s", run))
}

// writeNew writes a file whole or not at all. An existing file stays unless it may
// be replaced.
func writeNew(path string, text []byte, mode fs.FileMode, replace bool) error {
	if replace {
		if target, err := filepath.EvalSymlinks(path); err == nil {
			path = target // the link stays
		}
	}
	switch info, err := os.Stat(path); {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a file", path)
	case err == nil && !replace:
		return fmt.Errorf("%s exists already: --force replaces it, -o FILE writes another one, -o - shows what would be written", path)
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
