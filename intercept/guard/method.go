package guard

import (
	"fmt"
	"strings"
	"sync"
)

// Rule says that the methods of a pattern take a permission. A pattern is a
// method's own name, or ends in *, which stands for any rest, also none. In
// patterns and in methods / and . are the same, and a $ in front is
// nothing: "fileSystem/read" is "fileSystem.read".
type Rule struct {
	Method     string
	Permission Permission
}

// Rules decide which permission a method takes: the pattern that is most
// specific does, a whole name before the longest pattern with a *.
type Rules struct {
	names    map[string]Permission
	prefixes map[string]Permission // without the *
}

// NewRules returns rules. A pattern that is empty, has a * elsewhere than at
// its end or stands there twice with different permissions is an error, and so
// is a permission that is none.
func NewRules(list []Rule) (*Rules, error) {
	r := &Rules{names: make(map[string]Permission), prefixes: make(map[string]Permission)}
	for _, rule := range list {
		if _, err := ParsePermission(string(rule.Permission)); err != nil {
			return nil, fmt.Errorf("method %q: %w", rule.Method, err)
		}
		name, pattern := strings.CutSuffix(plain(rule.Method), "*")
		if rule.Method == "" || strings.Contains(name, "*") {
			return nil, fmt.Errorf("method %q: not a name, nor a beginning with a * behind it", rule.Method)
		}
		into := r.names
		if pattern {
			into = r.prefixes
		}
		if other, twice := into[name]; twice && other != rule.Permission {
			return nil, fmt.Errorf("method %q: takes %s and %s", rule.Method, other, rule.Permission)
		}
		into[name] = rule.Permission
	}
	return r, nil
}

// Permission returns what a method takes; false: nothing.
func (r *Rules) Permission(method string) (Permission, bool) {
	method = plain(method)
	if p, found := r.names[method]; found {
		return p, true
	}
	for end := len(method); end >= 0; end-- {
		if p, found := r.prefixes[method[:end]]; found {
			return p, true
		}
	}
	return "", false
}

// plain makes one spelling of the many that a method's name has.
func plain(method string) string {
	return strings.TrimPrefix(strings.ReplaceAll(method, "/", "."), "$")
}

// more are the methods that are not named as their permission is.
var more = []Rule{
	// The interface that extensions program against.
	{"fs.readFile", FileSystemRead},
	{"fs.readDirectory", FileSystemRead},
	{"fs.stat", FileSystemRead},
	{"fs.exists", FileSystemRead},
	{"fs.watch*", FileSystemRead},
	{"fs.writeFile", FileSystemWrite},
	{"fs.createDirectory", FileSystemWrite},
	{"fs.copy", FileSystemWrite},
	{"fs.rename", FileSystemWrite},
	{"fs.delete", FileSystemDelete},
	{"workspace.fs.readFile", FileSystemRead},
	{"workspace.fs.readDirectory", FileSystemRead},
	{"workspace.fs.stat", FileSystemRead},
	{"workspace.fs.writeFile", FileSystemWrite},
	{"workspace.fs.createDirectory", FileSystemWrite},
	{"workspace.fs.copy", FileSystemWrite},
	{"workspace.fs.rename", FileSystemWrite},
	{"workspace.fs.delete", FileSystemDelete},
	{"workspace.findFiles", WorkspaceRead},
	{"workspace.getConfiguration", WorkspaceRead},
	{"workspace.openTextDocument", WorkspaceRead},
	{"workspace.updateConfiguration", WorkspaceWrite},
	{"workspace.updateWorkspaceFolders", WorkspaceWrite},
	{"workspace.saveAll", WorkspaceWrite},
	{"network.fetch", NetworkHTTPS},
	{"env.clipboard.readText", ClipboardRead},
	{"env.clipboard.writeText", ClipboardWrite},
	{"clipboard.readText", ClipboardRead},
	{"clipboard.writeText", ClipboardWrite},
	{"secrets.get", SecretsRead},
	{"secrets.store", SecretsWrite},
	{"secrets.set", SecretsWrite},
	{"secrets.delete", SecretsWrite},
	{"window.showInformationMessage", UINotifications},
	{"window.showWarningMessage", UINotifications},
	{"window.showErrorMessage", UINotifications},
	{"window.showInputBox", UIDialogs},
	{"window.showOpenDialog", UIDialogs},
	{"window.showSaveDialog", UIDialogs},
	{"window.showQuickPick", UIQuickPick},
	{"window.createTerminal", TerminalCreate},
	{"textEditor.edit", TextEditorWrite},
	{"textEditor.insert*", TextEditorWrite},
	{"textEditor.setSelection*", TextEditorSelection},
	{"debug.startDebugging", DebugStart},
	{"debug.stopDebugging", DebugStop},
	{"debug.addBreakpoints", DebugBreakpoints},
	{"debug.removeBreakpoints", DebugBreakpoints},
	{"terminal.sendText", TerminalSend},
	{"tasks.executeTask", TasksExecute},
	{"commands.executeCommand", CommandsExecute},

	// Extension hosts of VS Code.
	{"MainThreadSecretState.$getPassword", SecretsRead},
	{"MainThreadSecretState.$getKeys", SecretsRead},
	{"MainThreadSecretState.$setPassword", SecretsWrite},
	{"MainThreadSecretState.$deletePassword", SecretsWrite},

	// Language servers.
	{"workspace/applyEdit", WorkspaceWrite},
	{"workspace/configuration", WorkspaceRead},
	{"workspace/workspaceFolders", WorkspaceRead},
	{"workspace/textDocumentContent*", WorkspaceRead},
	{"window/showMessage*", UINotifications},
	{"window/showDocument", UIDialogs},

	// Servers of the model context protocol.
	{"roots/list", WorkspaceRead},
	{"elicitation/create", UIDialogs},
}

var defaults = sync.OnceValue(func() *Rules {
	r, err := NewRules(DefaultRules())
	if err != nil {
		panic(err) // the table above is wrong, which its test says
	}
	return r
})

// DefaultRules returns the methods that take a permission where nothing else
// was said: a permission's own name and what is below it ("fileSystem.read",
// "fileSystem.read.text"), and those of the protocols that hosts speak whose
// names differ.
func DefaultRules() []Rule {
	out := make([]Rule, 0, 2*len(permissions)+len(more))
	for _, p := range permissions {
		out = append(out, Rule{string(p), p}, Rule{string(p) + ".*", p})
	}
	return append(out, more...)
}
