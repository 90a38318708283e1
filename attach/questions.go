package attach

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
)

// manner is what becomes of a request that the host did not answer before it ended.
type manner int

const (
	// fails: it may have changed something. The person has to learn that it is lost.
	fails manner = iota
	// fades: it only reads, but what it asks holds for the life that ended. An editor
	// shows nothing for it.
	fades
	// repeats: it only reads, and the next life can answer it as well.
	repeats
)

// manners are those of the requests of LSP 3.18. What is missing fails.
var manners = map[string]manner{
	"textDocument/hover": repeats, "textDocument/signatureHelp": repeats, "textDocument/completion": repeats,
	"textDocument/inlineCompletion": repeats, "textDocument/declaration": repeats, "textDocument/definition": repeats,
	"textDocument/typeDefinition": repeats, "textDocument/implementation": repeats, "textDocument/references": repeats,
	"textDocument/documentHighlight": repeats, "textDocument/documentSymbol": repeats, "textDocument/codeAction": repeats,
	"textDocument/codeLens": repeats, "textDocument/documentLink": repeats, "textDocument/documentColor": repeats,
	"textDocument/colorPresentation": repeats, "textDocument/formatting": repeats, "textDocument/rangeFormatting": repeats,
	"textDocument/rangesFormatting": repeats, "textDocument/onTypeFormatting": repeats, "textDocument/rename": repeats,
	"textDocument/prepareRename": repeats, "textDocument/foldingRange": repeats, "textDocument/selectionRange": repeats,
	"textDocument/prepareCallHierarchy": repeats, "textDocument/prepareTypeHierarchy": repeats, "textDocument/moniker": repeats,
	"textDocument/semanticTokens/full": repeats, "textDocument/semanticTokens/range": repeats, "textDocument/inlayHint": repeats,
	"textDocument/linkedEditingRange": repeats, "textDocument/inlineValue": repeats, "textDocument/willSaveWaitUntil": repeats,
	"textDocument/diagnostic": repeats, "workspace/symbol": repeats,

	// They name something that the life has given out.
	"completionItem/resolve": fades, "codeAction/resolve": fades, "codeLens/resolve": fades, "documentLink/resolve": fades,
	"inlayHint/resolve": fades, "workspaceSymbol/resolve": fades, "callHierarchy/incomingCalls": fades,
	"callHierarchy/outgoingCalls": fades, "typeHierarchy/supertypes": fades, "typeHierarchy/subtypes": fades,
	"textDocument/semanticTokens/full/delta": fades, "workspace/diagnostic": fades,
}

// mannerOf returns what becomes of a request if it is lost.
func mannerOf(method string, params codec.Raw) manner {
	m := manners[method]
	if m != repeats {
		return m
	}
	var p struct {
		Partial  json.RawMessage `json:"partialResultToken"` // a part of the answer may have come
		Previous json.RawMessage `json:"previousResultId"`
	}
	_ = json.Unmarshal(params, &p) // what is no object has neither
	if p.Partial != nil || p.Previous != nil {
		return fades
	}
	return repeats
}

// question is a request of a client's that is open.
type question struct {
	client  *client
	method  string
	params  codec.Raw // as the client wrote them
	about   *view     // the document that it names; nil: none
	edits   uint64    // of that, when it was asked
	missed  bool      // under hub.mu: a life has begun with another text of the document
	another bool      // it was asked a second time
	waits   bool      // under hub.mu: for the next life
	life    uint64    // under hub.mu: that has it; 0 if that is not known
	refers  bool      // under hub.mu: to an answer of that life
}

// outdated reports whether the client has edited or closed the document since it asked.
// Under hub.mu.
func (q *question) outdated() bool { return q.about != nil && q.about.edits != q.edits }

// overtaken returns an error if another client has used the document since with another text, which
// the host keeps: asked once more, the question would take that away. It must be called in turn.
func (q *question) overtaken() error {
	h := q.client.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if q.about == nil {
		return nil
	}
	if d, v := h.docs.view(q.client, subject(q.params)); v != q.about || v.text != d.text {
		return &codec.Error{Code: codeContentModified, Message: fmt.Sprintf("%s was lost when host %q ended, and another program has another text of the document now", q.method, h.host.Name())}
	}
	return nil
}

