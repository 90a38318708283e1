package tasks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// quotings are the ways to quote a word, as hosts number them (ShellQuoting).
var quotings = map[string]int{"escape": 1, "strong": 2, "weak": 3}

// wordOf returns the text of a command or an argument, and how it is quoted, 0 for a plain text. Several
// texts are joined.
func wordOf(raw json.RawMessage) (text string, quoting int, err error) {
	if len(raw) == 0 {
		return "", 0, nil
	}
	if text, ok := joined(raw); ok {
		return text, 0, nil
	}
	var quoted struct {
		Value   json.RawMessage
		Quoting string
	}
	if json.Unmarshal(raw, &quoted) == nil {
		text, ok := joined(quoted.Value)
		if quoting = quotings[quoted.Quoting]; ok && (quoting != 0 || quoted.Quoting == "") {
			return text, quoting, nil
		}
	}
	return "", 0, fmt.Errorf("a text expected, or one with the quoting escape, strong or weak, not %.80s", raw)
}

// joined returns a text, or several with spaces between them.
func joined(raw json.RawMessage) (string, bool) {
	var text string
	var words []string
	if len(raw) == 0 || json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &words) != nil {
		return "", false
	}
	return text + strings.Join(words, " "), true
}

// dtoOf returns a word as hosts have it.
func dtoOf(text string, quoting int) any {
	if quoting == 0 {
		return text
	}
	return map[string]any{"value": text, "quoting": quoting}
}

// execution returns the process or the command of a shell as hosts have it.
func (p *properties) execution(folder, command string) (map[string]any, error) {
	args := make([]any, len(p.Args))
	for i, raw := range p.Args {
		text, quoting, err := wordOf(raw)
		if err != nil {
			return nil, fmt.Errorf("args: %w", err)
		}
		if p.Type != "shell" {
			quoting = 0 // a process gets its arguments as they are
		}
		args[i] = dtoOf(text, quoting)
	}
	options, err := p.options(folder)
	if err != nil {
		return nil, fmt.Errorf("options: %w", err)
	}
	out := map[string]any{"options": options}
	switch _, quoting, _ := wordOf(p.Command); {
	case p.Type != "shell":
		out["process"], out["args"] = command, args
	case len(args) == 0 && quoting == 0:
		out["commandLine"] = command
	default:
		out["command"], out["args"] = dtoOf(command, quoting), args
	}
	return out, nil
}

// options returns the options of an execution as hosts have them.
func (p *properties) options(folder string) (map[string]any, error) {
	out := map[string]any{"cwd": folder}
	for name, raw := range p.Options {
		var err error
		switch name {
		case "cwd":
			var cwd string
			if err = decode(raw, &cwd); cwd == "" {
				break
			}
			if !filepath.IsAbs(cwd) && !strings.HasPrefix(cwd, "${") {
				cwd = filepath.Join(folder, cwd)
			}
			out["cwd"] = cwd
		case "env":
			var env map[string]string
			err = decode(raw, &env)
			out["env"] = env
		case "shell":
			var shell struct {
				Executable string
				Args       []string
				Quoting    json.RawMessage
			}
			err = decode(raw, &shell)
			if err == nil && shell.Quoting != nil {
				err = errors.New("an executable and args expected: quoting is that of a POSIX shell here and cannot be set")
			}
			if shell.Executable != "" {
				out["executable"] = shell.Executable
			}
			if shell.Args != nil {
				out["shellArgs"] = shell.Args
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return out, nil
}
