package lsp

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hostsup/hostsup/workbench/language"
)

// triggered is a capability of the server with the characters at which the client asks by itself. Extensions
// register theirs when they are activated, which is later than initialize.
type triggered struct {
	name, method string
	// later reports whether the client can be told of changes.
	later func(*capabilities) bool
	// usual are the characters for clients that cannot, with spaces between them.
	usual string
	// options returns the capability with the characters of providers and the usual ones; nil: it is not
	// offered.
	options func(t language.Triggers, usual []string) map[string]any
}

var allTriggered = []triggered{
	{
		"completionProvider", "textDocument/completion", func(c *capabilities) bool { return c.TextDocument.Completion.DynamicRegistration }, `. : < " ' / @ # -`,
		func(t language.Triggers, usual []string) map[string]any {
			return map[string]any{"resolveProvider": true, "triggerCharacters": union(t.Completion, usual)}
		},
	},
	{
		"signatureHelpProvider", "textDocument/signatureHelp", func(c *capabilities) bool { return c.TextDocument.SignatureHelp.DynamicRegistration }, "( , <",
		func(t language.Triggers, usual []string) map[string]any {
			return map[string]any{"triggerCharacters": union(t.Signature, usual), "retriggerCharacters": union(t.Retrigger, nil)}
		},
	},
	{
		"documentOnTypeFormattingProvider", "textDocument/onTypeFormatting", func(c *capabilities) bool { return c.TextDocument.OnTypeFormatting.DynamicRegistration }, "; } \n",
		func(t language.Triggers, usual []string) map[string]any {
			all := union(t.Format, usual)
			if len(all) == 0 {
				return nil
			}
			return map[string]any{"firstTriggerCharacter": all[0], "moreTriggerCharacter": all[1:]}
		},
	},
}

// union returns the characters of two lists in order; never nil.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat([]string{}, a, b))))
}

// offerTriggered adds what the client takes only with initialize.
func (c *session) offerTriggered(out map[string]any) {
	now := c.s.opt.Language.Triggers()
	for _, t := range allTriggered {
		if !t.later(&c.caps) {
			out[t.name] = t.options(now, strings.Split(t.usual, " "))
		}
	}
}

type registration struct {
	ID      string         `json:"id"`
	Method  string         `json:"method"`
	Options map[string]any `json:"registerOptions,omitempty"`
}

// register tells the client of the characters of providers until the session ends, if it can be told.
func (c *session) register() {
	defer c.s.opt.Language.Subscribe(func() { wake(c.providers) })()
	known := map[string]string{} // options by method
	for {
		select {
		case <-c.providers:
		case <-c.ctx.Done():
			return
		}
		c.mu.Lock()
		started := c.started
		c.mu.Unlock()
		if !started {
			continue
		}
		now := c.s.opt.Language.Triggers()
		var gone, more []registration
		for _, t := range allTriggered {
			if !t.later(&c.caps) {
				continue
			}
			options := t.options(now, nil)
			raw, _ := json.Marshal(options) // it has texts and booleans only
			if known[t.method] == string(raw) || options == nil && known[t.method] == "" {
				continue
			}
			id := c.s.commandName() + "." + t.name
			if known[t.method] != "" {
				gone = append(gone, registration{ID: id, Method: t.method})
				delete(known, t.method)
			}
			if options != nil {
				known[t.method] = string(raw)
				options = maps.Clone(options)
				options["documentSelector"] = nil
				more = append(more, registration{id, t.method, options})
			}
		}
		c.asksFor("client/unregisterCapability", "unregisterations", gone)
		c.asksFor("client/registerCapability", "registrations", more)
	}
}

// asksFor sends registrations, if there are any.
func (c *session) asksFor(method, list string, of []registration) {
	if len(of) == 0 {
		return
	}
	var none any
	if err := c.ask(method, map[string]any{list: of}, &none); err != nil && c.ctx.Err() == nil {
		c.log(method + ": " + err.Error())
	}
}
