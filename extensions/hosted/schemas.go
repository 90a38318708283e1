package hosted

import (
	"strings"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
	"github.com/hostsup/hostsup/workbench/files"
	"github.com/hostsup/hostsup/workbench/settings"
)

// editorScheme is the scheme of the files that VS Code makes itself.
const editorScheme = "vscode"

// settingsSchemas is the path of the schemas of settings files.
const settingsSchemas = "/settings/"

// editorFiles are the files that VS Code makes itself: JSON schemas (vscode://schemas/…) for the JSON files
// of editors, and which files they are for.
type editorFiles struct{ set *settings.Service }

var _ files.FileSystem = editorFiles{}

// ReadFile implements [files.FileSystem]. The schemas of settings are those that the manifests have. What
// else VS Code knows of its files is not known here: their schemas allow everything, as does VS Code for a
// schema that it does not have.
func (e editorFiles) ReadFile(uri workbench.URI) ([]byte, error) {
	const empty = "{}"
	switch uri.Authority {
	case "schemas":
		if name, ok := strings.CutPrefix(uri.Path, settingsSchemas); ok {
			if schema, ok := e.set.Schema(name); ok {
				return schema, nil
			}
		}
		return []byte(empty), nil
	case "schemas-associations": // manifests have all of them (contributes.jsonValidation)
		if uri.Path == "/schemas-associations.json" {
			return []byte(empty), nil
		}
	}
	return nil, disk.Fail(disk.NameNotFound, "%s: the editor makes no such file", uri)
}

// changed are the changes of files when extensions contribute other settings.
func (editorFiles) changed() (out []files.Change) {
	for _, name := range settings.Schemas() {
		uri := workbench.URI{Scheme: editorScheme, Authority: "schemas", Path: settingsSchemas + name}
		out = append(out, files.Change{Resource: uri, Type: files.Updated})
	}
	return out
}
