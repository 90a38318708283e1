package plan

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/blame"
	"github.com/hostsup/hostsup/extensions/manifest"
)

// Spec specifies the extensions of a host and how they are managed. A host with
// extensions is started at the first event that one of them declares, unless it is
// Eager.
type Spec struct {
	Folders   []manifest.Root // folders with extensions
	Disabled  []string        // ids of extensions that are known but never activated
	Affinity  map[string]int  // ids to numbers from 1 on; the same number is the same host, "name-2" for 2
	Events    []string        // activation events that are requested at the start, besides "*"
	Workspace []string        // folders for workspaceContains events
	Blame     blame.Rules     // when an extension is isolated
	Startup   time.Duration   // the longest that onStartupFinished waits for the rest of the startup; default 10 s
	Eager     bool            // the host is started with the supervisor, without an event

	// Declared lists the extensions of a host of protocol hostsup, so that they are
	// known before it runs. The host announces lists that are nil and a version that is
	// empty. If Declared is empty, the host announces all extensions: there are none
	// until it has been started, because it is Eager or by a person.
	Declared   []codec.Announced
	Deactivate time.Duration // how long an extension may take to end before its host is restarted; default 5 s

	// MCP serves the extensions as tools to MCP clients that attach to the host; nil: no client can.
	// It has an effect for hosts of protocol vscode only.
	MCP *MCP

	// LSP serves the extensions as a language server to clients that attach to the host; nil: no client
	// can. It has an effect for hosts of protocol vscode only. With MCP
	// too, the first byte of a client decides.
	LSP *LSP

	// NoProfiles disables CPU profiles of hanging hosts, and notes of their calls. A profile shows which
	// extension uses the processor; the inspector of the host's node is open meanwhile.
	NoProfiles bool
}

// MCP selects what extensions offer to MCP clients. In a pattern, * stands for any text, also with
// dots.
type MCP struct {
	Commands []string // patterns of the ids of commands; none: no commands
	Tools    []string // patterns of the names of language model tools; nil: all
	// Languages makes the language features of the extensions tools: hover, definition, references and
	// others, for files in the workspace folders. They read, and return edits without making them.
	Languages bool
}

// LSP selects what LSP clients can do besides asking about documents. In a pattern, * stands for any text,
// also with dots.
type LSP struct {
	Commands []string // patterns of the ids of commands; nil: those only that extensions offer with code actions, lenses and completions
}

// The names of the protocols whose hosts can have extensions.
const (
	VSCode  = "vscode"  // extensions in folders
	Hostsup = "hostsup" // extensions that the host announces
)

// Can reports whether hosts of a protocol can have extensions.
func Can(protocol string) bool { return protocol == VSCode || protocol == Hostsup }

// Validate reports all mistakes in a spec for a host of a protocol (by its name),
// joined in one error.
func (s *Spec) Validate(protocol string) error {
	if s == nil {
		return nil
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case !Can(protocol):
		bad("only hosts of protocol %s or %s have extensions that can be told apart", Hostsup, VSCode)
	case protocol == Hostsup && len(s.Folders) > 0:
		bad("hosts of protocol %s have no folders of extensions", Hostsup)
	case protocol == VSCode && len(s.Declared) > 0:
		bad("the extensions of hosts of protocol %s are found in folders, not declared", VSCode)
	}
	for _, r := range s.Folders {
		if r.Dir == "" {
			bad("a folder has no path")
		}
		if !slices.Contains([]extensions.Origin{"", extensions.Builtin, extensions.User, extensions.Development}, r.Origin) {
			bad("folder %q: origin %q is unknown; expected builtin, user or development", r.Dir, r.Origin)
		}
	}
	id := func(what, text string) {
		if !extensions.MakeID(text).Valid() {
			bad("%s: %q is not an extension id; expected publisher.name", what, text)
		}
	}
	seen := map[extensions.ID]bool{}
	for _, d := range s.Declared {
		id("declared", d.ID)
		for _, on := range d.DependsOn {
			id("declared "+d.ID+": depends_on", on)
		}
		if seen[extensions.MakeID(d.ID)] {
			bad("declared: %q is listed twice", d.ID)
		}
		seen[extensions.MakeID(d.ID)] = true
		if slices.Contains(d.Events, "") || slices.Contains(d.Methods, "") {
			bad("declared %q: an event or a method is empty", d.ID)
		}
	}
	for _, text := range s.Disabled {
		id("disabled", text)
	}
	for text, n := range s.Affinity {
		if id("affinity", text); n < 1 {
			bad("affinity of %q: %d; expected at least 1", text, n)
		}
	}
	if slices.Contains(s.Events, "") {
		bad("an event is empty")
	}
	for _, dir := range s.Workspace {
		if !filepath.IsAbs(dir) {
			bad("workspace: %q is not an absolute path", dir)
		}
	}
	for what, n := range map[string]int64{"window": int64(s.Blame.Window), "quiet": int64(s.Blame.Quiet), "max_lives": int64(s.Blame.MaxLives), "startup": int64(s.Startup), "deactivate": int64(s.Deactivate)} {
		if n < 0 {
			bad("%s: it is negative", what)
		}
	}
	return errors.Join(errs...)
}
