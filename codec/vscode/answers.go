package vscode

import (
	_ "embed"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/hostsup/hostsup/codec"
)

// NameNotSupported is the name of the error by which a host learns that its editor does not have
// an API.
const NameNotSupported = "NotSupported"

// NotSupported returns the error for an API that the editor does not have, such as
// "window.createTerminal". why may be "". Extensions get it as an exception.
func NotSupported(api, why string) *codec.Error {
	text := api + " is not supported: there is no window"
	if why != "" {
		text = fmt.Sprintf("%s is not supported: %s", api, why)
	}
	return &codec.Error{Name: NameNotSupported, Message: text}
}

// MainThreadMethod is a method that hosts call.
type MainThreadMethod struct {
	Name     string // in full: "MainThreadClipboard.$readText"
	Releases string // "1.100.3", "1.139.1" or "both", of those
	// Answer is what a call is answered with that no service and no rule answers: "told", "unseen",
	// "undefined", "value" or "refused".
	Answer string
	Detail string // the value as JSON, or the API that is refused
}

//go:embed methods.txt
var methodsText string

// MainThreadMethods returns the methods of the releases that hostsup knows, by name.
func MainThreadMethods() iter.Seq[MainThreadMethod] {
	return func(yield func(MainThreadMethod) bool) {
		for line := range strings.Lines(methodsText) {
			if strings.HasPrefix(line, "#") {
				continue
			}
			var m MainThreadMethod
			m.Name, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			m.Releases, line, _ = strings.Cut(line, "\t")
			m.Answer, m.Detail, _ = strings.Cut(line, " ")
			if !yield(m) {
				return
			}
		}
	}
}

// answers has the answers to all methods.
var answers = sync.OnceValue(func() map[string]*codec.Message {
	out := map[string]*codec.Message{}
	for m := range MainThreadMethods() {
		a := &codec.Message{}
		switch m.Answer {
		case "value":
			a.Result = codec.Raw(m.Detail)
		case "refused":
			a.Err = NotSupported(m.Detail, "")
		}
		out[m.Name] = a
	}
	return out
})

// Answer returns what a host's request is answered with that no rule, handler or service answers: as
// by an editor without anything in it. What the host only tells is accepted. What it asks for is
// refused with [NotSupported], so that no extension takes for done what was not.
func (Language) Answer(method string) *codec.Message {
	actor, name, _ := strings.Cut(method, ".")
	if !strings.HasPrefix(actor, "MainThread") || !strings.HasPrefix(name, "$") {
		return nil
	}
	if a := answers()[method]; a != nil {
		return a
	}
	return &codec.Message{Err: NotSupported(method, "hostsup does not know this method")}
}

// shown is what a host is told of an editor without anything in it, before its
// extensions may look: there is one group of editors, in which no tab is open.
// Without that a look at the active group is an error in the host.
func shown(b *Actors) []codec.Message {
	const actor, method = "ExtHostEditorTabs", "$acceptEditorTabModel"
	if _, known := b.Number(actor); !known {
		return nil
	}
	return []codec.Message{{
		Kind: codec.Notification, Method: actor + "." + method,
		Params: codec.Raw(`[[{"groupId":0,"isActive":true,"viewColumn":0,"tabs":[]}]]`),
	}}
}
