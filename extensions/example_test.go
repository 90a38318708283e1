package extensions_test

import (
	"encoding/json"
	"fmt"

	"github.com/hostsup/hostsup/extensions"
)

// A host gets only the changes of the registry.
func ExampleRegistry() {
	text := func(name string) json.RawMessage { return json.RawMessage(fmt.Sprintf(`{"id":%q}`, name)) }
	r, problems := extensions.NewRegistry([]extensions.Extension{
		{ID: "acme.go", Main: "main.js", Events: []string{"onLanguage:go"}, Description: text("acme.go")},
		{ID: "acme.ying", Main: "main.js", Dependencies: []extensions.ID{"acme.yang"}},
		{ID: "acme.yang", Main: "main.js", Dependencies: []extensions.ID{"acme.ying"}},
	})
	for _, p := range problems {
		fmt.Println(p)
	}
	everything := func(extensions.Extension) bool { return true }
	first, view := r.Init(everything)
	fmt.Println(len(first.AllExtensions), "at first")

	r, _ = r.Apply(extensions.Change{Remove: []extensions.ID{"acme.go"}, Add: []extensions.Extension{{ID: "acme.css", Main: "main.js", Description: text("acme.css")}}}, nil)
	_, delta, _ := view.Next(r, everything)
	fmt.Println("away:", delta.ToRemove[0].Value, "new:", string(delta.ToAdd[0]))
	// Output:
	// acme.ying: loop of dependencies: acme.ying → acme.yang → acme.ying
	// acme.yang: loop of dependencies: acme.yang → acme.ying → acme.yang
	// 1 at first
	// away: acme.go new: {"id":"acme.css"}
}
