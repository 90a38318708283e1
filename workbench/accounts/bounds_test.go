package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
)

// many is a source with a session for each of many accounts.
type many struct {
	fixed
	n int
}

func (m *many) Sessions(context.Context, Query) (out []Session, _ error) {
	for i := range m.n {
		out = append(out, Session{ID: fmt.Sprint(i), AccessToken: "t", Account: Account{ID: fmt.Sprint(i)}})
	}
	return out, nil
}

func isInvalid(err error) bool {
	var e *codec.Error
	return errors.As(err, &e) && e.Name == codec.NameInvalidParams
}

// What extensions name stays in the memory of the supervisor.
func TestTextsOfExtensionsAreBounded(t *testing.T) {
	s := New(Options{})
	long := strings.Repeat("x", maxText+1)
	const get, register = "MainThreadAuthentication.$getSession", "MainThreadAuthentication.$registerAuthenticationProvider"
	for _, args := range [][]any{{long, []string{}, "a.b", "b", map[string]any{}}, {"p", []string{}, long, "b", map[string]any{}}} {
		if _, err := s.Methods()[get].Do(t.Context(), workbench.NewCall(nil, 1, get, workbench.Params(args...))); !isInvalid(err) {
			t.Errorf("%.20q: %v", args, err)
		}
	}
	for _, args := range [][]any{{long, "label", false}, {"p", long, false}, {map[string]any{"id": long}}} {
		if _, err := s.Methods()[register].Now(workbench.NewCall(nil, 1, register, workbench.Params(args...))); !isInvalid(err) {
			t.Errorf("%.20q: %v", args, err)
		}
	}
	for _, session := range []map[string]any{
		{"id": long, "accessToken": "t"}, {"id": "1", "accessToken": strings.Repeat("t", maxSession)},
		{"id": "1", "accessToken": "t", "account": map[string]any{"id": "a", "label": long}}, {"id": "1", "accessToken": "t", "account": map[string]any{"id": long}},
	} {
		raw, err := json.Marshal(session)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := read(raw); !isInvalid(err) {
			t.Errorf("%.40s: %v", raw, err)
		}
	}
}

// Accounts are compared once, however many a provider has.
func TestManyAccounts(t *testing.T) {
	const n, method = 300_000, "MainThreadAuthentication.$getAccounts" // minutes, if each is compared with all before
	s := New(Options{Providers: []Provider{{ID: "p", Source: &many{n: n}}}})
	out, err := s.Methods()[method].Do(t.Context(), workbench.NewCall(nil, 1, method, workbench.Params("p")))
	if list, _ := out.([]Account); len(list) != n || err != nil {
		t.Errorf("%d, %v", len(list), err)
	}
}

// A host that makes many sessions does not take the tokens of others out of what is held.
func TestTokensOfOthersStayHeld(t *testing.T) {
	released := map[string]int{}
	s := New(Options{Hold: func(name string, _ []byte) func() { return func() { released[name]++ } }})
	s.hold(&provider{id: "program"}, Session{AccessToken: "secret"})
	s.hold(&provider{id: "calm", host: "calm"}, Session{AccessToken: "calm"})
	for i := range 3 * maxHeld {
		s.hold(&provider{id: "loud", host: "loud"}, Session{AccessToken: Token(fmt.Sprint(i))})
	}
	if len(s.held) != maxHeld || released["token of program"]+released["token of calm"] != 0 {
		t.Errorf("%d held, released: %v", len(s.held), released)
	}
	if err := s.Close(); err != nil || released["token of program"] != 1 || released["token of loud"] != 3*maxHeld {
		t.Errorf("%v, %v", released, err)
	}
}
