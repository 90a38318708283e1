package extensions

import (
	"encoding/json"
	"strings"
)

// ID identifies an extension: "publisher.name" in lower case. Two ids that
// differ in case only are the same extension; make one with [MakeID].
type ID string

// MakeID returns the id for text.
func MakeID(text string) ID { return ID(strings.ToLower(strings.TrimSpace(text))) }

// Valid reports whether the id has a publisher and a name and is in lower case.
func (id ID) Valid() bool {
	publisher, name, ok := strings.Cut(string(id), ".")
	return ok && publisher != "" && name != "" && id == MakeID(string(id))
}

// Origin is the source of an extension.
type Origin string

// The origins, in the order in which a registry lists them.
const (
	Builtin     Origin = "builtin"     // ships with the editor
	User        Origin = "user"        // installed
	Development Origin = "development" // in development
)

// Kind is a kind of host in which an extension can run.
type Kind string

// The kinds, as manifests write them.
const (
	KindUI        Kind = "ui"        // on the user's machine
	KindWorkspace Kind = "workspace" // on the machine with the files
	KindWeb       Kind = "web"       // in a web worker
)

// Extension is what hostsup knows about an extension.
type Extension struct {
	ID      ID
	Value   string // the id as written in its manifest; default: ID
	Version string
	Origin  Origin
	Folder  string // absolute path

	Main    string // the entry for a process; may be ""
	Browser string // the entry for a worker; may be ""
	Kinds   []Kind // in order of preference

	Dependencies []ID     // must be active before it
	Pack         []ID     // installed together with it; has no effect here
	Events       []string // activation events, including those implied by its contributions

	// Description is the whole manifest as a host expects it: JSON. nil for
	// extensions of hosts that need no description.
	Description json.RawMessage
}

// HasCode reports whether the extension can be activated. One without code only
// contributes data.
func (e Extension) HasCode() bool { return e.Main != "" || e.Browser != "" }

// Name returns the id for people, with the case of the manifest.
func (e Extension) Name() string {
	if e.Value != "" {
		return e.Value
	}
	return string(e.ID)
}

// WantsEvent reports whether event activates the extension.
func (e Extension) WantsEvent(event string) bool {
	for _, own := range e.Events {
		if own == event {
			return true
		}
	}
	return false
}

// Identifier is an id as encoded by the protocol.
type Identifier struct {
	Value string `json:"value"`
	Lower ID     `json:"_lower"`
}

// Identifier returns the id as encoded by the protocol.
func (e Extension) Identifier() Identifier { return Identifier{e.Name(), e.ID} }
