package manifest

import (
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// implied maps a contribution point to the activation event that its elements imply:
// a prefix and the field after it. An element without the field implies no event.
// The table is that of VS Code 1.74 and later, with names that only some releases
// had.
var implied = map[string]struct{ prefix, field string }{
	"authentication":                {"onAuthenticationRequest:", "id"},
	"chatContext":                   {"onChatContextProvider:", "id"},
	"chatOutputRenderers":           {"onChatOutputRenderer:", "viewType"},
	"chatParticipants":              {"onChatParticipant:", "id"},
	"chatSessions":                  {"onChatSession:", "type"},
	"commands":                      {"onCommand:", "command"},
	"customEditors":                 {"onCustomEditor:", "viewType"},
	"debugVisualizers":              {"onDebugVisualizer:", "id"},
	"languageModelChatProviders":    {"onLanguageModelChatProvider:", "vendor"},
	"languageModelTools":            {"onLanguageModelTool:", "name"},
	"languageModels":                {"onLanguageModelChat:", "vendor"},
	"mcpServerDefinitionProviders":  {"onMcpCollection:", "id"},
	"modelContextServerCollections": {"onMcpCollection:", "id"},
	"notebookRenderer":              {"onRenderer:", "id"},
	"notebooks":                     {"onNotebookSerializer:", "type"},
	"taskDefinitions":               {"onTaskType:", "type"},
	"terminalQuickFixes":            {"onTerminalQuickFixRequest:", "id"},
	"walkthroughs":                  {"onWalkthrough:", "id"},
}

// events returns the activation events of an extension: those of its manifest, then
// those that its contributions imply, each once. An extension without code has none.
func events(m *Manifest) []string {
	if !m.HasCode() {
		return nil
	}
	out := make([]string, 0, len(m.Events)+32)
	seen := make(map[string]bool, cap(out))
	add := func(event string) {
		if !seen[event] {
			seen[event] = true
			out = append(out, event)
		}
	}
	for _, event := range m.Events {
		if event == "onUri" {
			event = "onUri:" + string(m.ID)
		}
		add(event)
	}
	jsonwalk.Object(m.Contributes, func(point string, value []byte) bool {
		if rule, ok := implied[point]; ok {
			jsonwalk.Strings(value, rule.field, func(name string) {
				if name != "" {
					add(rule.prefix + name)
				}
			})
		}
		switch point {
		case "languages": // an element that only adds files to another language implies no event
			each(value, func(e []byte) {
				if name := jsonwalk.Text(jsonwalk.Member(e, "id")); name != "" && truthy(jsonwalk.Member(e, "configuration")) {
					add("onLanguage:" + name)
				}
			})
		case "views": // by container
			each(value, func(e []byte) {
				jsonwalk.Object(e, func(_ string, views []byte) bool {
					named(views, "onView:", add)
					return true
				})
			})
		case "terminal":
			each(value, func(e []byte) { named(jsonwalk.Member(e, "profiles"), "onTerminalProfile:", add) })
		}
		return true
	})
	return out
}

// named adds an event for the id of every element of a list.
func named(list []byte, prefix string, add func(string)) {
	if jsonwalk.KindOf(list) != jsonwalk.List {
		return
	}
	jsonwalk.Strings(list, "id", func(name string) {
		if name != "" {
			add(prefix + name)
		}
	})
}

// each calls do with the elements of a list, or with value itself if it is not a list.
func each(value []byte, do func([]byte)) {
	if jsonwalk.KindOf(value) != jsonwalk.List {
		do(value)
		return
	}
	jsonwalk.Array(value, func(e []byte) bool { do(e); return true })
}

func truthy(value []byte) bool {
	switch jsonwalk.KindOf(value) {
	case jsonwalk.None, jsonwalk.Null:
		return false
	case jsonwalk.String:
		return len(value) > 2
	case jsonwalk.Bool:
		return value[0] == 't'
	}
	return true
}
