package activation_test

import (
	"fmt"
	"time"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/activation"
)

// A command is called; its extension needs another one, and no host runs yet.
func ExampleMachine() {
	m := activation.New(activation.Rules{})
	now := time.Unix(0, 0)
	for _, ev := range []activation.Event{
		activation.Installed{
			List: []extensions.Extension{
				{ID: "acme.lib", Main: "lib.js"},
				{ID: "acme.go", Main: "main.js", Dependencies: []extensions.ID{"acme.lib"}, Events: []string{"onCommand:go.test"}},
			},
			Where: map[extensions.ID]string{"acme.lib": "ext", "acme.go": "ext"},
		},
		activation.Request{Event: "onCommand:go.test", Tag: 1},
		activation.HostUp{Host: "ext", Life: 1},
		activation.Done{Host: "ext", Life: 1, ID: "acme.lib"},
		activation.Done{Host: "ext", Life: 1, ID: "acme.go"},
	} {
		for _, e := range m.Step(ev, now) {
			switch e := e.(type) {
			case activation.StartHost:
				fmt.Println("start", e.Host, "because of", e.Why)
			case activation.Activate:
				fmt.Println("activate", e.ID)
			case activation.Settled:
				fmt.Println("request", e.Tag, "is settled")
			}
		}
	}
	// Output:
	// start ext because of onCommand:go.test for acme.go
	// activate acme.lib
	// activate acme.go
	// request 1 is settled
}
