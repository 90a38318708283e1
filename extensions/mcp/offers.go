package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// commandSchema is the schema of the input of every command: manifests have none.
const commandSchema = `{"type":"object","properties":{"arguments":{"type":"array","description":"The arguments of the command, in order. Left out: none."}},"additionalProperties":false}`

// maxName is the length of the names of tools that all clients accept, in bytes.
const maxName = 64

// Commands returns the commands that extensions offer and patterns allow, as tools without Invoke.
// ids are those of all commands; manifests are descriptions of extensions, of which the titles and
// categories of commands are taken.
func Commands(ids []string, manifests []json.RawMessage, patterns []string) []Tool {
	titles := map[string]string{}
	for _, raw := range manifests {
		for _, c := range contributed(raw) {
			if titles[c.Command] == "" {
				titles[c.Command] = c.title()
			}
		}
	}
	var out []Tool
	for _, id := range ids {
		if !Allowed(id, patterns) {
			continue
		}
		t := Tool{ID: id, Name: "command_" + id, Title: titles[id], Of: "The command " + id, Schema: json.RawMessage(commandSchema)}
		t.Description = "Executes the VS Code command " + id
		if t.Title != "" {
			t.Description += ", " + `"` + t.Title + `"`
		}
		t.Description += "."
		out = append(out, t)
	}
	return out
}

// Contributors returns the ids of the extensions that contribute commands, by the ids of the commands.
// Commands that extensions register without a word in their manifests, which are descriptions of
// extensions, are not among them.
func Contributors(manifests []json.RawMessage) map[string]string {
	out := map[string]string{}
	for _, raw := range manifests {
		var d struct {
			Publisher, Name  string
			ActivationEvents []string
		}
		if json.Unmarshal(raw, &d) != nil || d.Publisher == "" {
			continue
		}
		var ids []string
		for _, c := range contributed(raw) {
			ids = append(ids, c.Command)
		}
		for _, event := range d.ActivationEvents {
			if id, ok := strings.CutPrefix(event, "onCommand:"); ok {
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			if _, taken := out[id]; !taken {
				out[id] = d.Publisher + "." + d.Name
			}
		}
	}
	return out
}

// contribution is a command of a manifest.
type contribution struct {
	Command  string
	Title    json.RawMessage // a text, or an object with one
	Category json.RawMessage
}

func (c contribution) title() string {
	title, category := text(c.Title), text(c.Category)
	if category != "" && title != "" {
		return category + ": " + title
	}
	return title
}

// text returns a text of a manifest, which may be an object with translations.
func text(raw json.RawMessage) (s string) {
	var translated struct{ Value string }
	if json.Unmarshal(raw, &s) != nil && json.Unmarshal(raw, &translated) == nil {
		return translated.Value
	}
	return s
}

// contributed returns the commands of a manifest, which has a list or a single one.
func contributed(raw json.RawMessage) []contribution {
	var d struct {
		Contributes struct{ Commands json.RawMessage }
	}
	if json.Unmarshal(raw, &d) != nil {
		return nil
	}
	var many []contribution
	var one contribution
	if json.Unmarshal(d.Contributes.Commands, &many) != nil && json.Unmarshal(d.Contributes.Commands, &one) == nil {
		many = []contribution{one}
	}
	return many
}

// Allowed reports whether one of the patterns matches an id. In a pattern, * stands for any text.
func Allowed(id string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		parts := strings.Split(p, "*")
		for i := range parts {
			parts[i] = regexp.QuoteMeta(parts[i])
		}
		return regexp.MustCompile("^(?s:" + strings.Join(parts, ".*") + ")$").MatchString(id)
	})
}

// Names makes the names of tools such that every client accepts them: letters, digits, _ and -, 64
// bytes at most, and no name twice. A name that is changed because it is too long or taken ends with
// a part of its hash, so that it is the same one at every call for the same tools.
func Names(tools []Tool) {
	taken := map[string]bool{}
	for i := range tools {
		full := tools[i].Name
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
				return r
			}
			return '_'
		}, full)
		if len(name) > maxName || taken[name] || name == "" {
			sum := sha256.Sum256([]byte(full))
			name = name[:min(len(name), maxName-9)] + "_" + hex.EncodeToString(sum[:4])
		}
		tools[i].Name = name
		taken[name] = true
	}
}
