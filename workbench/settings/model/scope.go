package model

import (
	"slices"
	"strings"
)

// Scope is where a setting may be set, as extensions declare it.
type Scope string

// Scopes.
const (
	Application         Scope = "application"         // by the user only
	Machine             Scope = "machine"             // by the user only, for one machine
	ApplicationMachine  Scope = "application-machine" // by the user only
	Window              Scope = "window"              // by the user and the workspace; the default
	Resource            Scope = "resource"            // also by a folder
	LanguageOverridable Scope = "language-overridable"
	MachineOverridable  Scope = "machine-overridable"
)

func (s Scope) known() bool {
	return slices.Contains([]Scope{Application, Machine, ApplicationMachine, Window, Resource, LanguageOverridable, MachineOverridable}, s)
}

// InWorkspace reports whether a workspace may set it.
func (s Scope) InWorkspace() bool {
	return s != Application && s != Machine && s != ApplicationMachine
}

// InFolder reports whether a folder of several may set it.
func (s Scope) InFolder() bool {
	return s == Resource || s == LanguageOverridable || s == MachineOverridable
}

// sections have the scopes of the settings of VS Code itself. It has more than a thousand of them,
// of which this editor knows the sections only, so that extensions may set any of them.
var sections = map[string]Scope{
	"editor": LanguageOverridable, "diffEditor": LanguageOverridable, "files": Resource, "search": Resource,
	"breadcrumbs": LanguageOverridable, "outline": LanguageOverridable,
	"accessibility": Window, "chat": Window, "comments": Window, "debug": Window, "explorer": Window,
	"extensions": Window, "http": Window, "inlineChat": Window, "interactiveWindow": Window, "keyboard": Window, "launch": Resource,
	"mcp": Window, "notebook": Window, "output": Window, "problems": Window, "remote": Window, "scm": Window,
	"screencastMode": Window, "security": Application, "settingsSync": Application, "task": Resource, "tasks": Resource,
	"telemetry": Application, "terminal": Window, "testing": Window, "timeline": Window, "update": Application,
	"window": Window, "workbench": Window, "zenMode": Window,
}

// overridable are settings of sections whose scope is another.
var overridable = map[string]Scope{
	"files.autoGuessEncoding": LanguageOverridable, "files.autoSave": LanguageOverridable, "files.autoSaveDelay": LanguageOverridable,
	"files.candidateGuessEncodings": LanguageOverridable, "files.encoding": LanguageOverridable, "files.eol": LanguageOverridable,
	"files.insertFinalNewline": LanguageOverridable, "files.trimFinalNewlines": LanguageOverridable,
	"files.trimTrailingWhitespace": LanguageOverridable, "files.trimTrailingWhitespaceInRegexAndStrings": LanguageOverridable,
	"files.associations": Window, "window.zoomLevel": Application, "http.proxy": ApplicationMachine,
}

// Own returns the scope of a setting of VS Code itself; false if name is in no section of it.
func Own(name string) (Scope, bool) {
	if s, ok := overridable[name]; ok {
		return s, true
	}
	section, _, dotted := strings.Cut(name, ".")
	s, ok := sections[section]
	return s, ok && (dotted || section == "launch" || section == "tasks")
}

// OwnDefaults returns the defaults of VS Code's own settings that extensions and this editor
// rely on. It is a fresh map.
func OwnDefaults() map[string]any {
	return map[string]any{
		"editor.tabSize": 4.0, "editor.insertSpaces": true, "editor.detectIndentation": true, "editor.indentSize": "tabSize",
		"editor.formatOnSave": false, "editor.formatOnSaveTimeout": 750.0, "editor.wordSeparators": "`~!@#$%^&*()-=+[{]}\\|;:'\",.<>/?",
		"files.encoding": "utf8", "files.autoGuessEncoding": false, "files.candidateGuessEncodings": []any{}, "files.eol": "auto",
		"files.autoSave": "off", "files.insertFinalNewline": false, "files.trimFinalNewlines": false, "files.trimTrailingWhitespace": false,
		"files.associations": map[string]any{}, "files.enableTrash": true, "files.participants.timeout": 60000.0,
		"files.exclude": map[string]any{
			"**/.git": true, "**/.svn": true, "**/.hg": true, "**/.DS_Store": true, "**/Thumbs.db": true,
		},
		"files.watcherExclude": map[string]any{
			"**/.git/objects/**": true, "**/.git/subtree-cache/**": true, "**/.hg/store/**": true,
		},
		"files.watcherInclude": []any{}, "files.readonlyInclude": map[string]any{}, "files.readonlyExclude": map[string]any{},
		"search.exclude":        map[string]any{"**/node_modules": true, "**/bower_components": true, "**/*.code-search": true},
		"search.useIgnoreFiles": true, "search.useParentIgnoreFiles": false, "search.useGlobalIgnoreFiles": false,
		"search.followSymlinks": true,
	}
}
