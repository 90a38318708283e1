package vscode

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Options of the protocol.
type Options struct {
	// Root is the folder of the installed build, with product.json and out. It must
	// exist; see [Root] and [ReadBuild].
	Root string

	// State is the folder in which each host has a folder with its name for the data and
	// the logs of its extensions. The host makes it when it needs it. Default:
	// hostsup/vscode in the user's cache folder.
	State string

	// Name is the name of the folder below State; default: the host's. Hosts with the same
	// Name share the data of their extensions, and each has its own folder for logs there.
	// NOTE: an extension must not run in two of them at once. The folder is made when a
	// host starts; the policy of a confined host must let it write there.
	Name string

	// Reconnect makes the host receive its sockets over an inherited descriptor instead of
	// connecting to one: if a socket breaks while the host lives, another follows, and
	// both sides send again what the other has not received. Such a host needs no path
	// outside of its sandbox. Not on Windows.
	Reconnect bool

	// Grace is how long, with Reconnect, a host may be without a working socket before its
	// life ends. The host itself gives up after the same time if its build has the setting
	// (1.100 does not, and waits for 3 hours). Default: [DefaultGrace].
	Grace time.Duration

	// Folders are the folders of a host's extensions, each with its package.json.
	Folders []string

	// Extensions, if not nil, replaces Folders. It is called at each start of a host and
	// returns the value of the field "extensions" of the init data, with versionId,
	// allExtensions, activationEvents and myExtensions. It may be called concurrently.
	Extensions func(host string) (any, error)

	// Defaults are default values of settings. They override those that the host's
	// extensions contribute.
	Defaults map[string]any

	// Workspace is the workspace of the host; nil for none.
	Workspace *Workspace

	// SettingsFile is a settings file of VS Code; see [ReadSettings]. It is read at each
	// start of a host; an error fails the start.
	SettingsFile string

	// Settings are the user's settings by their full names, like "editor.tabSize". They
	// override those of SettingsFile. A name in brackets, like "[markdown]", has an object
	// of settings for that language.
	Settings map[string]any

	// Accounts has ids of extensions that may use accounts, by the id of the provider of the
	// accounts, as VS Code's user allows it. The extension that provides an account may use it too.
	Accounts map[string][]string

	// Questions decides what extensions ask the user.
	Questions Questions
}

// Questions decides what the extensions of a host ask the user with messages, lists, input boxes and
// dialogs. What nothing decides is dismissed.
type Questions struct {
	// Rules decide questions; the first one that matches.
	Rules []QuestionRule
	// Ask keeps questions that no rule decides open for clients, which answer them; see package
	// workbench/questions.
	Ask bool
	// Wait is how long such a question is open. Default: 5 minutes.
	Wait time.Duration
}

// QuestionRule decides the questions that it matches.
type QuestionRule struct {
	// Text is a pattern of the text of the question, in which * stands for any text. For a message it
	// is the message, alone or followed by a colon, a space and its detail; for others the title, the
	// prompt, the placeholder, or the label of the button.
	Text string
	// Extension is the id of the extension; "" for all. VS Code tells it for messages alone: another
	// question is that of the only extension that its life has activated, and matches no rule with an
	// id if there are several.
	Extension string
	// Answer is the label of an item, a text, or the absolute path of a file; "" with Dismiss.
	Answer string
	// Dismiss dismisses the question.
	Dismiss bool
}

// DefaultGrace is the default of [Options.Grace]: the time that hosts wait by default.
const DefaultGrace = 3 * time.Hour

func (o *Options) grace() time.Duration {
	if o.Grace <= 0 {
		return DefaultGrace
	}
	return o.Grace
}

// scanned describes the extensions in the folders of a host, as in the init data.
type scanned struct {
	Version int                 `json:"versionId"`
	All     []json.RawMessage   `json:"allExtensions"`
	Events  map[string][]string `json:"activationEvents"`
	Mine    []map[string]string `json:"myExtensions"`
}

// Workspace is a workspace of folders.
type Workspace struct {
	Name      string   // default: made of the folders' names
	Folders   []string // absolute paths
	Untrusted bool     // extensions are told that the user does not trust it
}

