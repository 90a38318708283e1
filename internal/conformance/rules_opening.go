package conformance

import (
	"maps"
	"slices"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
)

var openingRules = []Rule{
	{ID: "O1", What: "the host answers initialize with protocol 1", Level: Required, Sentence: "The host answers `{protocol: 1, name, version, capabilities: [...]}`.", play: func(p *play) {
		p.open()
		if v, _ := number(field(p.answer, "protocol"), 1<<32-1); v != native.Version {
			p.expect("the result {protocol: 1, …} of initialize")
			p.fail("%s", show(p.answer))
		}
		p.alive()
	}},
	{ID: "O2", What: "the host sends nothing else before its answer", Level: Required, Sentence: "Before this answer the host may send only `[3, 1]`, the ack of `initialize`", play: func(p *play) {
		p.open()
		p.alive()
	}},
	{ID: "O3", What: "what the answer has beside protocol is of the right type", Level: Required, Sentence: "Only `protocol` is required.", play: func(p *play) { p.open() }},
	{ID: "O4", What: "unknown capabilities and keys do not matter", Level: Required, Sentence: "Unknown names, and unknown keys of these maps, are ignored.", play: func(p *play) {
		params := offer(slices.Concat(capabilities, []string{"conformance", "ack2"}))
		params["conformance"] = map[string]any{"x": []any{1}}
		params["supervisor"] = map[string]any{"name": "s", "version": "1", "more": true}
		params["init"] = map[string]any{"a": []any{1.5, nil}}
		p.openWith(params)
		p.alive()
	}},
	{ID: "O5", What: "version 2 is refused by name, or answered with version 1", Level: Required, Sentence: "A host that does not speak version 1 answers with the error `VersionNotSupported`, or with its own number", play: func(p *play) {
		p.start()
		params := maps.Clone(offer(capabilities))
		params["protocol"] = 2
		p.offered(capabilities)
		id := p.request(native.MethodInitialize, params)
		p.expect("the error VersionNotSupported, or the result {protocol: 1, …}, as the answer to version 2")
		m := p.response(id)
		v, _ := number(field(m.payload, "protocol"), 1<<32-1)
		if text(m.failure, "name") != native.NameVersion && v != native.Version {
			p.fail("%s", m.text)
		}
	}},
	{ID: "O6", What: "a request in one piece with initialized is answered", Level: Required, Sentence: "hostsup sends the notification `initialized`, params nil. The host is running.", play: func(p *play) {
		p.start()
		p.initialize(offer(capabilities))
		p.last++
		p.note([]any{codec.Request, p.last, "conformance-unknown"})
		p.write(append(pack(codec.Notification, native.MethodInitialized, nil), pack(codec.Request, p.last, "conformance-unknown", nil)...),
			"initialized and a request in one piece")
		p.expect("an answer to the request that came in one piece with initialized")
		p.response(uint64(p.last))
	}},
	{ID: "O7", What: "another first message ends the connection", Level: Advised, Sentence: "hostsup sends the request `initialize`, id 1", play: func(p *play) {
		p.start()
		p.send(codec.Request, uint32(1), "conformance-unknown", nil)
		p.ends()
	}},
}

// without returns a play that has everything asked of the host while a capability is not
// in force; the monitor judges.
func without(name string) func(*play) {
	return func(p *play) {
		var caps []string
		if name != "" {
			caps = slices.DeleteFunc(slices.Clone(capabilities), func(c string) bool { return c == name })
		}
		p.open(append([]string{}, caps...)...)
		p.alive()
		p.rest("conformance/block", map[string]any{"ms": 50})
		p.rest("conformance/count", map[string]any{"n": 3})
		id := p.request("conformance/call", map[string]any{"method": "m", "params": 1})
		if m := p.callOrAnswer(id, "m"); m != nil {
			p.send(codec.Response, m.id, nil, 2)
			p.response(id)
		}
		id = p.request("conformance/collect", map[string]any{"method": "m", "params": 1, "max": 1})
		if m := p.callOrAnswer(id, "m"); m != nil {
			p.still()
			if p.theirs[m.id].credit > 0 {
				p.send(codec.Item, m.id, 0, "item")
				p.still()
			}
			p.send(codec.Response, m.id, nil, nil)
			p.find(func(m *message) bool { return m.kind == codec.Response && m.id == id })
		}
		p.still()
		p.alive()
	}
}

// rest has a request made of a method that the host may not offer, without a look at the
// answer.
func (p *play) rest(method string, params any) {
	id := p.request(method, params)
	p.still()
	if i := slices.IndexFunc(p.inbox, func(m *message) bool { return m.kind == codec.Response && m.id == id }); i >= 0 {
		p.inbox = slices.Delete(p.inbox, i, i+1)
	}
}

// callOrAnswer waits for a request of the host, nil if it answers request id instead. The
// answer is still to be looked for.
func (p *play) callOrAnswer(id uint64, method string) *message {
	p.expect("the request %s of the host, or an answer", method)
	m := p.find(func(m *message) bool {
		return m.kind == codec.Request && m.method == method || m.kind == codec.Response && m.id == id
	})
	if m.kind == codec.Response {
		p.inbox = append(p.inbox, m)
		return nil
	}
	return m
}

const inForce = "A capability is in force if both sides named it."

var capabilityRules = []Rule{
	{ID: "C1", What: "no acks when hostsup does not name ack", Level: Required, Sentence: inForce, play: without("ack")},
	{ID: "C2", What: "no cancels when hostsup does not name cancel", Level: Required, Sentence: inForce, play: without("cancel")},
	{ID: "C3", What: "no items and no credit when hostsup does not name stream", Level: Required, Sentence: inForce, play: without("stream")},
	{ID: "C4", What: "no trace when hostsup does not name trace", Level: Required, Sentence: inForce, play: without("trace")},
	{ID: "C5", What: "only requests, responses and notifications when hostsup names nothing", Level: Required, Sentence: "A host that names no capability receives and sends 0 to 2 only", play: without("")},
	{ID: "C6", What: "a cancel that is not in force ends the connection", Level: Advised, Sentence: "a message whose capability is not in force ends the connection", play: func(p *play) {
		p.open([]string{}...)
		p.send(codec.Cancel, uint32(1))
		p.ends()
	}},
}
