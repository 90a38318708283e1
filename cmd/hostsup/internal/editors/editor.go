package editors

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hostsup/hostsup/internal/jsonedit"
)

// ErrUnsafe means that a file cannot be changed without losing something in it.
var ErrUnsafe = jsonedit.ErrUnsafe

// Editor is an editor or agent whose side can be written.
type Editor string

// The editors.
const (
	Neovim Editor = "nvim"
	VSCode Editor = "vscode"
	Zed    Editor = "zed"
	Claude Editor = "claude"
	Cursor Editor = "cursor"
)

// Names returns the names of all editors.
func Names() []string {
	return []string{string(Neovim), string(VSCode), string(Zed), string(Claude), string(Cursor)}
}

// Where says in which file the side of an editor belongs.
func (e Editor) Where() string {
	switch e {
	case Neovim:
		return "init.lua, or a file of its own in the folder plugin of Neovim's configuration"
	case VSCode:
		return ".vscode/mcp.json of the project"
	case Zed:
		return "Zed's settings.json"
	case Claude:
		return ".mcp.json of the project, or claude_desktop_config.json"
	}
	return ".cursor/mcp.json of the project, or ~/.cursor/mcp.json"
}

// Host is a host that an editor is to use.
type Host struct {
	Name     string
	Known    string   // the name of a known server; "" if it is none
	Language bool     // a language server, not an MCP server
	Attach   []string // the command that attaches to it
}

// setting is a value at a path of names in a JSON file.
type setting struct {
	path  []string
	value any
}

// stdio is an entry of a list of MCP servers.
type stdio struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
}

// binary is the program of a language server in Zed.
type binary struct {
	Path      string   `json:"path"`
	Arguments []string `json:"arguments"`
}

// fits reports whether an editor can use a host by its settings, or why it cannot.
func (e Editor) fits(h Host) (bool, string) {
	switch {
	case e == Zed, h.Language == (e == Neovim):
		return true, ""
	case e == Neovim:
		return false, "it is an MCP server, which Neovim itself does not use"
	case e == VSCode:
		return false, "it is a language server, which VS Code runs by its extension alone: set the path of its program in the settings of that extension"
	}
	return false, "it is a language server, which an agent does not use"
}

// settings returns what a JSON file is to have.
func (e Editor) settings(hosts []Host) []setting {
	var out []setting
	for _, h := range hosts {
		entry := stdio{Command: h.Attach[0], Args: h.Attach[1:]}
		switch {
		case e == Zed && h.Language:
			name := h.Name
			if k, ok := languages[h.Known]; ok && k.zed != "" {
				name = k.zed
			}
			out = append(out, setting{[]string{"lsp", name, "binary"}, binary{h.Attach[0], h.Attach[1:]}})
		case e == Zed:
			out = append(out, setting{[]string{"context_servers", h.Name}, entry})
		case e == VSCode:
			entry.Type = "stdio"
			out = append(out, setting{[]string{"servers", h.Name}, entry})
		default:
			out = append(out, setting{[]string{"mcpServers", h.Name}, entry})
		}
	}
	return out
}

// choose separates the hosts that the editor can use from the others, with the reasons.
func (e Editor) choose(hosts []Host) (fit []Host, left []string) {
	for _, h := range hosts {
		if ok, why := e.fits(h); ok {
			fit = append(fit, h)
		} else {
			left = append(left, h.Name+": "+why)
		}
	}
	return fit, left
}

// Show returns the text to add to the file of an editor, "" if it can use none of the
// hosts. left names those that it cannot use.
func Show(e Editor, hosts []Host) (text string, left []string, err error) {
	fit, left := e.choose(hosts)
	if len(fit) == 0 {
		return "", left, nil
	}
	if e == Neovim {
		return lua(fit), left, nil
	}
	out := []byte("{}\n")
	if out, err = e.patchJSON(out, fit); err != nil {
		return "", left, err
	}
	return string(out), left, nil
}

// Patch returns the file of an editor with the hosts in it, and src itself if they are
// there already. An empty src is a new file. The error for a file that is not what it
// is to be names the line; it wraps [ErrUnsafe] if text would be lost.
func Patch(e Editor, src []byte, hosts []Host) (out []byte, left []string, err error) {
	fit, left := e.choose(hosts)
	if len(fit) == 0 {
		return src, left, nil
	}
	if e == Neovim {
		out, err = patchLua(src, lua(fit))
		return out, left, err
	}
	if len(bytes.TrimSpace(src)) == 0 {
		src = []byte("{}\n")
	}
	out, err = e.patchJSON(src, fit)
	return out, left, err
}

func (e Editor) patchJSON(src []byte, hosts []Host) ([]byte, error) {
	out := src
	for _, s := range e.settings(hosts) {
		var err error
		if out, err = jsonedit.Set(out, s.path, s.value); err != nil {
			return nil, fmt.Errorf("%s: %w", strings.Join(s.path, "."), err)
		}
	}
	return out, nil
}

// quoteLua writes a string of Lua.
func quoteLua(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03d`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func luaList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quoteLua(s)
	}
	if len(quoted) == 0 {
		return "{}"
	}
	return "{ " + strings.Join(quoted, ", ") + " }"
}
