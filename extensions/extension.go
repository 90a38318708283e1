package extensions

import (
	"encoding/json"
	"strings"
)

// ID identifies an extension: "publisher.name" in lower case. Two ids that
// differ in case only are the same extension; make one with [MakeID].
type ID string

// MakeID returns the id that a text names.
func MakeID(text string) ID { return ID(strings.ToLower(strings.TrimSpace(text))) }

// Valid says whether the id has a publisher and a name and is in lower case.
func (id ID) Valid() bool {
	publisher, name, ok := strings.Cut(string(id), ".")
	return ok && publisher != "" && name != "" && id == MakeID(string(id))
}

// Origin is where an extension comes from.
type Origin string

// The origins, in the order in which a registry lists them.
const (
	Builtin     Origin = "builtin"     // ships with the editor
	User        Origin = "user"        // installed
	Development Origin = "development" // being worked on
)

// Kind says in what sort of host an extension can run.
type Kind string

// The kinds, as manifests write them.
const (
	KindUI        Kind = "ui"        // beside the user
	KindWorkspace Kind = "workspace" // beside the files
	KindWeb       Kind = "web"       // without a process of its own
)

// Extension is what hostsup needs to know of an extension.
type Extension struct {
	ID      ID
	Value   string // the id with the case that its manifest has; default: ID
	Version string
	Origin  Origin
	Folder  string // absolute path

	Main    string // the entry for a process; "": none
	Browser string // the entry for a worker; "": none
	Kinds   []Kind // in order of preference

	Dependencies []ID     // have to be active before it
	Pack         []ID     // installed together with it; nothing is decided by that
	Events       []string // activation events, those its contributions imply included

	// Description is the whole manifest as a host wants it: JSON. nil for
	// extensions of hosts that need none.
	Description json.RawMessage
}

// HasCode says whether there is anything to activate. One without code only
// contributes data.
func (e Extension) HasCode() bool { return e.Main != "" || e.Browser != "" }

// Name is the id for people, with the case of the manifest.
func (e Extension) Name() string {
	if e.Value != "" {
		return e.Value
	}
	return string(e.ID)
}

// WantsEvent says whether event activates the extension.
func (e Extension) WantsEvent(event string) bool {
	for _, own := range e.Events {
		if own == event {
			return true
		}
	}
	return false
}

// Identifier is an id as the protocol writes it.
type Identifier struct {
	Value string `json:"value"`
	Lower ID     `json:"_lower"`
}

// Identifier returns the id as the protocol writes it.
func (e Extension) Identifier() Identifier { return Identifier{e.Name(), e.ID} }
