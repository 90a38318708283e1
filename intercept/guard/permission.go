package guard

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hostsup/hostsup/internal/nearest"
)

// Permission is something that a host may be allowed to ask for, by its name in
// a manifest.
type Permission string

// The permissions.
const (
	FileSystemRead              Permission = "fileSystem.read"
	FileSystemWrite             Permission = "fileSystem.write"
	FileSystemDelete            Permission = "fileSystem.delete"
	WorkspaceRead               Permission = "workspace.read"
	WorkspaceWrite              Permission = "workspace.write"
	WorkspaceExecute            Permission = "workspace.execute"
	NetworkHTTP                 Permission = "network.http"
	NetworkHTTPS                Permission = "network.https"
	NetworkWebSocket            Permission = "network.webSocket"
	ClipboardRead               Permission = "clipboard.read"
	ClipboardWrite              Permission = "clipboard.write"
	SecretsRead                 Permission = "secrets.read"
	SecretsWrite                Permission = "secrets.write"
	UINotifications             Permission = "ui.notifications"
	UIDialogs                   Permission = "ui.dialogs"
	UIQuickPick                 Permission = "ui.quickPick"
	TextEditorRead              Permission = "textEditor.read"
	TextEditorWrite             Permission = "textEditor.write"
	TextEditorSelection         Permission = "textEditor.selection"
	DebugStart                  Permission = "debug.start"
	DebugStop                   Permission = "debug.stop"
	DebugBreakpoints            Permission = "debug.breakpoints"
	TerminalCreate              Permission = "terminal.create"
	TerminalSend                Permission = "terminal.send"
	TasksExecute                Permission = "tasks.execute"
	CommandsExecute             Permission = "commands.execute"
	AuthenticationGetSession    Permission = "authentication.getSession"
	AuthenticationCreateSession Permission = "authentication.createSession"
)

var permissions = []Permission{
	FileSystemRead, FileSystemWrite, FileSystemDelete,
	WorkspaceRead, WorkspaceWrite, WorkspaceExecute,
	NetworkHTTP, NetworkHTTPS, NetworkWebSocket,
	ClipboardRead, ClipboardWrite,
	SecretsRead, SecretsWrite,
	UINotifications, UIDialogs, UIQuickPick,
	TextEditorRead, TextEditorWrite, TextEditorSelection,
	DebugStart, DebugStop, DebugBreakpoints,
	TerminalCreate, TerminalSend,
	TasksExecute,
	CommandsExecute,
	AuthenticationGetSession, AuthenticationCreateSession,
}

// ErrUnknownPermission is wrapped by what [ParsePermission] returns for a name
// that is none.
var ErrUnknownPermission = errors.New("no such permission")

// ParsePermission returns the permission of a name, which has to be exact. The
// error names what was given and, where there is one, the permission that is
// nearest to it.
func ParsePermission(name string) (Permission, error) {
	if slices.Contains(permissions, Permission(name)) {
		return Permission(name), nil
	}
	names := make([]string, len(permissions))
	for i, p := range permissions {
		names[i] = string(p)
	}
	if near := nearest.Question(name, names); near != "" {
		return "", fmt.Errorf("%w: %.64q; %s", ErrUnknownPermission, name, near)
	}
	return "", fmt.Errorf("%w: %.64q", ErrUnknownPermission, name)
}

// ErrDenied is wrapped by a *[DeniedError].
var ErrDenied = errors.New("permission denied")

// DeniedError says that a request takes a permission that was not granted.
type DeniedError struct {
	Method     string
	Permission Permission
}

// Error returns a line such as
// `permission denied: "workspace/applyEdit" takes workspace.write, which is not granted`.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%v: %.64q takes %s, which is not granted", ErrDenied, e.Method, e.Permission)
}

// Unwrap returns [ErrDenied].
func (e *DeniedError) Unwrap() error { return ErrDenied }

// Grants are the permissions that a host was given. The zero value has none.
type Grants struct {
	rules   *Rules
	granted map[Permission]bool
}

// ParseGrants returns what a list of names grants under rules; nil rules are
// the default ones. Each unknown name is an error of its own, joined. A name that
// stands there twice is no harm.
func ParseGrants(names []string, rules *Rules) (Grants, error) {
	g := Grants{rules: rules, granted: make(map[Permission]bool, len(names))}
	var errs []error
	for _, name := range names {
		p, err := ParsePermission(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g.granted[p] = true
	}
	if len(errs) > 0 {
		return Grants{}, errors.Join(errs...)
	}
	return g, nil
}

// Check returns a *[DeniedError] when method takes a permission that was not
// granted.
func (g Grants) Check(method string) error {
	rules := g.rules
	if rules == nil {
		rules = defaults()
	}
	if p, takes := rules.Permission(method); takes && !g.granted[p] {
		return &DeniedError{method, p}
	}
	return nil
}
