package lists

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"
	"github.com/tailscale/hujson"
)

// Source is where a list comes from.
type Source struct {
	Program Program // "": it is guessed from the path and the content
	File    string  // absolute path; "" for a stream
	Dir     string  // the current folder, absolute
	Home    string  // of the user; may be ""
}

// Left is a server that cannot be taken over, and the reason.
type Left struct{ Name, Why string }

// Error is a mistake in a list, with its position.
type Error struct {
	Line, Column int // from 1; Column is 0 if it is not known
	Text         string
}

func (e *Error) Error() string {
	if e.Column > 0 {
		return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// ErrNone means that a file has no list.
var ErrNone = errors.New(`there are no servers in it: expected {"mcpServers": {"NAME": {"command": "…", "args": […]}}}, "servers" of VS Code, "context_servers" or "lsp" of Zed, "mcp" of opencode, or [mcp_servers.NAME] of Codex`)

// list is a file that is being read.
type list struct {
	from      Source
	program   Program
	workspace string
	inputs    []input
	notes     []string // about the server that is being read
}

// note adds a remark about the server that is being read, once.
func (l *list) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.notes, text) {
		l.notes = append(l.notes, text)
	}
}

// root is a file in all its forms.
type root struct {
	MCPServers map[string]json.RawMessage `json:"mcpServers"`      // Claude, Cursor, Gemini and most others
	Servers    map[string]json.RawMessage `json:"servers"`         // VS Code
	MCP        map[string]json.RawMessage `json:"mcp"`             // opencode; settings of VS Code, with servers and inputs
	Context    map[string]json.RawMessage `json:"context_servers"` // Zed
	LSP        json.RawMessage            `json:"lsp"`             // Zed, opencode
	Inputs     []input                    `json:"inputs"`
	Projects   map[string]struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
	} `json:"projects"` // Claude, by folder
}

// Read reads the servers of a list, sorted by name. JSON may have comments and trailing
// commas. An error is about the file as a whole, and is an [*Error] where it has a
// position; a server that cannot be taken over is returned as [Left].
func Read(src []byte, from Source) ([]Server, []Left, error) {
	l := &list{from: from, program: from.Program}
	if l.program == "" && from.File != "" {
		l.program = Guess(from.File)
	}
	l.workspace = from.Dir
	if from.File != "" {
		l.workspace = workspace(from.File, from.Home, from.Dir)
	}
	src = bytes.TrimPrefix(src, []byte("\xef\xbb\xbf"))
	if err := CheckDepth(src); err != nil {
		return nil, nil, err
	}
	if l.program == Codex || l.program == "" && isTOML(src) {
		l.program = Codex
		return l.readTOML(src)
	}
	return l.readJSON(src)
}

// isTOML reports whether a text without a name is Codex's.
func isTOML(src []byte) bool {
	start := bytes.TrimLeft(src, " \t\r\n")
	return len(start) > 0 && start[0] != '{' && start[0] != '/' && bytes.Contains(src, []byte("mcp_servers"))
}

// maxDepth bounds the nesting of a list.
const maxDepth = 1000

// CheckDepth returns an [*Error] if the brackets of a file in JSON or TOML are nested
// more than 1,000 deep. The libraries that read such files recurse without a limit.
func CheckDepth(src []byte) error {
	depth, line, quoted := 0, 1, false
	for i := 0; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\n':
			line, quoted = line+1, false // no string goes on
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return &Error{Line: line, Text: fmt.Sprintf("nested more than %d deep, which no list of servers is", maxDepth)}
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}

func (l *list) readTOML(src []byte) ([]Server, []Left, error) {
	var file map[string]any
	if _, err := toml.Decode(string(src), &file); err != nil {
		var wrong toml.ParseError
		if errors.As(err, &wrong) {
			return nil, nil, &Error{Line: wrong.Position.Line, Column: wrong.Position.Col, Text: wrong.Message + "; expected TOML"}
		}
		return nil, nil, fmt.Errorf("not TOML: %w", err)
	}
	found, ok := file["mcp_servers"]
	if !ok {
		return nil, nil, ErrNone
	}
	servers, ok := found.(map[string]any)
	if !ok {
		return nil, nil, errors.New("mcp_servers: expected a table for each server, [mcp_servers.NAME]")
	}
	all := map[string]json.RawMessage{}
	for name, s := range servers {
		text, err := json.Marshal(s)
		if err != nil { // such as a number that is not finite
			return nil, nil, fmt.Errorf("mcp_servers.%s: %w", name, err)
		}
		all[name] = text
	}
	if len(all) == 0 {
		return nil, nil, ErrNone
	}
	hosts, left := l.servers(all, false)
	return hosts, left, nil
}

