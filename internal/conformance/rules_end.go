package conformance

import (
	"slices"
	"strings"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
)

const (
	parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	state  = "vendor=1"
)

var traced = map[string]any{"traceparent": parent, "tracestate": state}

var traceRules = []Rule{
	{ID: "T1", What: "requests and notifications with a trace are taken", Level: Required, Needs: "trace", Sentence: "With the capability `trace`, 0 and 2 may have one more element", play: func(p *play) {
		p.open()
		p.need("trace")
		p.send(codec.Notification, "conformance-unknown", nil, traced)
		p.last++
		p.send(codec.Request, p.last, "conformance-unknown", nil, traced)
		p.expect("an answer to a request with a trace")
		p.response(uint64(p.last))
	}},
	{ID: "T2", What: "a trace that the host sends has the right form", Level: Required, Needs: "trace", Method: call, Sentence: "a map `{traceparent, tracestate}` of strings as in W3C Trace Context", play: func(p *play) {
		p.open()
		p.need("trace")
		p.last++
		id := uint64(p.last)
		p.send(codec.Request, p.last, call, relay("kit/a", 1), traced)
		if m := p.callOrAnswer(id, "kit/a"); m != nil {
			p.send(codec.Response, m.id, nil, "a")
		}
		p.same(id, "a")
	}},
	{ID: "T3", What: "a handler sees the trace of its request", Level: Required, Needs: "trace", Method: "conformance/trace", Sentence: "a map `{traceparent, tracestate}` of strings as in W3C Trace Context", play: func(p *play) {
		p.open()
		p.need("trace")
		p.last++
		id := uint64(p.last)
		p.send(codec.Request, p.last, "conformance/trace", nil, traced)
		got := p.result(id)
		p.expect("the trace of the request, %s", show(traced))
		if text(got, "traceparent") != parent || text(got, "tracestate") != state {
			p.fail("%s", show(got))
		}
	}},
}

// told has the host make a request that is answered with this error, and returns the error
// that it answers with.
func (p *play) told(failure any) any {
	id, m := p.open2(call, relay("kit/a", 1))
	p.send(codec.Response, m.id, failure, nil)
	return p.failure(id, "")
}

// chain returns an error with n causes.
func chain(n int) any {
	e := map[string]any{"name": "E", "message": "m"}
	for range n {
		e = map[string]any{"name": "E", "message": "m", "cause": e}
	}
	return e
}

const errorMap = "A map: `name` (a class to branch on), `message` (for people), `code` (integer), `stack` (string), `data` (any value), `cause` (another such map)."

var errorRules = []Rule{
	{ID: "E1", What: "an error comes without a result", Level: Required, Sentence: "With an error the result must be nil.", play: func(p *play) {
		p.open()
		p.alive()
	}},
	{ID: "E2", What: "what is thrown has a name and its message", Level: Required, Method: "conformance/throw", Sentence: "`name` and `message` should be there.", play: func(p *play) {
		p.open()
		e := p.failure(p.request("conformance/throw", map[string]any{"message": "it was thrown"}), "")
		p.expect("an error with a name and the message %q", "it was thrown")
		if text(e, "name") == "" || !strings.Contains(text(e, "message"), "it was thrown") {
			p.fail("%s", show(e))
		}
		p.alive()
	}},
	{ID: "E3", What: "name, message, code and data of an error are sent", Level: Required, Method: "conformance/fail", Sentence: errorMap, play: func(p *play) {
		p.open()
		want := map[string]any{"name": "Odd", "message": "it is odd", "code": -42, "data": map[string]any{"a": []any{1, nil}}}
		e := p.failure(p.request("conformance/fail", want), "Odd")
		p.expect("the error %s", show(want))
		for key, v := range want {
			if !equal(field(e, key), v) {
				p.fail("%s", show(e))
			}
		}
	}},
	{ID: "E4", What: "name and message of an error of hostsup arrive", Level: Required, Method: call, Sentence: errorMap, play: func(p *play) {
		p.open()
		e := p.told(map[string]any{"name": "Odd", "message": "it is odd", "code": 7, "stack": "at x", "cause": chain(2)})
		p.expect("the error {name: Odd, message: it is odd} that its own request has got")
		if text(e, "name") != "Odd" || !strings.Contains(text(e, "message"), "it is odd") {
			p.fail("%s", show(e))
		}
	}},
	{ID: "E5", What: "wrong types within an error do not matter", Level: Required, Method: call, Sentence: "Unknown keys are ignored, and so are values of another type.", play: func(p *play) {
		p.open()
		e := p.told(map[string]any{"name": "Odd", "message": 5, "code": "x", "stack": []any{}, "cause": 1, "unknown": true})
		p.expect("the error Odd that its own request has got")
		if text(e, "name") != "Odd" {
			p.fail("%s", show(e))
		}
		p.alive()
	}},
	{ID: "E6", What: "errors that are not maps have a message", Level: Required, Method: call, Sentence: "A string is taken as the message, `[code, message]` as those two, any other value as a message in JSON.", play: func(p *play) {
		p.open()
		for _, row := range []struct {
			failure any
			message string
		}{{"plain", "plain"}, {[]any{3, "listed"}, "listed"}, {12345, "12345"}} {
			e := p.told(row.failure)
			p.expect("an error with the message %q", row.message)
			if !strings.Contains(text(e, "message"), row.message) {
				p.fail("%s", show(e))
			}
		}
	}},
	{ID: "E7", What: "fifty causes do no harm", Level: Required, Method: call, Sentence: "Chains of causes are cut at 16", play: func(p *play) {
		p.open()
		p.told(chain(50))
		p.alive()
	}},
}

