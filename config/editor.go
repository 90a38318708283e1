package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hostsup/hostsup/extensions/vscode"
)

// vscodeProtocol is the name of the protocol whose hosts belong to an editor.
const vscodeProtocol = "vscode"

// editorDecl holds the settings that a host of VS Code would get from its editor.
type editorDecl struct {
	untrusted    bool
	settings     map[string]any
	settingsFile string
	storage      string
	accounts     map[string][]string
	ask          asking
	questions    vscode.Questions
}

func newEditorDecl() editorDecl {
	return editorDecl{ask: dismissQuestions, questions: vscode.Questions{Wait: 5 * time.Minute}}
}

// asking is what becomes of questions that no question block decides.
type asking string

// Values of asking.
const (
	dismissQuestions asking = "dismiss"
	askQuestions     asking = "ask"
)

// reconnectDecl is a reconnect block.
type reconnectDecl struct{ grace time.Duration }

func newReconnectDecl() reconnectDecl { return reconnectDecl{grace: vscode.DefaultGrace} }

func reconnectSection(d *reconnectDecl) section {
	return section{
		name: "reconnect", doc: "Passes a host of VS Code its sockets, so that a broken one is replaced and nothing is lost.", speaks: true,
		settings: []setting{
			named("grace", "how long a host may be without a working socket before its life ends", duration(&d.grace, nil)),
		},
	}
}

// reconnecting refuses a reconnect block that has no effect.
func (r *reader) reconnecting(d *hostDecl) {
	if at, set := d.at["reconnect"]; set && d.spec.Protocol != nil && d.protocol != vscodeProtocol {
		r.fail(at, `block "reconnect" has no meaning here`, "Only hosts with protocol = %q receive sockets, not %q. Remove it.", vscodeProtocol, d.protocol)
	}
}

// editor returns the options of protocol vscode.
func (r *reader) editor(d *hostDecl) vscode.Options {
	e := &d.extensions.editor
	_, reconnect := d.at["reconnect"]
	_, confined := d.at["sandbox"] // it cannot reach the supervisor's sockets
	opt := vscode.Options{
		Root: r.build(d), State: e.storage, Name: d.spec.Name, Reconnect: reconnect || confined, Grace: d.reconnect.grace,
		SettingsFile: e.settingsFile, Settings: e.settings, Accounts: e.accounts, Questions: e.questions,
	}
	opt.Questions.Ask = e.ask == askQuestions
	if folders := d.extensions.spec.Workspace; len(folders) > 0 {
		opt.Workspace = &vscode.Workspace{Folders: folders, Untrusted: e.untrusted}
	}
	return opt
}

// build returns the folder of the VS Code build that a host's command starts.
func (r *reader) build(d *hostDecl) string {
	root, ok := vscode.Root(d.spec.Command)
	if at, set := d.at["command"]; !ok && set && d.protocol == vscodeProtocol && d.sound("command") {
		r.fail(at, "no extension host of VS Code", "With protocol %q one of the arguments is the host's program, …/out/bootstrap-fork.js of an installed build, and another one --type=extensionHost.", d.protocol)
	}
	if ok && !filepath.IsAbs(root) && d.spec.Dir != "" {
		root = filepath.Join(d.spec.Dir, root) // as the program resolves it
	}
	return root
}

// storing grants a confined host of VS Code what it cannot work without: its build,
// its extensions, and their storage.
func (r *reader) storing(d *hostDecl) {
	if _, confined := d.at["sandbox"]; !confined || d.protocol != vscodeProtocol || d.speech.editor.Root == "" {
		return
	}
	p := &d.confinement.policy
	read, write := d.speech.editor.Grants(d.spec.Name)
	read[0] = "-" + read[0] // the start reports a missing build
	p.Read, p.Write = append(p.Read, read...), append(p.Write, write...)
	for _, f := range d.extensions.spec.Folders {
		p.Read = append(p.Read, "-"+f.Dir)
	}
}

// accountUsers reads ids of extensions by providers of accounts.
func accountUsers(dst *map[string][]string) setting {
	const expect = `a map of providers to lists of ids such as { "github" = ["golang.go"] }`
	return setting{expect: expect,
		read: func(g given) {
			entries, _ := g.entries(expect)
			out := make(map[string][]string, len(entries))
			for _, e := range entries {
				if e.key == "" {
					g.fail(e.keyRng, "no provider", "The id of a provider is empty.")
					continue
				}
				var ids []string
				extensionIDs(&ids).read(e.given)
				out[e.key] = ids
			}
			*dst = out
		},
		show: func() string {
			var parts []string
			for _, id := range slices.Sorted(maps.Keys(*dst)) {
				parts = append(parts, fmt.Sprintf("%q = %s", id, showStrings((*dst)[id])))
			}
			if parts == nil {
				return ""
			}
			return "{ " + strings.Join(parts, ", ") + " }"
		},
	}
}

// editorSettings reads settings of an editor.
func editorSettings(dst *map[string]any) setting {
	const expect = `a map such as { "editor.tabSize" = 2 }`
	return setting{expect: expect,
		read: func(g given) {
			if _, ok := g.entries(expect); !ok {
				return
			}
			v, err := goValue(g.val)
			if err != nil {
				g.bad("%s.", upperFirst(err.Error()))
				return
			}
			settings, ok := v.(map[string]any)
			if _, empty := settings[""]; !ok || empty {
				g.bad("The name of a setting is empty.")
				return
			}
			*dst = settings
		},
		show: func() string {
			if *dst == nil {
				return ""
			}
			text, err := json.Marshal(*dst)
			if err != nil { // goValue returns only values that can be encoded
				return ""
			}
			return string(text)
		},
	}
}

// checkSettings warns of a settings file with which a host could not be started now.
func checkSettings(g given, path string) {
	if g.stat == nil {
		return
	}
	switch _, err := vscode.ReadSettings(path); {
	case err == nil:
	case g.isMissing(path):
		g.warn(g.rng, "file does not exist", "There is no %s (yet). The host cannot start until that changes.", path)
	case !errors.Is(err, fs.ErrNotExist):
		g.warn(g.rng, "file cannot be used", "%s. The host cannot start until that changes.", upperFirst(err.Error()))
	}
}
