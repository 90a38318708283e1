package extensions

import "encoding/json"

// Init is the part of a host's first message about extensions: all extensions, their
// activation events, and those that the host runs.
type Init struct {
	VersionID        int               `json:"versionId"`
	AllExtensions    []json.RawMessage `json:"allExtensions"`
	ActivationEvents map[ID][]string   `json:"activationEvents"`
	MyExtensions     []Identifier      `json:"myExtensions"`
}

// Init returns the message for a new life of a host, and the view after it.
func (r Registry) Init(mine func(Extension) bool) (Init, View) {
	view, d, _ := View{}.Move(r, mine)
	return Init{r.version, d.ToAdd, d.AddActivationEvents, d.MyToAdd}, view
}