// goodbye asks the host to end and returns the id of that.
func (p *play) goodbye() uint64 { return p.request(native.MethodShutdown, nil) }

var endRules = []Rule{
	{ID: "G1", What: "shutdown is answered", Level: Required, Sentence: "hostsup sends the request `shutdown`, params nil. A host finishes its work and answers", play: func(p *play) {
		p.open()
		id := p.goodbye()
		p.expect("an answer to shutdown")
		p.response(id)
	}},
	{ID: "G2", What: "the process ends after a shutdown", Level: Required, Sentence: "A host must end when it reads the end of the stream", play: func(p *play) {
		p.open()
		p.response(p.goodbye())
		p.closeWrite()
		p.exits()
	}},
	{ID: "G3", What: "the process ends without a shutdown", Level: Required, Sentence: "A host must end when it reads the end of the stream, also without a `shutdown` before.", play: func(p *play) {
		p.open()
		p.alive()
		p.closeWrite()
		p.exits()
	}},
	{ID: "G4", What: "work under way is finished before shutdown is answered", Level: Required, Method: block, Sentence: "A host finishes its work and answers", play: func(p *play) {
		p.open()
		id := p.request(block, map[string]any{"ms": 300})
		bye := p.goodbye()
		p.expect("the answer to request %d, which is under way, before that to shutdown", id)
		m := p.find(func(m *message) bool { return m.kind == codec.Response })
		if m.id != id {
			p.fail("%s", m.text)
		}
		p.inbox = append(p.inbox, m)
		p.result(id)
		p.response(bye)
		p.closeWrite()
		p.exits()
	}},
	{ID: "G5", What: "a request that is open at shutdown is answered", Level: Required, Method: wait, Sentence: "A request is answered exactly once, in any order.", play: func(p *play) {
		p.open()
		id := p.request(wait, nil)
		p.alive()
		bye := p.goodbye()
		p.expect("an answer to request %d, which is open when shutdown comes", id)
		p.response(id)
		p.response(bye)
	}},
	{ID: "G6", What: "requests after shutdown are refused", Level: Advised, Sentence: "a host that was asked to shut down answers `ShuttingDown` to all requests", play: func(p *play) {
		p.open()
		p.response(p.goodbye())
		p.failure(p.request("conformance-unknown", nil), codec.NameShuttingDown)
	}},
	{ID: "G7", What: "the status is 0 after a shutdown", Level: Advised, Sentence: "A host must end when it reads the end of the stream", play: func(p *play) {
		p.open()
		p.response(p.goodbye())
		p.closeWrite()
		e := p.exits()
		p.expect("the process ends with status 0 after a shutdown")
		if !strings.HasSuffix(e, "status 0") {
			p.fail("%s", e)
		}
	}},
}

