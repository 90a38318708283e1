package vscode

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/hostsup/hostsup/codec"
)

// Present is a workspace as it is while hosts run; see [Editor].
type Present struct {
	Workspace
	// Titles are names of folders by their paths. Default: the last element of the path.
	Titles map[string]string
	// ID names the folder for the data that extensions keep for the workspace. Default:
	// [Workspace.ID].
	ID string
}

// present returns the workspace that a host starts with, nil for none.
func (p *Protocol) present(host string) *Present {
	if e := p.Editor(host); e != nil {
		return e.Workspace()
	}
	if p.opt.Workspace == nil {
		return nil
	}
	return &Present{Workspace: *p.opt.Workspace}
}

// ID returns an id that is the same for the same folders.
func (w *Workspace) ID() string {
	sum := sha256.Sum256([]byte(strings.Join(w.Folders, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// opening returns the params of $initializeWorkspace.
func (w *Present) opening() (codec.Raw, error) {
	if w == nil {
		return codec.Raw("[null,true]"), nil
	}
	return json.Marshal([]any{w.Data(), !w.Untrusted})
}

// Data returns the workspace as hosts are told it, with $initializeWorkspace and
// $acceptWorkspaceData. A nil Present means that there is no workspace.
func (w *Present) Data() any {
	if w == nil {
		return nil
	}
	folders := []any{}
	for i, dir := range w.Folders {
		folders = append(folders, map[string]any{"uri": fileURI(dir), "name": w.title(dir), "index": i})
	}
	data := w.static()
	data["folders"] = folders
	return data
}

// title returns the name of a folder.
func (w *Present) title(dir string) string {
	if name := w.Titles[dir]; name != "" {
		return name
	}
	return filepath.Base(dir)
}

// Identity returns the ID of the workspace, or an id that is the same for the same folders.
func (w *Present) Identity() string {
	if w.ID != "" {
		return w.ID
	}
	return w.Workspace.ID()
}

// static returns the description of a workspace in the init data. Its id is the name of
// the folder with the extensions' data of the workspace.
func (w *Present) static() map[string]any {
	name := w.Name
	if name == "" {
		names := make([]string, len(w.Folders))
		for i, dir := range w.Folders {
			names[i] = w.title(dir)
		}
		name = strings.Join(names, ", ")
	}
	return map[string]any{"id": w.Identity(), "name": name, "transient": false, "configuration": nil, "isUntitled": false}
}
