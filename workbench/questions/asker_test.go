package questions

import (
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/codec/native"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/internal/safeactor"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/workbench"
)

// A question that does not tell who asks is that of the only extension which its life has activated.
func TestAskerIsTheOnlyExtension(t *testing.T) {
	log := hclog.NewNullLogger()
	host := actors.Detached(&actors.World{System: safeactor.NewSystem(log), Log: log, Journal: record.NewJournal(nil)},
		actors.HostSpec{Spec: hostspec.Spec{Name: "h", Command: []string{"x"}, Protocol: native.New()}})
	s := New(Options{
		Questions: vscode.Questions{Rules: []vscode.QuestionRule{{Text: "*", Extension: "acme.one", Answer: "by one"}, {Text: "*", Answer: "by any"}}},
		Report:    func(string, string) {},
	})
	watch := s.Watch("h", 0)
	begins := func(life uint64, id string) {
		watch.Inbound(life, &codec.Message{Kind: codec.Request, Method: methodBegins, Params: workbench.Params(map[string]string{"value": id, "_lower": id})})
	}
	asks := func(life uint64) func() any {
		answer := s.Methods()["MainThreadQuickOpen.$input"].Begin(workbench.NewCall(host, life, "MainThreadQuickOpen.$input", workbench.Params(map[string]string{"prompt": "name"}, false)))
		return func() any {
			t.Helper()
			out, err := answer(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
	}
	is := func(what string, got, want any) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	is("no extension was activated", asks(1)(), "by any")
	begins(1, "acme.one")
	begins(1, "acme.one")
	first := asks(1)
	begins(1, "acme.two")
	is("asked before the second one", first(), "by one")
	is("two extensions", asks(1)(), "by any")
	begins(1, "acme.one")
	is("the first one again", asks(1)(), "by any")
	begins(2, "acme.one")
	is("the next life", asks(2)(), "by one")
	is("the life before", asks(1)(), "by any")
	begins(3, "acme.two")
	is("another extension", asks(3)(), "by any")
	watch = s.Watch("h", 4)
	begins(4, "acme.one")
	is("a life that was not seen from its beginning", asks(4)(), "by any")
	begins(5, "acme.one")
	is("the life after it", asks(5)(), "by one")
	watch.Inbound(5, &codec.Message{Kind: codec.Request, Method: methodBegins, Params: codec.Raw("{")})
	is("an activation of an unknown extension", asks(5)(), "by any")
}
