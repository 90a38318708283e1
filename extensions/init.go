package extensions

import "encoding/json"

// Init is the part of a host's first message that names the extensions: all of
// them, their activation events, and those that it is to run.
type Init struct {
	VersionID        int               `json:"versionId"`
	AllExtensions    []json.RawMessage `json:"allExtensions"`
	ActivationEvents map[ID][]string   `json:"activationEvents"`
	MyExtensions     []Identifier      `json:"myExtensions"`
}

// Init returns what a new life of a host is told, and what it knows then.
func (r Registry) Init(mine func(Extension) bool) (Init, View) {
	view, d, _ := View{}.Move(r, mine)
	return Init{r.version, d.ToAdd, d.AddActivationEvents, d.MyToAdd}, view
}