// Grants returns the paths that a confined host needs, for a sandbox policy: it reads its
// build, the packages that npm has installed beside the build, and the Folders of its
// extensions, and writes their data. Profile "node" has what its engine needs.
func (o Options) Grants(host string) (read, write []string) {
	read = append(read, o.Root)
	for dir := filepath.Dir(filepath.Clean(o.Root)); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if filepath.Base(dir) == "node_modules" {
			read = append(read, "-"+dir)
		} else {
			read = append(read, "-"+filepath.Join(dir, "node_modules"))
		}
	}
	return append(read, o.Folders...), []string{"-" + o.state(host)}
}

// state returns the folder of a host.
func (o *Options) state(host string) string {
	if o.Name != "" {
		host = o.Name
	}
	dir := o.State
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil { // no HOME
			cache = os.TempDir()
		}
		dir = filepath.Join(cache, "hostsup", "vscode")
	}
	return filepath.Join(dir, host)
}

// logs returns the folder of a host's logs.
func (o *Options) logs(host string) string {
	dir := filepath.Join(o.state(host), "logs")
	if o.Name != "" && o.Name != host {
		dir = filepath.Join(dir, host)
	}
	return dir
}

func (o *Options) extensions(host string) (any, error) {
	if o.Extensions != nil {
		return o.Extensions(host)
	}
	e := scanned{1, []json.RawMessage{}, map[string][]string{}, []map[string]string{}}
	for _, dir := range o.Folders {
		if err := e.add(dir); err != nil {
			return nil, err
		}
	}
	return e, nil
}

// maxManifest bounds the bytes of a package.json.
const maxManifest = 4 << 20

// add reads the manifest of an extension.
func (e *scanned) add(dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "package.json")
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Size() > maxManifest {
		return fmt.Errorf("%s: %d bytes, limit %d", path, info.Size(), maxManifest)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	var known struct {
		Publisher, Name  string
		ActivationEvents []string
		Contributes      struct{ Commands json.RawMessage }
	}
	if err := errors.Join(json.Unmarshal(text, &fields), json.Unmarshal(text, &known)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if known.Publisher == "" || known.Name == "" {
		return fmt.Errorf("%s: a publisher and a name expected", path)
	}
	id := known.Publisher + "." + known.Name
	description := make(map[string]any, len(fields)+8)
	for k, v := range fields {
		description[k] = v
	}
	description["id"], description["identifier"] = id, identity(id)
	description["extensionLocation"] = fileURI(dir)
	description["isBuiltin"], description["isUserBuiltin"], description["isUnderDevelopment"] = false, false, false
	description["targetPlatform"] = "undefined"
	events := append([]string{}, known.ActivationEvents...)
	for _, c := range commands(known.Contributes.Commands) {
		// A command that is contributed activates its extension.
		if event := "onCommand:" + c; !slices.Contains(events, event) {
			events = append(events, event)
		}
	}
	raw, err := json.Marshal(description)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if _, twice := e.Events[id]; twice {
		return fmt.Errorf("%s: there is another extension %s", path, id)
	}
	e.All, e.Mine, e.Events[id] = append(e.All, raw), append(e.Mine, identity(id)), events
	return nil
}

// commands returns the ids of contributed commands, which are a list or a single one.
func commands(raw json.RawMessage) (ids []string) {
	type command struct{ Command string }
	var many []command
	var one command
	if json.Unmarshal(raw, &many) != nil && json.Unmarshal(raw, &one) == nil {
		many = []command{one}
	}
	for _, c := range many {
		if c.Command != "" {
			ids = append(ids, c.Command)
		}
	}
	return ids
}

// fileURI returns the URI of a path in VS Code's form.
func fileURI(path string) map[string]any {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return map[string]any{"$mid": 1, "scheme": "file", "path": path, "fsPath": path}
}

// identity returns an extension's id in VS Code's form.
func identity(id string) map[string]string {
	return map[string]string{"value": id, "_lower": strings.ToLower(id)}
}