var transportRules = []Rule{
	{ID: "P1", What: "a descriptor other than 3 is found", Level: Required, Only: string(hostspec.TransportFD), Sentence: "a connected stream socket, inherited as the descriptor whose number is in `HOSTSUP_HOST_FD`", play: func(p *play) {
		p.startAt(7)
		p.initialize(offer(capabilities))
		p.initialized()
		p.alive()
	}},
	{ID: "P2", What: "what the host prints is not on the wire", Level: Required, Only: string(hostspec.TransportStdio), Method: "conformance/print", Sentence: "Any other output on stdout breaks the protocol", play: prints},
	{ID: "P3", What: "the token opens the socket", Level: Required, Only: string(hostspec.TransportUnix), Sentence: "must first write the 32 raw bytes of `HOSTSUP_HOST_TOKEN`", play: func(p *play) { p.open() }},
	{ID: "P4", What: "what the host prints is not on the wire", Level: Required, Only: string(hostspec.TransportFD), Method: "conformance/print", Sentence: "stdout stays free for the host's own printing", play: prints},
}

// prints holds that what a host prints is not on the wire.
func prints(p *play) {
	p.open()
	p.own = true
	p.result(p.request("conformance/print", map[string]any{"text": "the host prints this"}))
	p.alive()
}

// extended opens the connection with extensions, and returns what the host says of the one
// with this id.
func (p *play) extended(id string) any {
	params := offer(slices.Concat(capabilities, []string{"extensions"}))
	params["extensions"] = []string{"conformance.unit", "conformance.broken"}
	p.openWith(params)
	p.need("extensions")
	list, ok := field(p.answer, "extensions").([]any)
	p.expect("a list of {id, …} as extensions")
	if !ok {
		p.blame(&breach{"U1", p.expected, show(p.answer)})
	}
	for _, x := range list {
		if text(x, "id") == id {
			return x
		}
	}
	p.skip("the host has no extension %s", id)
	return nil
}

const unit, broken = "conformance.unit", "conformance.broken"

var extensionRules = []Rule{
	{ID: "U1", What: "the extensions of the host are listed", Level: Required, Needs: "extensions", Sentence: "A host that names the capability too adds `extensions` to its answer: a list of `{id, version, events, depends_on, methods}`, all but `id` optional.", play: func(p *play) {
		x := p.extended(unit)
		for _, key := range []string{"events", "depends_on", "methods"} {
			if _, ok := field(x, key).([]any); !ok && field(x, key) != nil {
				p.fail("%s", show(x))
			}
		}
	}},
	{ID: "U2", What: "an extension is activated, and its method answers", Level: Required, Needs: "extensions", Method: "conformance/unit", Sentence: "The answer is `{took_ms}`, or the error of the activation", play: func(p *play) {
		p.extended(unit)
		got := p.result(p.activate(unit))
		p.expect("{took_ms}")
		switch field(got, "took_ms").(type) {
		case int64, uint64, float64:
		default:
			p.fail("%s", show(got))
		}
		p.same(p.request("conformance/unit", nil), "active")
	}},
	{ID: "U3", What: "an activation that fails is an error", Level: Required, Needs: "extensions", Sentence: "The answer is `{took_ms}`, or the error of the activation", play: func(p *play) {
		p.extended(broken)
		p.failure(p.activate(broken), "")
		p.alive()
	}},
	{ID: "U4", What: "an extension is deactivated", Level: Required, Needs: "extensions", Sentence: "the answer, nil, means that the extension has ended completely", play: func(p *play) {
		p.extended(unit)
		p.result(p.activate(unit))
		p.same(p.request(native.MethodDeactivate, map[string]any{"id": unit, "timeout_ms": 2000}), nil)
	}},
	{ID: "U5", What: "a call of an extension that is not active asks for it, or is refused", Level: Required, Needs: "extensions", Method: "conformance/unit", Sentence: "After the handshake no extension is active.", play: func(p *play) {
		p.extended(unit)
		id := p.request("conformance/unit", nil)
		p.expect("the request extension/need of the host, or the error NotActive of request %d", id)
		m := p.find(func(m *message) bool {
			return m.kind == codec.Request && m.method == native.MethodNeed || m.kind == codec.Response && m.id == id
		})
		if m.kind == codec.Request {
			p.send(codec.Response, m.id, map[string]any{"name": codec.NameNotActive, "message": "not now"}, nil)
			p.failure(id, "")
		} else if text(m.failure, "name") != codec.NameNotActive {
			p.fail("%s", m.text)
		}
	}},
}

// activate has an extension activated and returns the id of the request.
func (p *play) activate(id string) uint64 {
	return p.request(native.MethodActivate, map[string]any{"id": id, "event": "*", "startup": false})
}
