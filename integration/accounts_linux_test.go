//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/extensions/hosted"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/supervisor"
	signin "github.com/hostsup/hostsup/workbench/accounts"
)

// vault is a provider of accounts of a program.
type vault struct {
	mu       sync.Mutex
	sessions []signin.Session
	changed  func(signin.Change)
}

func (v *vault) Sessions(_ context.Context, q signin.Query) (out []signin.Session, _ error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.sessions {
		lacks := slices.ContainsFunc(q.Scopes, func(scope string) bool { return !slices.Contains(s.Scopes, scope) })
		if !lacks && (q.Account == nil || q.Account.ID == s.Account.ID) {
			out = append(out, s)
		}
	}
	return out, nil
}

func (v *vault) Create(_ context.Context, q signin.Query) (signin.Session, error) {
	if slices.Contains(q.Scopes, "admin") {
		return signin.Session{}, errors.New("the vault has no administrator")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	n := fmt.Sprint(len(v.sessions) + 1)
	s := signin.Session{ID: n, AccessToken: signin.Token("vault-token-" + n), Account: signin.Account{ID: "ada", Label: "Ada"}, Scopes: q.Scopes}
	v.sessions = append(v.sessions, s)
	return s, nil
}

func (v *vault) Remove(_ context.Context, id string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.sessions = slices.DeleteFunc(v.sessions, func(s signin.Session) bool { return s.ID == id })
	return nil
}

func (v *vault) watch(changed func(signin.Change)) (stop func()) {
	v.changed = changed
	return func() {}
}

// Extensions use accounts of the program and of each other, also across hosts, as the policy allows.
func TestAccounts(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		v := &vault{}
		spec := edited(t, version, "accounts", func(s *plan.Spec, o *vscode.Options) {
			s.Affinity = map[string]int{"acme.keyring": 2}
			o.Accounts = map[string][]string{"acme": {"Acme.Asker"}, "program": {"acme.asker"}, "acme-missing": {"acme.asker"}}
		})
		sup := start(t, supervisor.Spec{
			Groups: []supervisor.GroupSpec{supervisor.Alone(spec)},
			Parts:  []supervisor.Part{hosted.Part{Accounts: []signin.Provider{{ID: "program", Label: "Program", Source: v, Watch: v.watch}}}},
		})
		h := host(t, sup, spec.Name)
		session := func(want, provider string, scopes []string, options map[string]any) {
			t.Helper()
			if got := resultOf[string](t, h, "asker.session", provider, scopes, options); got != want && (want[0] != '~' || !strings.Contains(got, want[1:])) {
				t.Errorf("%s %v %v: %q, want %q", provider, scopes, options, got, want)
			}
		}
		create, silent, force := map[string]any{"createIfNone": true}, map[string]any{"silent": true}, map[string]any{"forceNewSession": true}

		// A provider of the program.
		session("none", "program", []string{"mail"}, silent)
		session("vault-token-1 Ada mail", "program", []string{"mail"}, create)
		session("vault-token-1 Ada mail", "program", []string{"mail"}, create)
		session("vault-token-2 Ada mail", "program", []string{"mail"}, force)
		session("vault-token-1 Ada mail", "program", []string{"mail"}, silent)
		session("~the vault has no administrator", "program", []string{"admin"}, create)
		session("~the options createIfNone and silent exclude each other", "program", []string{"mail"}, map[string]any{"createIfNone": true, "silent": true})
		changes := func(want ...string) {
			t.Helper()
			var got []string
			eventually(t, func() bool {
				got = append(got, resultOf[[]string](t, h, "asker.changes")...)
				return len(got) >= len(want)
			}, "changes", want)
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		}
		changes("program Program", "program Program")
		if err := v.Remove(ctx(t), "1"); err != nil {
			t.Fatal(err)
		}
		v.changed(signin.Change{Removed: []signin.Session{{ID: "1"}}})
		changes("program Program")
		session("vault-token-2 Ada mail", "program", []string{"mail"}, silent)

		// A provider of an extension in another host, which is activated first.
		session("none", "acme", []string{"read"}, silent)
		session("keyring-token-1 user 1 read", "acme", []string{"read"}, map[string]any{"createIfNone": map[string]string{"detail": "to read"}})
		session("keyring-token-1 user 1 read", "acme", []string{"read"}, silent)
		session("keyring-token-2 user 1 read", "acme", []string{"read"}, force) // of the account that was used before
		session("~the keyring is locked", "acme", []string{"broken"}, create)
		session("keyring-token-3 Bob read", "acme", []string{"read"}, map[string]any{"createIfNone": true, "account": map[string]string{"id": "bob", "label": "Bob"}})
		session("keyring-token-3 Bob read", "acme", []string{"read"}, nil) // the account that was used last
		if got := resultOf[[]string](t, h, "asker.accounts", "acme"); fmt.Sprint(got) != "[user 1 Bob]" {
			t.Errorf("%q", got)
		}
		changes("acme Acme", "acme Acme", "acme Acme")
		if got := resultOf[string](t, h, "keyring.own", silent); got != "keyring-token-1" {
			t.Errorf("%q", got)
		}
		resultOf[any](t, h, "keyring.drop")
		session("none", "acme", []string{"read"}, nil)

		// What there is not.
		session("none", "other", []string{"read"}, silent)
		session("~NotSupported: authentication.getSession is not supported: there is no provider \"other\"", "other", []string{"read"}, create)
		session("~has not registered it within 5s", "acme-missing", []string{"read"}, silent)
		// The program's provider cannot be replaced: its accounts are those of before.
		if got := h.Call(ctx(t), "asker.register", []any{"program"}, nil); got != nil && !strings.Contains(got.Error(), "program") {
			t.Error(got)
		}
		session("vault-token-2 Ada mail", "program", []string{"mail"}, silent)

		// A token that an extension prints is not in its log.
		resultOf[any](t, h, "asker.shout")
		eventually(t, func() bool {
			return slices.ContainsFunc(h.Tail(200), func(l supervisor.OutputLine) bool {
				if strings.Contains(l.Text, "vault-token") {
					t.Error(l.Text)
				}
				return l.Text == "the token is [redacted: token of program]"
			})
		}, "the line in the log")
	})
}