// put hands the question to the host, with the client's text of the document that it
// names. It must be called in turn.
func (q *question) put() (method string, params codec.Raw, tokens []string) {
	c, h := q.client, q.client.hub
	method = q.method
	params = h.rename(c, q.params, &tokens, "workDoneToken")
	params = h.rename(c, params, &tokens, "partialResultToken")
	h.carry(c.ctx, func() outcome {
		q.missed, q.waits, q.life = false, h.line == nil, 0
		if !q.waits {
			q.life = h.line.Life()
		}
		if identified[method] {
			method, params = untagged(method, params, q.life)
			q.refers = refers(params)
		}
		h.questions[q] = true
		return h.brings(c, q.params)
	})
	return method, params, tokens
}

// inquire hands a request of the client to the host, and once more to the next life if
// it was lost and only reads.
func (c *client) inquire(m *codec.Message) {
	h := c.hub
	q := &question{client: c, method: m.Method, params: m.Params}
	h.mu.Lock()
	if _, q.about = h.docs.view(c, subject(m.Params)); q.about != nil {
		q.edits = q.about.edits
	}
	h.mu.Unlock()
	h.inTurn(c.ctx, func() {
		method, params, tokens := q.put()
		c.pursue(m.ID, method, params, tokens, q.settle)
	})
}

// settle makes of what came of the question what the client is told.
func (q *question) settle(e *errand, result codec.Raw, err error) (codec.Raw, error) {
	h := q.client.hub
	lost := q.isLost(err)
	how := fails
	if lost {
		how = mannerOf(q.method, q.params)
	}
	h.mu.Lock()
	old, missed := q.outdated(), q.missed
	h.mu.Unlock()
	if how == repeats && !q.another && !old && q.client.ctx.Err() == nil {
		q.another = true
		result, err = q.repeat(e)
		return q.settle(e, result, err)
	}
	h.mu.Lock()
	delete(h.questions, q)
	life := q.life
	h.mu.Unlock()
	switch {
	case how != fails:
		return nil, &codec.Error{Code: codeContentModified, Message: err.Error()}
	case !lost && missed && !errors.Is(err, actors.ErrCancelled):
		return nil, &codec.Error{Code: codeContentModified, Message: fmt.Sprintf("%s was asked while host %q was down, and the document has changed since", q.method, h.host.Name())}
	}
	if err != nil {
		return nil, err
	}
	if identified[q.method] {
		result = tagged(result, life)
	}
	return h.numbered(q.client, result), nil
}

// isLost reports whether a life ended before it answered the question. A host that was
// stopped before it got the question has not lost it, unless a person is restarting
// it, or the supervisor ends: the next one may answer.
func (q *question) isLost(err error) bool {
	var end *actors.HostError
	if !errors.As(err, &end) {
		return false
	}
	return errors.Is(end, actors.ErrCrashed) || errors.Is(end, actors.ErrUnresponsive) ||
		errors.Is(end, actors.ErrStopped) && (end.Life != 0 || q.another || errors.Is(end, actors.ErrClosed))
}

// repeat asks the next life and waits for what comes of it.
func (q *question) repeat(e *errand) (result codec.Raw, err error) {
	c := q.client
	var tokens []string
	defer func() { c.hub.forget(tokens) }()
	err = errExit // unless the turn comes
	var p *actors.Pending
	c.hub.inTurn(c.ctx, func() {
		if err = q.overtaken(); err != nil {
			return
		}
		var method string
		var params codec.Raw
		method, params, tokens = q.put()
		p, err = c.dispatch(e, method, params)
	})
	if err != nil {
		return nil, err
	}
	return c.outcome(p)
}

// markMissed marks the questions that the life which begins must not answer: it has
// another text of their document than the client had when it asked, or not the answer
// that they refer to. Under the lock.
func (h *Hub) markMissed() {
	for q := range h.questions {
		switch now := h.line.Life(); {
		case q.waits:
			q.waits, q.life = false, now
		case q.life != now:
			q.life, q.missed = 0, q.refers // lost, answered, or handed on to this life
		}
		if q.about != nil {
			d, v := h.docs.view(q.client, subject(q.params))
			q.missed = q.missed || q.outdated() || v != q.about || v.text != d.text
		}
	}
}
