package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	wire "github.com/hostsup/hostsup/codec/vscode"
	"github.com/hostsup/hostsup/internal/leaktest"
	"github.com/hostsup/hostsup/workbench"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// fixed is a source of sessions that makes one for each scope.
type fixed struct{ sessions []Session }

func (f *fixed) Sessions(_ context.Context, q Query) (out []Session, _ error) {
	for _, s := range f.sessions {
		if q.Account == nil || q.Account.ID == s.Account.ID {
			out = append(out, s)
		}
	}
	return out, nil
}

func (f *fixed) Create(_ context.Context, q Query) (Session, error) {
	return Session{ID: "made", AccessToken: "made", Account: Account{"m", "Made"}, Scopes: q.Scopes}, nil
}

func (f *fixed) Remove(context.Context, string) error { return nil }

// asks asks for a session and returns its token, or the name of the error.
func asks(t *testing.T, s *Service, provider string, options string, scopes any) string {
	t.Helper()
	const method = "MainThreadAuthentication.$getSession"
	params := workbench.Params(provider, scopes, "Acme.Asker", "Asker", json.RawMessage(options))
	out, err := s.Methods()[method].Do(t.Context(), workbench.NewCall(nil, 1, method, params))
	var e *codec.Error
	if errors.As(err, &e) {
		return e.Name
	}
	if err != nil {
		return err.Error()
	}
	raw, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	if string(raw) == wire.Undefined {
		return "none"
	}
	var got struct{ AccessToken string }
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	return got.AccessToken
}

