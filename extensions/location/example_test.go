package location_test

import (
	"fmt"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/location"
)

func ExampleAssign() {
	a := location.Assign(location.Input{
		List: []extensions.Extension{
			{ID: "acme.css", Main: "main.js"},
			{ID: "acme.go", Main: "main.js"},
			{ID: "acme.lint", Main: "main.js", Dependencies: []extensions.ID{"acme.go"}},
			{ID: "acme.bad", Main: "main.js"},
		},
		Affinity: map[extensions.ID]int{"acme.go": 1},
		Cells:    map[extensions.ID]string{"acme.bad": "acme.bad"},
	})
	for _, h := range a.Hosts() {
		fmt.Println(h.Name("ext"), h.Members)
	}
	// Output:
	// ext [acme.css]
	// ext-1 [acme.go acme.lint]
	// ext~acme.bad [acme.bad]
}
