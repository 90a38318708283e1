package terminals

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hostsup/hostsup/workbench"
)

// options are those of a process or shell execution.
type options struct {
	Cwd        json.RawMessage
	Env        map[string]*string
	Executable string
	ShellArgs  []string
}

// executionDTO is a ProcessExecutionDTO or a ShellExecutionDTO.
type executionDTO struct {
	Process     string
	Args        []json.RawMessage
	CommandLine string
	Command     json.RawMessage
	Options     options
}

// taskProgram returns the program of a task; custom means that the extension plays it.
func (s *Service) taskProgram(c *workbench.Call, d dto) (p program, custom bool, err error) {
	if len(d.Execution) == 0 || string(d.Execution) == "null" {
		return p, false, workbench.Invalid("tasks.executeTask: task %q has no execution", d.Name)
	}
	var x executionDTO
	if isCustom(d.Execution) {
		return p, true, nil
	}
	if err := json.Unmarshal(d.Execution, &x); err != nil {
		return p, false, workbench.Invalid("tasks.executeTask: task %q: its execution: %v", d.Name, err)
	}
	if p.dir, err = s.dirOf(x.Options.Cwd); err != nil {
		return p, false, err
	}
	p.environ = environOf(x.Options.Env, false)
	if x.Process != "" {
		p.args = []string{x.Process}
		for _, raw := range x.Args {
			var arg string
			if json.Unmarshal(raw, &arg) != nil {
				return p, false, workbench.Invalid("tasks.executeTask: task %q: an argument is no text: %.40q", d.Name, raw)
			}
			p.args = append(p.args, arg)
		}
	} else {
		line := x.CommandLine
		if line == "" {
			parts := append([]json.RawMessage{x.Command}, x.Args...)
			words := make([]string, len(parts))
			for i, raw := range parts {
				if words[i], err = word(raw, i == 0); err != nil {
					return p, false, workbench.Invalid("tasks.executeTask: task %q: %v", d.Name, err)
				}
			}
			line = strings.Join(words, " ")
		}
		if strings.TrimSpace(line) == "" {
			return p, false, workbench.Invalid("tasks.executeTask: task %q has neither a process nor a command", d.Name)
		}
		args := x.Options.ShellArgs
		if len(args) == 0 {
			args = []string{"-c"}
		}
		p.args = append(append([]string{cmp.Or(x.Options.Executable, shell)}, args...), line)
	}
	for i := range p.args {
		if p.args[i], err = s.resolved(c, p.args[i]); err != nil {
			return p, false, err
		}
	}
	p.dir, err = s.resolved(c, p.dir)
	return p, false, err
}

// How a word of a shell's command is quoted (ShellQuoting).
const (
	quoteEscape = 1
	quoteStrong = 2
	quoteWeak   = 3
)

// special are the characters that a shell does not take as they are.
var special = regexp.MustCompile(`[^A-Za-z0-9_@%+=:,./-]`)

// word returns a word of a command line: a text, which is quoted if it has a blank, or a text with a
// way of quoting. The text of a command is not quoted.
func word(raw json.RawMessage, command bool) (string, error) {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		if !command && (text == "" || strings.ContainsAny(text, " \t\n")) {
			return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'", nil
		}
		return text, nil
	}
	var quoted struct {
		Value   string
		Quoting int
	}
	if err := json.Unmarshal(raw, &quoted); err != nil {
		return "", err
	}
	switch quoted.Quoting {
	case quoteStrong:
		return "'" + strings.ReplaceAll(quoted.Value, "'", `'\''`) + "'", nil
	case quoteWeak:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(quoted.Value) + `"`, nil
	case quoteEscape:
		return special.ReplaceAllString(quoted.Value, `\$0`), nil
	}
	return quoted.Value, nil
}

// variable is a variable of a task.
var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// resolved replaces the variables of VS Code in a text of a task. Variables of a shell, such as
// ${HOME}, have no colon and other names, and stay.
func (s *Service) resolved(c *workbench.Call, text string) (string, error) {
	var failed error
	out := variable.ReplaceAllStringFunc(text, func(whole string) string {
		name, arg, hasArg := strings.Cut(whole[2:len(whole)-1], ":")
		switch name {
		case "workspaceFolder", "workspaceRoot", "cwd":
			if s.opt.Folder() != "" {
				return s.opt.Folder()
			}
		case "workspaceFolderBasename":
			if s.opt.Folder() != "" {
				return filepath.Base(s.opt.Folder())
			}
		case "userHome":
			return c.Host.Spec().Env["HOME"]
		case "pathSeparator", "/":
			return string(os.PathSeparator)
		case "env":
			if hasArg {
				return c.Host.Spec().Env[arg]
			}
		case "file", "relativeFile", "fileDirname", "fileBasename", "fileExtname", "fileBasenameNoExtension", "lineNumber", "selectedText", "command", "input", "config":
		default:
			return whole
		}
		failed = workbench.NotSupported("tasks.executeTask", "the variable "+whole+" has no value here")
		return whole
	})
	return out, failed
}
