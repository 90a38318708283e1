package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/attach"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/intercept/answer"
)

// Blocks of a host that answer its own requests.
var (
	replyHeader   = hcl.BlockHeaderSchema{Type: "reply", LabelNames: []string{"method"}}
	forwardHeader = hcl.BlockHeaderSchema{Type: "forward", LabelNames: []string{"method"}}
)

// forwardTo is the host that a forward names.
type forwardTo struct {
	name string
	at   hcl.Range
}

func replySection(result, failure *any) section {
	return section{
		name: "reply", doc: "The answer to requests of the host with this method; a * at its end stands for any rest.",
		settings: []setting{
			named("result", "returned unchanged", anything(result)),
			named("error", "returned instead: name, message and code", anything(failure)),
		},
	}
}

func forwardSection(to *string) section {
	return section{
		name: "forward", doc: "Requests of the host with this method, or these, go to another host, and its answers come back.",
		settings: []setting{named("to", "name of that host", hostName(to))},
	}
}

func hostName(dst *string) setting {
	return setting{expect: "the name of a host", required: true,
		read: func(g given) {
			if s, ok := g.str("the name of a host"); ok {
				*dst = s
			}
		},
		show: func() string { return "" },
	}
}

// answers reads the reply and forward blocks of a host.
func (r *reader) answers(body hcl.Body, d *hostDecl) {
	c, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{replyHeader, forwardHeader}})
	first := map[string]hcl.Range{}
	for _, b := range c.Blocks {
		method := b.Labels[0]
		switch at, twice := first[b.Type+" "+method]; {
		case d.spec.Protocol == nil:
			r.fail(b.DefRange, fmt.Sprintf("block %q has no meaning here", b.Type), "A host with protocol = %q makes no requests. Remove %q, or choose another protocol.", noProtocol, b.Type)
			continue
		case twice:
			r.fail(b.LabelRanges[0], fmt.Sprintf("%s %q written twice", b.Type, method), "Line %d has one already. Remove one of the two.", at.Start.Line)
			continue
		case method == "" || strings.Contains(strings.TrimSuffix(method, "*"), "*"):
			r.fail(b.LabelRanges[0], fmt.Sprintf("%q is not a method", method), `Write a method's name such as "workspace/configuration", or the beginning of some and a *: "workspace/*".`)
			continue
		}
		first[b.Type+" "+method] = b.LabelRanges[0]
		if b.Type == "reply" {
			r.reply(b, d)
		} else {
			r.forward(b, d)
		}
	}
}

func (r *reader) reply(b *hcl.Block, d *hostDecl) {
	var result, failure any
	p := r.section(b.Body, b.DefRange, replySection(&result, &failure))
	reply := answer.Reply{Method: b.Labels[0], Result: result}
	if at, ok := p.at["error"]; ok && !p.wrong["error"] {
		if also, ok := p.at["result"]; ok {
			r.fail(also, "a result beside an error", "An answer is one or the other. Remove one of them.")
		}
		e, detail := answerError(failure)
		if detail != "" {
			r.fail(at, "invalid value for error", "%s", detail)
			return
		}
		reply.Err = e
	} else if _, err := d.spec.Protocol.Marshal(result); err != nil {
		r.fail(p.at["result"], "invalid value for result", "It cannot be sent by protocol %q: %v.", d.protocol, err)
		return
	}
	d.spec.Answers.Replies = append(d.spec.Answers.Replies, reply)
}

const errorShape = `Expected { message = "…" }, and in it also name = "…" or code = a whole number, if wanted.`

// answerError reads { name, message, code }.
func answerError(v any) (e *codec.Error, detail string) {
	fields, ok := v.(map[string]any)
	if !ok {
		return nil, errorShape
	}
	e = &codec.Error{Name: actors.NameError}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		var fits bool
		switch key {
		case "name":
			e.Name, fits = fields[key].(string)
		case "message":
			e.Message, fits = fields[key].(string)
		case "code":
			e.Code, fits = fields[key].(int64)
			if e.Name == actors.NameError {
				e.Name = ""
			}
		}
		if !fits {
			return nil, fmt.Sprintf("%q has the wrong type. %s", key, errorShape)
		}
	}
	if e.Message == "" {
		return nil, "There is no message. " + errorShape
	}
	return e, ""
}

func (r *reader) forward(b *hcl.Block, d *hostDecl) {
	var to string
	p := r.section(b.Body, b.DefRange, forwardSection(&to))
	if to == "" {
		return // already reported
	}
	d.forwards = append(d.forwards, forwardTo{to, p.at["to"]})
	d.spec.Answers.Forwards = append(d.spec.Answers.Forwards, answer.Forward{Method: b.Labels[0], To: to})
}

// forwarded reports forwards to hosts that do not exist, or that cannot be called.
func (r *reader) forwarded(t *tree, g *groupDecl) {
	for _, d := range g.hosts {
		before := len(r.diags)
		for _, f := range d.forwards {
			switch target := t.hosts[f.name]; {
			case target == nil:
				names := slices.Sorted(maps.Keys(t.hosts))
				r.fail(f.at, fmt.Sprintf("no host %q", f.name), "Requests of host %q cannot go there.%s", d.spec.Name, didYouMean(f.name, names))
			case target.sharing.Instances != attach.Shared:
				r.fail(f.at, fmt.Sprintf("host %q does not run itself", f.name), "Programs that attach get instances of it, none of which can be named here.")
			case target.spec.Protocol == nil:
				r.fail(f.at, fmt.Sprintf("host %q cannot be asked", f.name), "It has protocol = %q.", noProtocol)
			}
		}
		r.mark(before, d.key)
	}
}
