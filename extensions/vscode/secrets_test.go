package vscode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
)

// drawer is a vault in memory.
type drawer struct {
	all  map[string]string
	told []string
	err  error
}

func (d *drawer) Get(_ context.Context, owner, key string) (string, bool, error) {
	v, found := d.all[owner+" "+key]
	return v, found, d.err
}

func (d *drawer) Set(_ context.Context, owner, key, value string) error {
	if d.err == nil {
		d.all[owner+" "+key] = value
	}
	return d.err
}

func (d *drawer) Delete(_ context.Context, owner, key string) (bool, error) {
	_, found := d.all[owner+" "+key]
	delete(d.all, owner+" "+key)
	return found, d.err
}

func (d *drawer) Keys(_ context.Context, owner string) (keys []string, err error) {
	for _, name := range slices.Sorted(maps.Keys(d.all)) {
		if key, ok := strings.CutPrefix(name, owner+" "); ok {
			keys = append(keys, key)
		}
	}
	return keys, d.err
}

func (d *drawer) Tell(method string, params codec.Raw) {
	d.told = append(d.told, method+" "+string(params))
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	beside := p.Beside("code")
	if a, b, c := p.Household("code"), beside.Household("code~a.b"), p.Household("other"); a != "code" || b != a || c != "other" {
		t.Error(a, b, c)
	}
	d := &drawer{all: map[string]string{"c.d k": "somebody's"}}
	does := func(k codec.SecretService, host, params, want, wrong string) {
		t.Helper()
		raw, err := k(t.Context(), d, host, codec.Raw(params))
		if string(raw) != want || (err == nil) != (wrong == "") || err != nil && !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %s, %v; want %s, %q", params, raw, err, want, wrong)
		}
	}
	get, set, del, keys := p.Keep(methodSecret), p.Keep(methodStoreSecret), p.Keep(methodDeleteSecret), p.Keep(methodSecretKeys)
	does(get, "code", `["a.b","k"]`, `{"$undefined":true}`, "")
	does(keys, "code", `["a.b"]`, "[]", "")
	does(set, "code", `["A.b","k","one"]`, "", "")
	does(set, "code", `["a.b","k 2","two"]`, "", "")
	does(get, "code", `["a.B","k"]`, `"one"`, "")
	does(keys, "code", `["a.b"]`, `["k","k 2"]`, "")

	// Changes take effect in the order of the requests, in whichever they run.
	early, late := p.Keep(methodStoreSecret), beside.Keep(methodStoreSecret)
	gone := p.Keep(methodDeleteSecret)
	does(late, "code~a.b", `["a.b","k","late"]`, "", "")
	does(early, "code", `["a.b","k","early"]`, "", "")
	does(get, "code", `["a.b","k"]`, `"late"`, "")
	does(early, "other", `["a.b","k 2","of another host"]`, "", "") // which the drawer cannot tell apart
	does(gone, "code", `["a.b","k"]`, "", "")
	does(gone, "code", `["a.b","k"]`, "", "") // is none any more
	does(late, "code", `["a.b","k","late"]`, "", "")
	does(get, "code", `["a.b","k"]`, `{"$undefined":true}`, "")
	does(del, "code", `["c.d","nothing"]`, "", "")
	want := []string{"k", "k 2", "k", "k 2", "k"}
	for i, key := range want {
		want[i] = methodSecretNews + ` [{"extensionId":"a.b","key":"` + key + `"}]`
	}
	if !slices.Equal(d.told, want) {
		t.Errorf("told: %q", d.told)
	}

	// What has failed is no later change.
	early, late = p.Keep(methodStoreSecret), p.Keep(methodStoreSecret)
	d.err = errors.New("stuck")
	does(late, "code", `["a.b","k","late"]`, "", "stuck")
	does(del, "code", `["a.b","k 2"]`, "", "stuck")
	d.err = nil
	does(early, "code", `["a.b","k","early"]`, "", "")
	does(get, "code", `["a.b","k"]`, `"early"`, "")

	for _, params := range []string{
		"", "null", "[]", "{}", `["a.b"]`, `["a.b",null,"v4lue"]`, `["a.b",7,"v4lue"]`, `[7,"k","v4lue"]`, `["a","k","v4lue"]`,
		`["a.` + strings.Repeat("b", 300) + `","k","v4lue"]`, `["a.b","k"]`, `["a.b","k",{"$undefined":true}]`, `["a.b","k",["v4lue"]]`,
	} {
		_, err := set(t.Context(), d, "code", codec.Raw(params))
		var e *codec.Error
		if !errors.As(err, &e) || e.Name != codec.NameInvalidParams || strings.Contains(e.Message, "v4lue") {
			t.Errorf("%s: %v", params, err)
		}
	}
	does(get, "code", `["a.b"]`, "", "expected")
	does(keys, "code", `[]`, "", "expected")
	if p.Keep("MainThreadSecretState.$other") != nil || p.Keep(methodGetState) != nil || p.Serve(methodSecret) != nil {
		t.Error("it is kept")
	}
	if !p.Confides(methodStoreSecret) || p.Confides(methodSecret) {
		t.Error("another one confides")
	}
}

// Extensions may store values that a store of secrets does not accept because they are too short.
func TestShortSecrets(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	d := &drawer{all: map[string]string{}}
	for value, want := range map[string]string{
		"": shortMark, "abc": shortMark + "abc", "[]": shortMark + "[]", "abcd": "abcd",
		shortMark: shortMark + shortMark, shortMark + "x": shortMark + shortMark + "x",
	} {
		params, err := json.Marshal([]string{"a.b", "k", value})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Keep(methodStoreSecret)(t.Context(), d, "code", params); err != nil || d.all["a.b k"] != want {
			t.Errorf("%q is kept as %q, %v", value, d.all, err)
		}
		var got string
		raw, err := p.Keep(methodSecret)(t.Context(), d, "code", codec.Raw(`["a.b","k"]`))
		if json.Unmarshal(raw, &got) != nil || got != value || err != nil {
			t.Errorf("%q is %s, %v", value, raw, err)
		}
	}
}

// Who waits behind a store that does not answer gives up with its context.
func TestSecretsWait(t *testing.T) {
	t.Parallel()
	p := New(Options{})
	p.secrets.busy <- struct{}{}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no time"))
	_, err := p.Keep(methodSecret)(ctx, &drawer{}, "code", codec.Raw(`["a.b","k"]`))
	if err == nil || err.Error() != "no time" {
		t.Error(err)
	}
}

// What is remembered of changes does not grow without end.
func TestSecretsOrderIsBounded(t *testing.T) {
	t.Parallel()
	p, d := New(Options{}), &drawer{all: map[string]string{}}
	for i := range 3 * changesKept {
		if _, err := p.Keep(methodStoreSecret)(t.Context(), d, "code", fmt.Appendf(nil, `["a.b","%d","v"]`, i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(p.secrets.changed); n < changesKept || n > 2*changesKept {
		t.Error(n)
	}
}