func (l *list) readJSON(src []byte) ([]Server, []Left, error) {
	if !bytes.HasSuffix(src, []byte("\n")) {
		src = append(bytes.Clone(src), '\n') // ends a comment
	}
	v, err := hujson.Parse(src)
	if err != nil {
		return nil, nil, syntax(err)
	}
	v.Standardize() // positions do not change
	plain := v.Pack()
	var f root
	if err := json.Unmarshal(plain, &f); err != nil {
		return nil, nil, located(plain, err)
	}
	if err := l.settings(&f); err != nil {
		return nil, nil, err
	}
	l.recognize(&f)
	all := map[string]json.RawMessage{}
	for _, part := range []map[string]json.RawMessage{f.MCP, f.Context, f.Servers, f.MCPServers, f.Projects[l.workspace].MCPServers} {
		maps.Copy(all, part)
	}
	var language map[string]json.RawMessage
	if len(f.LSP) > 0 {
		_ = json.Unmarshal(f.LSP, &language) // false turns them off
	}
	if len(all)+len(language) == 0 {
		return nil, nil, ErrNone
	}
	hosts, left := l.servers(all, false)
	more, others := l.servers(language, true)
	left = append(left, others...)
	for _, folder := range slices.Sorted(maps.Keys(f.Projects)) {
		if n := len(f.Projects[folder].MCPServers); n > 0 && folder != l.workspace {
			names := slices.Sorted(maps.Keys(f.Projects[folder].MCPServers))
			left = append(left, Left{strings.Join(names, ", "), "it belongs to the project " + folder + ": run this there"})
		}
	}
	return append(hosts, more...), left, nil
}

// settings takes the list out of the settings of VS Code, where it stands deeper. A
// server of opencode may have the same name.
func (l *list) settings(f *root) error {
	inner, ok := f.MCP["servers"]
	var is struct {
		Type    *string         `json:"type"`
		Command json.RawMessage `json:"command"`
	}
	if !ok || json.Unmarshal(inner, &is) == nil && (is.Type != nil || len(is.Command) > 0 && is.Command[0] != '{') {
		return nil
	}
	var deeper struct {
		Servers map[string]json.RawMessage `json:"servers"`
		Inputs  []input                    `json:"inputs"`
	}
	text, err := json.Marshal(f.MCP)
	if err == nil {
		err = json.Unmarshal(text, &deeper)
	}
	if err != nil {
		return errors.New(`"mcp": expected {"servers": {"NAME": {"command": "…"}}}`)
	}
	f.MCP = nil
	if f.Servers == nil {
		f.Servers = map[string]json.RawMessage{}
	}
	maps.Copy(f.Servers, deeper.Servers)
	f.Inputs = append(f.Inputs, deeper.Inputs...)
	return nil
}

// recognize guesses the program from what the file has.
func (l *list) recognize(f *root) {
	l.inputs = f.Inputs
	if l.program != "" {
		return
	}
	switch {
	case f.Context != nil, f.LSP != nil && f.MCP == nil && f.MCPServers == nil:
		l.program = Zed
	case f.MCP != nil:
		l.program = OpenCode
	case f.Servers != nil:
		l.program = VSCode
	case f.Projects != nil:
		l.program = Claude
	}
}

// servers reads the entries of a section.
func (l *list) servers(all map[string]json.RawMessage, language bool) (servers []Server, left []Left) {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		l.notes = nil
		s, err := l.server(name, all[name], language)
		if err != nil {
			left = append(left, Left{name, err.Error()})
			continue
		}
		s.Notes = l.notes
		servers = append(servers, s)
	}
	return servers, left
}

// syntaxAt matches the errors of hujson, which have no fields.
var syntaxAt = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^hujson: line (\d+), column (\d+): (.*)$`) })

// syntax converts an error of hujson.
func syntax(err error) error {
	const expected = "; expected JSON, in which comments and trailing commas are allowed"
	m := syntaxAt().FindStringSubmatch(err.Error())
	if m == nil {
		return errors.New(err.Error() + expected)
	}
	line, err1 := strconv.Atoi(m[1])
	column, err2 := strconv.Atoi(m[2])
	if err := errors.Join(err1, err2); err != nil {
		return errors.New(m[0] + expected)
	}
	return &Error{Line: line, Column: column, Text: m[3] + expected}
}

// located adds its position to an error about valid JSON of another form.
func located(src []byte, err error) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) || int(kind.Offset) > len(src) {
		return fmt.Errorf("not a list of servers: %w", err)
	}
	field := kind.Field
	if field == "" {
		field = "the whole"
	}
	value, _, _ := strings.Cut(kind.Value, " ") // without a number itself
	return &Error{Line: 1 + bytes.Count(src[:kind.Offset], []byte("\n")), Text: fmt.Sprintf("%s: expected %s, not %s", field, expectedKind(kind), value)}
}

func expectedKind(e *json.UnmarshalTypeError) string {
	switch e.Type.Kind().String() {
	case "map", "struct":
		return "an object"
	case "slice":
		return "a list"
	case "bool":
		return "true or false"
	}
	return "a " + e.Type.Kind().String()
}

// join makes a path absolute, from the project.
func (l *list) join(p string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(p), "~/"); ok && l.from.Home != "" {
		return filepath.Join(l.from.Home, rest)
	}
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(l.workspace, p)
}
