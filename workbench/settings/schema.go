package settings

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/hostsup/hostsup/workbench/settings/model"
)

// The names of the schemas of settings files. Their URIs in VS Code are vscode://schemas/settings/NAME.
const (
	SchemaDefault          = "default"
	SchemaUser             = "user"
	SchemaProfile          = "profile"
	SchemaMachine          = "machine"
	SchemaWorkspace        = "workspace"
	SchemaFolder           = "folder"
	SchemaResourceLanguage = "resourceLanguage" // of the settings of one language
)

// Schemas returns the names of the schemas of settings files.
func Schemas() []string {
	return []string{SchemaDefault, SchemaUser, SchemaProfile, SchemaMachine, SchemaWorkspace, SchemaFolder, SchemaResourceLanguage}
}

// Schema returns the JSON schema of a settings file by its name, such as [SchemaUser]; false for a name
// that is not one of [Schemas]. It has the settings that extensions contribute, as their manifests
// describe them, and those of VS Code itself that this editor knows, with their defaults. It allows others,
// because VS Code has more than this editor knows. The settings of extensions are known once a host has
// started; [Service.OnSchema] tells of changes.
func (s *Service) Schema(name string) (json.RawMessage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in, ok := s.schemaScopes()[name]
	if !ok {
		return nil, false
	}
	known := s.contributed()
	properties := map[string]any{}
	for key, value := range model.OwnDefaults() {
		if scope, _ := model.Own(key); in(scope) {
			properties[key] = map[string]any{"default": value}
		}
	}
	for key, property := range known.Properties {
		if in(known.Scopes[key]) {
			properties[key] = property
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "allowComments": true, "allowTrailingCommas": true}
	if name != SchemaResourceLanguage {
		out["patternProperties"] = map[string]any{
			`^(\[([^\]]+)\])+$`: map[string]string{"$ref": "vscode://schemas/settings/" + SchemaResourceLanguage},
		}
	}
	text, err := json.Marshal(out)
	return text, err == nil // the properties have been read as JSON
}

// schemaScopes returns which settings each schema has, by their scope. The caller must hold mu.
func (s *Service) schemaScopes() map[string]func(model.Scope) bool {
	every := func(model.Scope) bool { return true }
	folder := model.Scope.InWorkspace // of the only folder: its settings are those of the workspace
	if s.workspace != nil {
		folder = model.Scope.InFolder
	}
	return map[string]func(model.Scope) bool{
		SchemaDefault: every, SchemaUser: every,
		SchemaProfile: func(scope model.Scope) bool {
			return scope != model.Application && scope != model.ApplicationMachine
		},
		SchemaMachine:          func(scope model.Scope) bool { return scope != model.Application },
		SchemaWorkspace:        model.Scope.InWorkspace,
		SchemaFolder:           folder,
		SchemaResourceLanguage: func(scope model.Scope) bool { return scope == model.LanguageOverridable },
	}
}

// contributed returns what the extensions of the household contribute. The caller must hold mu.
func (s *Service) contributed() model.Contributed {
	if hosts := slices.Sorted(maps.Keys(s.known)); len(hosts) > 0 {
		return s.known[hosts[0]]
	}
	return model.Contributed{}
}

// OnSchema calls f after the settings that extensions contribute have changed, on any goroutine. f must
// not block.
func (s *Service) OnSchema(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onSchema = append(s.onSchema, f)
}

// describe notes what the extensions of a host contribute, and returns the listeners if the schemas have
// changed. The caller must hold mu.
func (s *Service) describe(host string, descriptions []json.RawMessage) []func() {
	before := s.contributed().Properties
	s.known[host] = model.Contributions(descriptions)
	delete(s.cache, host)
	same := func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }
	if maps.EqualFunc(before, s.contributed().Properties, same) {
		return nil
	}
	return s.onSchema
}
