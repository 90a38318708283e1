package terminals

import (
	"context"
	"encoding/json"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/diagnostics"
	"github.com/hostsup/hostsup/workbench/tasks"
)

// Options of the service. The zero value is valid: what a function is missing for is refused, or is absent.
// The functions may be called at the same time.
type Options struct {
	// Folder returns the folder of terminals and tasks that name no other; "", the default, means that of
	// their host. It must not block.
	Folder func() string
	// Folders returns the folders of the workspace, for the variables of tasks. It must not block.
	Folders func() []string
	// Activate requests an activation event of the hosts and waits until the extensions that declare it
	// are active. nil: extensions are not activated for the tasks that they contribute.
	Activate func(ctx context.Context, event string) error
	// Files returns the tasks.json of the workspace as far as a host with this guard may read them, and why
	// one cannot be used.
	Files func(guard workbench.Guard) (files []*tasks.File, left []string)
	// Config returns the value of a setting in a folder, for the variables of tasks.
	Config func(name, folder string) any
	// Ask asks the user of a host for the input of a task. It reports whether there is an answer.
	Ask func(ctx context.Context, host string, in tasks.Input) (string, bool)
	// Execute executes a command of an extension, for the variables of tasks. args is a list, or nil.
	Execute func(ctx context.Context, id string, args json.RawMessage) (any, error)
	// Active returns the file of the active editor, for the variables of tasks; false without one. It must
	// not block.
	Active func() (Active, bool)
	// Problems gets what problem matchers find. nil: it is dropped.
	Problems Problems
	// IsOpen reports whether a document is open, for problem matchers. It must not block.
	IsOpen func(uri workbench.URI) bool
	// Exists reports whether there is a file that a host with this guard may read.
	Exists func(guard workbench.Guard, path string) bool
	// Log gets a line about a task that does not run as its file says. It must not block.
	Log func(line string)
}

// Problems has the problems in files. It must be safe for concurrent use, as [diagnostics.Service] is.
type Problems interface {
	// Report replaces the problems of an owner in a file.
	Report(owner string, uri workbench.URI, problems []diagnostics.Diagnostic) error
	// Withdraw takes away all problems of an owner.
	Withdraw(owner string)
}

// noProblems drops problems.
type noProblems struct{}

func (noProblems) Report(string, workbench.URI, []diagnostics.Diagnostic) error { return nil }
func (noProblems) Withdraw(string)                                              {}

// Active is the file of the active editor.
type Active struct {
	Path         string
	Line, Column int // of the cursor, from 1
	Selected     string
}

// withDefaults returns options with all functions.
func (o Options) withDefaults() Options {
	if o.Folder == nil {
		o.Folder = func() string { return "" }
	}
	if o.Folders == nil {
		o.Folders = func() []string { return nil }
	}
	if o.Files == nil {
		o.Files = func(workbench.Guard) ([]*tasks.File, []string) { return nil, nil }
	}
	if o.Config == nil {
		o.Config = func(string, string) any { return nil }
	}
	if o.Ask == nil {
		o.Ask = func(context.Context, string, tasks.Input) (string, bool) { return "", false }
	}
	if o.Execute == nil {
		o.Execute = func(_ context.Context, id string, _ json.RawMessage) (any, error) {
			return nil, workbench.NotSupported("tasks.executeTask", "the command "+id+" cannot be executed here")
		}
	}
	if o.Active == nil {
		o.Active = func() (Active, bool) { return Active{}, false }
	}
	if o.Problems == nil {
		o.Problems = noProblems{}
	}
	if o.IsOpen == nil {
		o.IsOpen = func(workbench.URI) bool { return false }
	}
	if o.Exists == nil {
		o.Exists = func(workbench.Guard, string) bool { return false }
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	return o
}
