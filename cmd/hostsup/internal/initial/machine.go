package initial

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/lists"
)

// Machine is the machine on which the hosts will run.
type Machine struct {
	Dir      string                       // the current folder, absolute
	LookPath func(string) (string, error) // finds a program by its name or path, as os/exec does
	IsDir    func(string) bool
	IsFile   func(string) bool                     // reports whether a path is a regular file
	Getenv   func(string) (string, bool)           // of the environment, as os.LookupEnv
	Shim     func(program string) (missing string) // the component that a shim of rustup lacks, "" for every other program
	// IsLoopback reports whether the name or address of a machine in a URL is this one's own.
	IsLoopback func(host string) bool
}

// ErrUnknown means that a name is not a known server.
var ErrUnknown = errors.New("not a known server")

// find returns how to name a program in a command: by its path if the project
// contains it, by its name if it is in PATH.
func (m Machine) find(program string) (string, bool) {
	local := filepath.Join(m.Dir, "node_modules", ".bin", program)
	if _, err := m.LookPath(local); err == nil {
		return local, true
	}
	_, err := m.LookPath(program)
	return program, err == nil
}

// LanguageServer returns the host for NAME or NAME=COMMAND. The error for an unknown
// NAME is [ErrUnknown].
func (m Machine) LanguageServer(arg string) (Host, error) {
	name, command, given := strings.Cut(arg, "=")
	if given {
		return m.own(name, command, LanguageServer)
	}
	k, ok := named(languageServers, name)
	if !ok {
		return Host{}, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	return m.host(k, LanguageServer, nil), nil
}

// MCPServer returns the host for NAME, NAME=FOLDER,… or NAME=COMMAND. The error for
// an unknown NAME is [ErrUnknown].
func (m Machine) MCPServer(arg string) (Host, error) {
	name, value, given := strings.Cut(arg, "=")
	k, ok := named(mcpServers, name)
	switch {
	case ok && k.folders != 0 && given:
		return m.withFolders(k, value)
	case ok && k.folders < 0:
		return Host{}, fmt.Errorf("%s needs the folders that it may use: %s=DIR or %s=DIR,DIR", name, name, name)
	case given:
		return m.own(name, value, MCPServer)
	case !ok:
		return Host{}, fmt.Errorf("%q: %w", name, ErrUnknown)
	}
	return m.host(k, MCPServer, nil), nil
}

func (m Machine) withFolders(k known, value string) (Host, error) {
	folders := strings.Split(value, ",")
	if slices.Contains(folders, "") {
		return Host{}, fmt.Errorf("%s=%s: the name of a folder is empty", k.name, value)
	}
	if k.folders > 0 && len(folders) > k.folders {
		return Host{}, fmt.Errorf("%s=%s: it takes one folder", k.name, value)
	}
	h := m.host(k, MCPServer, folders)
	return h, h.fit()
}

// Neovim returns a host that is Neovim itself, without a screen.
func (m Machine) Neovim() Host {
	h := Host{Name: "nvim", Kind: Neovim, Command: lists.Literals([]string{"nvim", "--embed", "--headless", "--clean"}), About: "Neovim without a screen"}
	if _, err := m.LookPath("nvim"); err != nil {
		h.Remarks = append(h.Remarks, "There is no nvim in PATH yet: install it first.")
	}
	return h
}

// Find looks for all known servers and Neovim. Shims without the program behind them are
// returned as Left.
func (m Machine) Find() ([]Host, []Left) {
	var out []Host
	var left []Left
	add := func(list []known, kind Kind) {
		for _, k := range list {
			program, ok := m.find(k.program)
			if k.asked || !ok {
				continue
			}
			if why := m.shim(program); why != "" {
				left = append(left, Left{Name: k.name, Why: why})
				continue
			}
			var folders []string
			if k.folders < 0 {
				folders = []string{m.Dir}
			}
			if h := m.host(k, kind, folders); h.fit() == nil {
				out = append(out, h)
			}
		}
	}
	add(languageServers, LanguageServer)
	add(mcpServers, MCPServer)
	if _, err := m.LookPath("nvim"); err == nil {
		out = append(out, m.Neovim())
	}
	return out, left
}

// shim returns why a program that is in PATH cannot run all the same, or "".
func (m Machine) shim(program string) string {
	if missing := m.Shim(program); missing != "" {
		return fmt.Sprintf("%s in PATH is rustup, which lacks that component. To install it: rustup component add %s", program, missing)
	}
	return ""
}

// host returns the host for a known server: as it is installed, else with a program
// that fetches it, else as it will be once it is installed.
func (m Machine) host(k known, kind Kind, folders []string) Host {
	h := Host{Name: k.name, Kind: kind, Known: k.name, About: k.about, Inherit: k.inherit}
	program, found := m.find(k.program)
	runner, has := m.runner(k)
	command := []string{program}
	if !found && runner != nil {
		command, h.Fetches = runner, true
	}
	command = append(command, k.args...)
	for _, f := range folders {
		if !filepath.IsAbs(f) {
			f = filepath.Join(m.Dir, f)
		}
		if !m.IsDir(f) {
			h.Remarks = append(h.Remarks, fmt.Sprintf("There is no folder %s yet: make it first.", f))
		}
		if k.flag != "" {
			command = append(command, k.flag)
		}
		command = append(command, f)
	}
	h.Command = lists.Literals(command)
	switch {
	case found:
		if why := m.shim(program); why != "" {
			h.Remarks = append(h.Remarks, why+".")
		}
	case h.Fetches && !has:
		h.Remarks = append(h.Remarks, fmt.Sprintf("There is neither %s nor %s in PATH yet: install one of them first.", k.program, runner[0]))
	case h.Fetches:
		h.Remarks = append(h.Remarks, fmt.Sprintf("It is not installed: %s fetches it at the first start.", runner[0]))
	default:
		h.Remarks = append(h.Remarks, fmt.Sprintf("There is no %s in PATH yet. To install it: %s", k.program, k.install))
	}
	return h
}

// runner returns a command that fetches and runs a server, without its arguments,
// and whether that command exists. For language servers that it cannot run at all it
// returns none.
func (m Machine) runner(k known) (command []string, has bool) {
	switch {
	case k.npm != nil:
		command = []string{"npx", "-y"}
		for _, p := range k.npm {
			command = append(command, "--package="+p)
		}
		command = append(command, k.program)
	case k.pypi != "":
		command = []string{"uvx", k.pypi}
	default:
		return nil, false
	}
	_, err := m.LookPath(command[0])
	return command, err == nil
}

// own returns a host with a command of the user's.
func (m Machine) own(name, command string, kind Kind) (Host, error) {
	words, err := split(command)
	if err != nil {
		return Host{}, fmt.Errorf("%s=%s: %w", name, command, err)
	}
	h := Host{Name: name, Kind: kind, Command: lists.Literals(words), Fetches: fetches(words)}
	if err := h.fit(); err != nil {
		return Host{}, fmt.Errorf("%s=%s: %w", name, command, err)
	}
	program := words[0]
	if strings.ContainsRune(filepath.ToSlash(program), '/') && !filepath.IsAbs(program) {
		h.Command[0] = lists.Literal(filepath.Join(m.Dir, program))
	}
	m.recognize(&h)
	m.remark(&h)
	return h, nil
}

// recognize completes a host whose command runs a known server.
func (m Machine) recognize(h *Host) {
	list := languageServers
	if h.Kind == MCPServer {
		list = mcpServers
	}
	k, ok := knownCommand(list, h.Command)
	if !ok {
		return
	}
	h.Known = k.name
	if h.About == "" {
		h.About = k.about
	}
	for _, name := range k.inherit {
		if _, set := h.Env[name]; !set && !slices.Contains(h.Inherit, name) {
			h.Inherit = append(h.Inherit, name)
		}
	}
}

// remark says of the program of a host that it is missing.
func (m Machine) remark(h *Host) {
	if !h.Command[0].IsLiteral() {
		return
	}
	program := h.program()
	if h.Dir != nil && strings.ContainsRune(filepath.ToSlash(program), '/') && !filepath.IsAbs(program) {
		if !h.Dir.IsLiteral() {
			return
		}
		program = filepath.Join(h.Dir.String(), program)
	}
	if _, err := m.LookPath(program); err != nil {
		h.Remarks = append(h.Remarks, fmt.Sprintf("%s cannot be run yet: install it first.", program))
	} else if why := m.shim(program); why != "" {
		h.Remarks = append(h.Remarks, why+".")
	}
}

// fetchers are programs that download what they run.
var fetchers = []string{"npx", "uvx", "bunx", "pnpx", "pipx", "docker", "podman"}

// fetches reports whether a command downloads its program if it is missing.
func fetches(command []string) bool {
	for i, w := range command {
		base := base(w)
		switch {
		case slices.Contains(fetchers, base):
			return true
		case (base == "pnpm" || base == "yarn") && slices.Contains(command[i+1:], "dlx"),
			(base == "npm" || base == "uv") && slices.ContainsFunc(command[i+1:], func(s string) bool { return s == "exec" || s == "x" || s == "tool" || s == "run" }):
			return true
		}
		// The program follows the words of a shell or of env.
		if i == 0 && base != "cmd" && base != "cmd.exe" && base != "env" {
			return false
		}
	}
	return false
}
