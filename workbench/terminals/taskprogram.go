package terminals

import (
	"cmp"
	"encoding/json"
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
func (s *Service) taskProgram(d dto, replace func(text string) (string, error)) (p program, custom bool, err error) {
	if len(d.Execution) == 0 || string(d.Execution) == "null" {
		return p, false, workbench.Invalid("tasks.executeTask: task %q has no execution", d.Name)
	}
	var x executionDTO
	if isCustom(d.Execution) {
		return p, true, nil
	}
	execution, err := replaced(d.Execution, replace)
	if err != nil {
		return p, false, err
	}
	if err := json.Unmarshal(execution, &x); err != nil {
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
	return p, false, nil
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