func TestChoice(t *testing.T) {
	ada, bob := Session{ID: "1", AccessToken: "ada", Account: Account{"a", "Ada"}}, Session{ID: "2", AccessToken: "bob", Account: Account{"b", "Bob"}}
	all := func(Access) bool { return true }
	onlyBob := func(a Access) bool { return a.Account.ID == "b" }
	for _, c := range []struct {
		name     string
		sessions []Session
		multiple bool
		allow    func(Access) bool
		options  string
		want     string
	}{
		{"first of one account", []Session{ada, bob}, false, all, `{}`, "ada"},
		{"first that is allowed", []Session{ada, bob}, true, onlyBob, `{}`, "bob"},
		{"nothing is allowed", []Session{ada, bob}, true, nil, `{}`, "none"},
		{"nothing is allowed, silently", []Session{ada}, true, nil, `{"silent":true}`, "none"},
		{"nothing is allowed, nothing is made", []Session{ada}, true, nil, `{"createIfNone":true}`, NameNotAllowed},
		{"nothing is there", nil, true, all, `{}`, "none"},
		{"made", nil, true, all, `{"createIfNone":true}`, "made"},
		{"made with a text", nil, true, all, `{"createIfNone":{"detail":"x"}}`, "made"},
		{"not made", nil, true, nil, `{"createIfNone":true}`, NameNotAllowed},
		{"made for an account that is not allowed", nil, true, func(a Access) bool { return a.Account.ID == "" }, `{"createIfNone":true}`, NameNotAllowed},
		{"not made if there is one", []Session{ada}, true, all, `{"createIfNone":true}`, "ada"},
		{"chosen if there are some", []Session{ada, bob}, true, onlyBob, `{"createIfNone":true}`, "bob"},
		{"made if there is one", []Session{ada}, true, all, `{"forceNewSession":true}`, "made"},
		{"of an account", []Session{ada, bob}, true, all, `{"account":{"id":"b","label":"Bob"}}`, "bob"},
		{"of an account that is not there", []Session{ada}, true, all, `{"account":{"id":"b","label":"Bob"}}`, "none"},
		{"another account signs in", []Session{ada}, true, all, `{"createIfNone":true,"account":{"id":"b","label":"Bob"}}`, codec.NameInvalidParams},
		{"contradiction", nil, true, all, `{"createIfNone":true,"forceNewSession":true}`, codec.NameInvalidParams},
		{"contradiction of silence", nil, true, all, `{"forceNewSession":true,"silent":true}`, codec.NameInvalidParams},
		{"a server", []Session{ada}, true, all, `{"authorizationServer":{"$mid":1,"scheme":"https"}}`, wire.NameNotSupported},
	} {
		t.Run(c.name, func(t *testing.T) {
			opt := Options{Allow: c.allow, Providers: []Provider{{ID: "p", MultipleAccounts: c.multiple, Source: &fixed{c.sessions}}}}
			if got := asks(t, New(opt), "p", c.options, []string{"x"}); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestAccountStaysTheSame(t *testing.T) {
	f := &fixed{[]Session{{ID: "1", AccessToken: "ada", Account: Account{"a", "Ada"}}, {ID: "2", AccessToken: "bob", Account: Account{"b", "Bob"}}}}
	s := New(Options{Listed: map[string][]string{"p": {"acme.ASKER"}}, Providers: []Provider{{ID: "p", MultipleAccounts: true, Source: f}}})
	for _, step := range [][2]string{
		{`{}`, "ada"}, {`{"createIfNone":true,"account":{"id":"b","label":"Bob"}}`, "bob"}, {`{}`, "ada"},
	} {
		if got := asks(t, s, "p", step[0], []string{}); got != step[1] {
			t.Errorf("%s: %s, want %s", step[0], got, step[1])
		}
	}
	f.sessions = f.sessions[:0]
	if got := asks(t, s, "p", `{"createIfNone":true}`, []string{}); got != "made" {
		t.Error(got)
	}
	f.sessions = []Session{{ID: "1", AccessToken: "ada", Account: Account{"a", "Ada"}}, {ID: "3", AccessToken: "again", Account: Account{"m", "Made"}}}
	for _, step := range [][2]string{{`{}`, "again"}, {`{"clearSessionPreference":true}`, "ada"}} {
		if got := asks(t, s, "p", step[0], []string{}); got != step[1] {
			t.Errorf("%s: %s, want %s", step[0], got, step[1])
		}
	}
}

// A host says itself which extension asks. It gets no session in the name of an extension that runs in
// another host, which may be confined otherwise.
func TestExtensionOfAnotherHostGetsNothing(t *testing.T) {
	where := ""
	s := New(Options{
		Listed:    map[string][]string{"p": {"acme.asker"}},
		Providers: []Provider{{ID: "p", Source: &fixed{[]Session{{ID: "1", AccessToken: "ada"}}}}},
		Runs: func(_ context.Context, host, extension string) (bool, error) {
			return host == where && extension == "acme.asker", nil
		},
	})
	if got := asks(t, s, "p", `{}`, []string{}); got != "ada" { // calls of tests have no host
		t.Error(got)
	}
	where = "other"
	for _, options := range []string{`{}`, `{"silent":true}`, `{"createIfNone":true}`, `{"forceNewSession":true}`} {
		if got := asks(t, s, "p", options, []string{}); got != NameNotAllowed {
			t.Errorf("%s: %s", options, got)
		}
	}
}

func TestWithoutProvider(t *testing.T) {
	for options, want := range map[string]string{
		`{}`: "none", `{"silent":true}`: "none", `{"createIfNone":false}`: "none",
		`{"createIfNone":true}`: wire.NameNotSupported, `{"forceNewSession":{"detail":"x"}}`: wire.NameNotSupported,
	} {
		if got := asks(t, New(Options{}), "github", options, []string{"repo"}); got != want {
			t.Errorf("%s: %s, want %s", options, got, want)
		}
	}
	challenge := map[string]any{"wwwAuthenticate": "Bearer", "fallbackScopes": []string{}}
	if got := asks(t, New(Options{}), "github", `{}`, challenge); got != wire.NameNotSupported {
		t.Error(got)
	}
}

// A token must not be in a text, however a session is printed, and its value must be held.
func TestTokensAreNotPrinted(t *testing.T) {
	session := Session{ID: "1", AccessToken: "sesame-1", IDToken: "sesame-2"}
	raw, err := json.Marshal(session)
	text := fmt.Sprintf("%v %+v %#v %s %q %s", session, session, session, session, session, raw)
	if err != nil || strings.Contains(text, "sesame") || !strings.Contains(text, redacted) {
		t.Errorf("%s, %v", text, err)
	}
	var held []string
	released := 0
	s := New(Options{
		Allow: func(Access) bool { return true }, Providers: []Provider{{ID: "p", Source: &fixed{[]Session{session}}}},
		Hold: func(name string, value []byte) func() {
			held = append(held, name+" "+string(value))
			return func() { released++ }
		},
	})
	for range 2 {
		if got := asks(t, s, "p", `{}`, []string{}); got != "sesame-1" {
			t.Error(got)
		}
	}
	if want := []string{"token of p sesame-1", "token of p sesame-2"}; !slices.Equal(held, want) {
		t.Errorf("%q", held)
	}
	for i := range maxHeld {
		s.hold(s.providers["p"], Session{AccessToken: Token(fmt.Sprint(i))})
	}
	if released != 2 || len(s.held) != maxHeld {
		t.Errorf("%d released, %d held", released, len(s.held))
	}
	if err := s.Close(); err != nil || released != maxHeld+2 {
		t.Errorf("%d, %v", released, err)
	}
}

func TestValidate(t *testing.T) {
	for want, list := range map[string][]Provider{
		"an ID expected": {{Source: &fixed{}}}, "a Source expected": {{ID: "p"}}, "there are two": {{ID: "p", Source: &fixed{}}, {ID: "p", Source: &fixed{}}},
	} {
		if err := Validate(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := Validate([]Provider{{ID: "p", Source: &fixed{}}, {ID: "q", Source: &fixed{}}}); err != nil {
		t.Error(err)
	}
}

// A session without a token is refused, and the error does not have what it has.
func TestSessionsOfExtensionsAreChecked(t *testing.T) {
	for _, raw := range []string{`null`, `7`, `{"id":"sesame"}`, `{"id":7,"accessToken":"sesame"}`, `{"accessToken":"sesame"}`} {
		if _, err := read(json.RawMessage(raw)); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s: %v", raw, err)
		}
	}
	s, err := read(json.RawMessage(`{"$object":{"id":"1","accessToken":"t","idToken":{"$undefined":true},"account":{"id":"a","label":"A"},"scopes":[],"more":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s", s.result()); strings.Contains(got, "idToken") || !strings.Contains(got, `"more":1`) {
		t.Error(got)
	}
}
