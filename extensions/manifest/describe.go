package manifest

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/internal/jsonwalk"
)

// reserved lists fields that the editor sets; with them a manifest could pose as
// another extension.
var reserved = map[string]bool{
	"id": true, "identifier": true, "isBuiltin": true, "isUserBuiltin": true, "isUnderDevelopment": true,
	"extensionLocation": true, "uuid": true, "targetPlatform": true, "publisherDisplayName": true, "preRelease": true,
}

// URI is the address of a file as encoded by the protocol.
type URI struct {
	Mid    int    `json:"$mid"`
	FSPath string `json:"fsPath"`
	Sep    int    `json:"_sep,omitempty"` // 1 if paths have backslashes
	Path   string `json:"path"`
	Scheme string `json:"scheme"`
}

// FileURI returns the address of an absolute path on this machine.
func FileURI(path string) URI {
	u := URI{Mid: 1, FSPath: path, Path: path, Scheme: "file"}
	if runtime.GOOS == "windows" {
		u.Sep = 1
		u.Path = filepath.ToSlash(path)
		if len(u.Path) > 1 && u.Path[1] == ':' {
			u.Path = "/" + strings.ToLower(u.Path[:1]) + u.Path[1:]
		}
	}
	return u
}

// String returns the address as file:///….
func (u URI) String() string { return (&url.URL{Scheme: u.Scheme, Path: u.Path}).String() }

// describe returns the description that a host expects: the fields of the manifest
// unchanged, and those that the editor adds.
func (m *Manifest) describe() json.RawMessage {
	out := make([]byte, 0, 1024+sum(m.fields))
	add := func(name string, value any) {
		sep := byte(',')
		if len(out) == 0 {
			sep = '{'
		}
		out = append(out, sep)
		out = append(appendJSON(out, name), ':')
		if raw, ok := value.([]byte); ok {
			out = append(out, raw...)
			return
		}
		out = appendJSON(out, value)
	}
	builtin := m.Origin == extensions.Builtin || m.replaces
	add("id", m.Value)
	add("identifier", m.Identifier())
	add("isBuiltin", builtin)
	add("isUserBuiltin", !builtin && string(jsonwalk.Member(m.meta, "isBuiltin")) == "true")
	add("isUnderDevelopment", m.Origin == extensions.Development)
	add("extensionLocation", FileURI(m.Folder))
	add("targetPlatform", m.Platform)
	if uuid := jsonwalk.Member(m.meta, "id"); jsonwalk.KindOf(uuid) == jsonwalk.String {
		add("uuid", uuid)
	}
	if name := jsonwalk.Member(m.meta, "publisherDisplayName"); jsonwalk.KindOf(name) == jsonwalk.String {
		add("publisherDisplayName", name)
	}
	add("preRelease", string(jsonwalk.Member(m.meta, "preRelease")) == "true")
	add("publisher", m.Publisher)
	for _, f := range m.fields {
		switch {
		case reserved[f.name], f.name == "publisher", f.name == "__metadata", f.name == "__proto__":
		default:
			add(f.name, f.value)
		}
	}
	return append(out, '}')
}

func sum(list []field) int {
	n := 0
	for _, f := range list {
		n += len(f.name) + len(f.value) + 4
	}
	return n
}

// appendJSON appends values whose encoding cannot fail.
func appendJSON(out []byte, value any) []byte {
	switch v := value.(type) {
	case bool:
		return strconv.AppendBool(out, v)
	case string:
		if plain(v) {
			return append(append(append(out, '"'), v...), '"')
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		return append(out, "null"...)
	}
	return append(out, text...)
}

// plain reports whether a string needs no escapes in JSON.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