// An extension that no policy names gets no account, and an event says so. The program can decide
// otherwise.
func TestAccountsNeedConsent(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		v := &vault{}
		spec := edited(t, version, "accounts", func(*plan.Spec, *vscode.Options) {})
		var mu sync.Mutex
		allow := map[string]bool{}
		sup := start(t, supervisor.Spec{
			Groups: []supervisor.GroupSpec{supervisor.Alone(spec)},
			Parts: []supervisor.Part{hosted.Part{
				Accounts: []signin.Provider{{ID: "program", Source: v}},
				AllowAccount: func(a signin.Access) bool {
					mu.Lock()
					defer mu.Unlock()
					return a.Default || allow[a.Extension+" "+a.Provider+" "+a.Account.Label]
				},
			}},
		})
		h := host(t, sup, spec.Name)
		ask := func(provider string, options map[string]any) string {
			return resultOf[string](t, h, "asker.session", provider, []string{"read"}, options)
		}
		create := map[string]any{"createIfNone": true}
		if got := resultOf[string](t, h, "keyring.own", create); got != "keyring-token-1" {
			t.Errorf("%q", got)
		}
		refused := `NotAllowed: authentication.getSession: extension "acme.asker" may not use accounts of the provider "acme"`
		if got := ask("acme", create); got != refused {
			t.Errorf("%q", got)
		}
		if got := ask("acme", nil); got != "none" {
			t.Errorf("%q", got)
		}
		if got := ask("program", create); !strings.HasPrefix(got, "NotAllowed:") || len(v.sessions) != 0 {
			t.Errorf("%q, %v", got, v.sessions)
		}
		want := []string{`extension "acme.asker" may not use accounts of the provider "acme"`, `extension "acme.asker" may not use accounts of the provider "program"`}
		if got := messages(sup); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		mu.Lock()
		allow["acme.asker acme user 1"] = true
		mu.Unlock()
		if got := ask("acme", nil); got != "keyring-token-1 user 1 read" {
			t.Errorf("%q", got)
		}
	})
}
