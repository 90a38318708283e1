package config

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/intercept/throttle"
)

// throttleHeader is a block of a host that limits notifications to it.
var throttleHeader = hcl.BlockHeaderSchema{Type: "throttle", LabelNames: []string{"method"}}

func throttleSection(rule *throttle.Rule) section {
	every := duration(&rule.Every, nil)
	every.required = true
	return section{
		name: "throttle", doc: "Limits notifications with this method to the host: of several that come too fast, the first and the latest are sent.",
		settings: []setting{
			named("every", "the shortest time between two that are sent", every),
			named("key", "path in the params to the subject of a notification; default: one subject for all", keyPath(&rule.Key)),
		},
	}
}

func keyPath(dst *string) setting {
	const expect = `a path in the params such as "uri" or "textDocument.uri"`
	return setting{expect: expect,
		read: func(g given) {
			text, ok := g.str(expect)
			if !ok {
				return
			}
			if text == "" || (throttle.Rule{Method: "x", Every: time.Second, Key: text}).Validate() != nil {
				g.bad("%q is not %s: names, and indexes of lists, with a dot between them.", text, expect)
				return
			}
			*dst = text
		},
		show: func() string { return "" },
	}
}

// throttled reads the throttle blocks of a host.
func (r *reader) throttled(body hcl.Body, d *hostDecl) {
	c, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{throttleHeader}})
	first := map[string]hcl.Range{}
	for _, b := range c.Blocks {
		method := b.Labels[0]
		if d.spec.Protocol == nil {
			r.fail(b.DefRange, `block "throttle" has no meaning here`, "A host with protocol = %q receives no messages. Remove \"throttle\", or choose another protocol.", noProtocol)
			continue
		}
		incremental := d.spec.Protocol.Features().Incremental
		rule := throttle.Rule{Method: method}
		r.section(b.Body, b.DefRange, throttleSection(&rule))
		switch at, twice := first[method]; {
		case twice:
			r.fail(b.LabelRanges[0], fmt.Sprintf("throttle %q written twice", method), "Line %d has one already. Remove one of the two.", at.Start.Line)
		case method == "":
			r.fail(b.LabelRanges[0], `"" is not a method`, "Write the name of the notification, such as \"textDocument/didChange\".")
		case rule.Every > 0: // otherwise already reported
			first[method] = b.LabelRanges[0]
			d.spec.Throttle = append(d.spec.Throttle, rule)
		}
		if incremental != nil && incremental(method, nil) {
			r.warn(b.LabelRanges[0], "nothing that can be throttled", "Each %s tells what has changed since the one before; none can be left out. Remove the block.", method)
		}
	}
}
