package lists

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Program is a program that keeps a list of servers. "" is an unknown one.
type Program string

// The programs.
const (
	Claude        Program = "claude"         // Claude Code
	ClaudeDesktop Program = "claude-desktop" // Claude's desktop application
	Codex         Program = "codex"
	Cursor        Program = "cursor"
	Gemini        Program = "gemini"
	OpenCode      Program = "opencode"
	VSCode        Program = "vscode"
	Zed           Program = "zed"
)

// Programs returns the known programs, sorted.
func Programs() []string {
	var out []string
	for p := range dialects {
		if p != "" {
			out = append(out, string(p))
		}
	}
	slices.Sort(out)
	return out
}

// dialect is what a program replaces in its list.
type dialect struct {
	env     bool // ${env:X}
	braces  bool // ${X} and ${X:-default}
	dollar  bool // $X anywhere
	whole   bool // a value that is $X alone
	curly   bool // {env:X}
	folders bool // ${workspaceFolder}, ${userHome} and the like
	inputs  bool // ${input:ID}
}

// dialects holds what each program replaces. An unknown program may be any that keeps
// "mcpServers".
var dialects = map[Program]dialect{
	"":            {env: true, braces: true, whole: true, folders: true},
	Claude:        {braces: true},
	ClaudeDesktop: {},
	Codex:         {},
	Cursor:        {env: true, folders: true},
	Gemini:        {braces: true, dollar: true},
	OpenCode:      {curly: true},
	VSCode:        {env: true, folders: true, inputs: true},
	Zed:           {},
}

// Guess returns the program that a file belongs to by its path, "" if that does not
// show it.
func Guess(file string) Program {
	file = filepath.ToSlash(file)
	base, dir := path.Base(file), path.Base(path.Dir(file))
	switch {
	case base == "claude_desktop_config.json":
		return ClaudeDesktop
	case base == ".mcp.json" || base == ".claude.json":
		return Claude
	case dir == ".cursor":
		return Cursor
	case dir == ".vscode" || dir == "User" && base == "mcp.json":
		return VSCode
	case dir == ".gemini":
		return Gemini
	case strings.EqualFold(dir, ".zed") || dir == "zed" && base == "settings.json":
		return Zed
	case base == "opencode.json" || base == "opencode.jsonc":
		return OpenCode
	case dir == ".codex" || strings.HasSuffix(base, ".toml"):
		return Codex
	}
	return ""
}

// Folders are the folders in which programs keep their files.
type Folders struct {
	Project string // of the project, absolute
	Home    string // of the user
	Config  string // of the user's configuration, as os.UserConfigDir returns it
	XDG     string // the same by the rules of XDG, also where the system has others
	Codex   string // CODEX_HOME, or "" for .codex in Home
}

// Files returns the paths at which a program may keep its list, those of the project
// before those of the user, as far as the folders are known.
func Files(p Program, f Folders) []string {
	var out []string
	add := func(folder string, elements ...string) {
		if folder != "" {
			out = append(out, filepath.Join(append([]string{folder}, elements...)...))
		}
	}
	switch p {
	case Claude:
		add(f.Project, ".mcp.json")
		add(f.Home, ".claude.json")
	case ClaudeDesktop:
		add(f.Config, "Claude", "claude_desktop_config.json")
	case Codex:
		add(f.Project, ".codex", "config.toml")
		if f.Codex != "" {
			add(f.Codex, "config.toml")
		} else {
			add(f.Home, ".codex", "config.toml")
		}
	case Cursor:
		add(f.Project, ".cursor", "mcp.json")
		add(f.Home, ".cursor", "mcp.json")
	case Gemini:
		add(f.Project, ".gemini", "settings.json")
		add(f.Home, ".gemini", "settings.json")
	case OpenCode:
		add(f.Project, "opencode.json")
		add(f.Project, "opencode.jsonc")
		add(f.XDG, "opencode", "opencode.json")
		add(f.XDG, "opencode", "opencode.jsonc")
	case VSCode:
		add(f.Project, ".vscode", "mcp.json")
		add(f.Config, "Code", "User", "mcp.json")
	case Zed:
		add(f.Project, ".zed", "settings.json")
		add(f.XDG, "zed", "settings.json")
	}
	return slices.Compact(out)
}

// workspace returns the folder of the project that a file belongs to, or dir if it
// belongs to the user.
func workspace(file, home, dir string) string {
	at := filepath.Dir(file)
	switch filepath.Base(at) {
	case ".cursor", ".vscode", ".gemini", ".zed", ".codex":
		at = filepath.Dir(at)
	default:
		if base := filepath.Base(file); base != ".mcp.json" && base != "opencode.json" && base != "opencode.jsonc" {
			return dir
		}
	}
	if !filepath.IsAbs(at) || at == filepath.Clean(home) {
		return dir
	}
	return at
}
