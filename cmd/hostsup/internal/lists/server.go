package lists

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Server is an entry of a list.
type Server struct {
	Name      string
	Language  bool   // a language server, not an MCP server
	Command   []Text // nil for a server that is reached at a URL
	Env       map[string]Text
	URL       Text            // nil for one that is started
	Token     Text            // that requests to URL carry as Authorization: Bearer; nil for none
	Headers   map[string]Text // further ones of such requests
	Dir       Text            // working folder; nil if the entry names none
	Workspace string          // the folder of the project that the entry belongs to, absolute
	Timeout   time.Duration   // of its start; 0 if the entry has none
	Notes     []string        // what could not be taken over
}

// entry is an entry in the forms of all programs.
type entry struct {
	Command     json.RawMessage   `json:"command"` // a string; a list in opencode; an object in older versions of Zed
	Args        []string          `json:"args"`
	Env         map[string]any    `json:"env"`
	Environment map[string]any    `json:"environment"` // opencode
	EnvVars     []json.RawMessage `json:"env_vars"`    // Codex: names of variables that are passed on
	EnvFile     string            `json:"envFile"`
	Cwd         string            `json:"cwd"`
	Type        string            `json:"type"`
	URL         string            `json:"url"`
	ServerURL   string            `json:"serverUrl"`
	HTTPURL     string            `json:"httpUrl"`
	Transport   string            `json:"transport"` // some write it for type
	Headers     map[string]any    `json:"headers"`
	HTTPHeaders map[string]any    `json:"http_headers"`         // Codex
	EnvHeaders  map[string]any    `json:"env_http_headers"`     // Codex: header → variable
	TokenVar    string            `json:"bearer_token_env_var"` // Codex
	OAuth       json.RawMessage   `json:"oauth"`
	Helper      string            `json:"headersHelper"` // Claude: a command that prints headers
	Disabled    bool              `json:"disabled"`
	Enabled     *bool             `json:"enabled"`
	Source      string            `json:"source"`              // Zed
	StartSec    float64           `json:"startup_timeout_sec"` // Codex
	StartMS     float64           `json:"startup_timeout_ms"`
	Binary      *struct {         // Zed, for language servers
		Path      string         `json:"path"`
		Arguments []string       `json:"arguments"`
		Env       map[string]any `json:"env"`
	} `json:"binary"`
}

// longestStart bounds what a list may set as the time of a start.
const longestStart = 24 * time.Hour

func (l *list) server(name string, src json.RawMessage, language bool) (Server, error) {
	e, err := decode(src)
	if err != nil {
		return Server{}, err
	}
	if e.Disabled || e.Enabled != nil && !*e.Enabled {
		return Server{}, errors.New("it is disabled")
	}
	if at := e.address(); at != "" && !language && len(e.Command) == 0 {
		return l.remote(name, e, at)
	}
	command, env, err := e.command(language)
	if err != nil {
		return Server{}, err
	}
	if isAttach(command) {
		return Server{}, errors.New("it is hostsup attach already")
	}
	s := Server{Name: name, Language: language, Workspace: l.workspace}
	for _, word := range command {
		t, unknown := l.text(word)
		if unknown {
			l.note("There is a placeholder in its command, which is not replaced here: write its value there if one is meant.")
		}
		s.Command = append(s.Command, t)
	}
	if err := l.variables(&s, env); err != nil {
		return Server{}, err
	}
	if err := l.passed(&s, e.EnvVars); err != nil {
		return Server{}, err
	}
	l.folder(&s, e.Cwd)
	if program := s.Command[0]; program.IsLiteral() && s.Dir == nil && strings.ContainsRune(filepath.ToSlash(program.String()), '/') {
		s.Command[0] = Literal(l.join(program.String()))
	}
	if e.EnvFile != "" {
		l.note("It took variables from %s: name it as env_file, or put them into env.", e.EnvFile)
	}
	s.Timeout = e.timeout()
	return s, nil
}

// timeout returns that of a start, 0 for none that makes sense.
func (e entry) timeout() time.Duration {
	d := time.Duration(e.StartSec*float64(time.Second) + e.StartMS*float64(time.Millisecond))
	if d < 0 || d > longestStart {
		return 0
	}
	return d
}

func decode(src json.RawMessage) (entry, error) {
	var e entry
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber() // numbers of variables stay as they are written
	var wrong *json.UnmarshalTypeError
	switch err := d.Decode(&e); {
	case errors.As(err, &wrong) && wrong.Field != "":
		value, _, _ := strings.Cut(wrong.Value, " ")
		return e, fmt.Errorf("its %s cannot be of type %s", wrong.Field, value)
	case err != nil:
		return e, errors.New("it is not an object")
	}
	return e, nil
}

// command returns the words of a command and its variables.
func (e entry) command(language bool) ([]string, map[string]any, error) {
	env := map[string]any{}
	maps.Copy(env, e.Env)
	maps.Copy(env, e.Environment)
	if language && e.Binary != nil && e.Binary.Path != "" {
		maps.Copy(env, e.Binary.Env)
		return append([]string{e.Binary.Path}, e.Binary.Arguments...), env, nil
	}
	var one string
	var words []string
	var deeper struct {
		Path string         `json:"path"`
		Args []string       `json:"args"`
		Env  map[string]any `json:"env"`
	}
	switch {
	case len(e.Command) == 0 || string(e.Command) == "null":
		return nil, nil, e.noCommand(language)
	case json.Unmarshal(e.Command, &one) == nil:
		words = append([]string{one}, e.Args...)
	case json.Unmarshal(e.Command, &words) == nil:
		words = append(words, e.Args...)
	case json.Unmarshal(e.Command, &deeper) == nil:
		words = append([]string{deeper.Path}, deeper.Args...)
		maps.Copy(env, deeper.Env)
	default:
		return nil, nil, errors.New("its command is neither a string nor a list of strings")
	}
	if len(words) == 0 || words[0] == "" {
		return nil, nil, errors.New("it has no command")
	}
	return words, env, nil
}

// noCommand says why there is no command.
func (e entry) noCommand(language bool) error {
	switch {
	case e.address() != "", e.Type != "" && e.Type != "stdio" && e.Type != "local":
		return errors.New("it is reached at a URL, which it does not name")
	case e.Source == "extension":
		return errors.New("an extension of Zed brings its program")
	case language:
		return errors.New("the editor chooses its program: add it by name, with --lsp")
	}
	return errors.New("it has no command")
}

// isAttach reports whether a command is an attached client already.
func isAttach(command []string) bool {
	base := strings.TrimSuffix(filepath.Base(filepath.ToSlash(command[0])), ".exe")
	return base == "hostsup" && slices.Contains(command[1:], "attach")
}

// variables takes over the environment.
func (l *list) variables(s *Server, env map[string]any) error {
	texts, err := l.texts(env, "variable")
	for k, t := range texts {
		s.set(k, t)
	}
	return err
}

// texts reads values by their names. kind says what they are, for errors.
func (l *list) texts(values map[string]any, kind string) (map[string]Text, error) {
	out := map[string]Text{}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		var v string
		switch x := values[k].(type) {
		case string:
			v = x
		case json.Number, bool:
			v = fmt.Sprint(x)
		case nil:
			continue
		default:
			return nil, fmt.Errorf("its %s %s is not a string", kind, k)
		}
		t, unknown := l.text(v)
		if unknown {
			l.note("There is a placeholder in %s, which is not replaced here: write its value there if one is meant.", k)
		}
		out[k] = t
	}
	return out, nil
}

// passed takes over the names of variables that are passed on.
func (l *list) passed(s *Server, names []json.RawMessage) error {
	for _, raw := range names {
		var name string
		var table struct {
			Name   string `json:"name"`
			Source string `json:"source"`
		}
		if json.Unmarshal(raw, &name) != nil && (json.Unmarshal(raw, &table) != nil || table.Name == "") {
			return errors.New("its env_vars are not names of variables")
		}
		if name == "" {
			name = table.Name
		}
		if table.Source == "remote" {
			l.note("Codex takes %s from another machine: set it in env.", name)
			continue
		}
		s.set(name, Text{{Env: name}})
	}
	return nil
}

func (s *Server) set(name string, value Text) {
	if s.Env == nil {
		s.Env = map[string]Text{}
	}
	s.Env[name] = value
}

// folder takes over the working folder.
func (l *list) folder(s *Server, cwd string) {
	if cwd == "" {
		return
	}
	t, unknown := l.text(cwd)
	switch {
	case unknown:
		l.note("It ran in %s, which is not known here: set dir.", cwd)
	case t.IsLiteral():
		s.Dir = Literal(l.join(t.String()))
	default:
		s.Dir = t
	}
}

// option is a choice of an input: a string, or an object with a value.
type option struct{ value string }

// UnmarshalJSON implements [json.Unmarshaler].
func (o *option) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &o.value) == nil {
		return nil
	}
	var deeper struct {
		Value string `json:"value"`
	}
	err := json.Unmarshal(b, &deeper)
	o.value = deeper.Value
	return err
}
