package secret

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/actors"
	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/intercept/guard"
	"github.com/hostsup/hostsup/lifecycle/hostspec"
	"github.com/hostsup/hostsup/lifecycle/record"
)

// chest is a source of secrets in memory.
type chest struct {
	mu  sync.Mutex
	all map[string]string
	err error
}

func (c *chest) Get(name string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, found := c.all[name]
	if !found && c.err == nil {
		return nil, ErrNotFound
	}
	return []byte(v), c.err
}

func (c *chest) Set(name string, value []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all[name] = string(value)
	return c.err
}

func (c *chest) Delete(name string) error {
	_, err := c.Get(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.all, name)
	return err
}

func (c *chest) List() ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.all)), c.err
}

func (c *chest) Where() string { return "a chest at home" }

// vaultOf is the vault of a host.
func vaultOf(t *testing.T, c *chest, host string) vault {
	t.Helper()
	tree := Tree{Store: Open(c, 0), Redactor: NewRedactor(time.Hour)}
	t.Cleanup(tree.Store.Close)
	t.Cleanup(tree.Redactor.Close)
	p := vscode.New(vscode.Options{})
	w := &actors.World{Log: hclog.NewNullLogger(), Journal: record.NewJournal(nil)}
	return vault{New(Rule{}, actors.Detached(w, actors.HostSpec{Spec: hostspec.Spec{Name: host, Command: []string{"x"}, Protocol: p}}), tree), 1, host}
}

// Nothing that a host claims leads to what is another's.
func TestVaultIsOnesOwn(t *testing.T) {
	t.Parallel()
	c := &chest{all: map[string]string{
		"github": "the operator's", "vscode/other/a.b/k": "another host's", "vscode/code/a.b/:zz": "no name", "vscode/code/a.b": "no key",
		"vscode/code/a.b/k/k": "too many", "mcp/code/a.b/k": "another protocol's",
	}}
	before := maps.Clone(c.all)
	v := vaultOf(t, c, "code")
	for _, owner := range []string{"a.b", "../other/a.b", "", "a.b/k", ":zz", "../../github"} {
		for _, key := range []string{"k", "", "../k", "../../../github", "/k", "k/k", ":zz", "k\x00", strings.Repeat("k", 300)} {
			if got, found, err := v.Get(t.Context(), owner, key); found || err != nil {
				t.Errorf("%q %q: %q, %v", owner, key, got, err)
			}
			if found, err := v.Delete(t.Context(), owner, key); found || err != nil {
				t.Errorf("%q %q is deleted: %v", owner, key, err)
			}
		}
		if keys, err := v.Keys(t.Context(), owner); len(keys) > 0 || err != nil {
			t.Errorf("%q, %v", keys, err)
		}
		if err := v.Set(t.Context(), owner, "../a", "value of "+owner); err != nil {
			t.Error(err)
		}
		keys, err := v.Keys(t.Context(), owner)
		if got, found, gerr := v.Get(t.Context(), owner, "../a"); !slices.Equal(keys, []string{"../a"}) || !found || got != "value of "+owner || err != nil || gerr != nil {
			t.Errorf("%q, %q, %v, %v", keys, got, err, gerr)
		}
		if text := v.ref.Redactor.String("it is value of " + owner); !strings.HasPrefix(text, "it is [redacted: vscode/code/") {
			t.Error(text)
		}
		if found, err := v.Delete(t.Context(), owner, "../a"); !found || err != nil {
			t.Error(err)
		}
	}
	if !maps.Equal(c.all, before) {
		t.Errorf("%q", c.all)
	}
}

func TestVaultBounds(t *testing.T) {
	t.Parallel()
	c := &chest{all: map[string]string{"vscode/other/a.b/k": "another host's"}}
	refused := func(err error, name string, parts ...string) {
		t.Helper()
		var e *codec.Error
		if !errors.As(err, &e) && name != "" || e != nil && e.Name != name {
			t.Errorf("%v", err)
		}
		for _, part := range parts {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v, without %q", err, part)
			}
		}
	}
	v := vaultOf(t, c, "code")
	refused(v.Set(t.Context(), "a.b", strings.Repeat("k", 113), "value"), codec.NameInvalidParams, "129 bytes", "at most 128")
	if err := v.Set(t.Context(), "a.b", strings.Repeat("k", 112), "value"); err != nil {
		t.Error(err)
	}
	for value, why := range map[string]string{"": "it has 0 bytes", "abc": "expected at least 4", strings.Repeat("x", MaxValue+1): "at most 16384", "abc\x00": "NUL"} {
		refused(v.Set(t.Context(), "a.b", "k", value), "", why)
	}
	for i := len(c.all) - 1; i < maxKept; i++ {
		c.all[fmt.Sprintf("vscode/code/c.d/%d", i)] = "value"
	}
	refused(v.Set(t.Context(), "a.b", "one more", "value"), actors.NameError, `host "code"`, "256", "at most 256")
	if err := v.Set(t.Context(), "c.d", "1", "another"); err != nil {
		t.Error(err)
	}

	v = vaultOf(t, c, "changing")
	for i := range maxChanges {
		if err := v.Set(t.Context(), "a.b", "k", fmt.Sprintf("value %d", i)); err != nil {
			t.Fatal(err)
		}
	}
	refused(v.Set(t.Context(), "a.b", "k", "one too many"), guard.NameRateLimited, "256 values", "within 1h0m0s")
	if text := v.ref.Redactor.String("one too many"); text != "one too many" {
		t.Error(text)
	}
	if n := len(v.ref.holdings.latest); n != 1 {
		t.Errorf("%d are held", n)
	}
	v.ref.letGo(1)
	if n := len(v.ref.holdings.latest); n != 0 {
		t.Errorf("%d are held", n)
	}
	if got, found, err := v.Get(t.Context(), "a.b", "k"); got != "value 255" || !found || err != nil || len(v.ref.holdings.latest) > 0 { // the life has ended
		t.Errorf("%q, %v, %d held", got, err, len(v.ref.holdings.latest))
	}
}

// What is the matter is told in words that say what, and not where.
func TestVaultIsClosed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err        error
		want, wont string
	}{
		{fmt.Errorf("%w: no bus", ErrNoKeyring), "Error: secrets cannot be read or kept at the moment: no keyring can be reached", "bus"},
		{errors.New("open /home/ada/x"), "Error: secrets cannot be read or kept at the moment", "ada"},
		{ErrLocked, "the keyring is locked", "chest"},
	} {
		v := vaultOf(t, &chest{all: map[string]string{}, err: test.err}, "code")
		for method, params := range map[string]string{
			"MainThreadSecretState.$getPassword": `["a.b","k"]`, "MainThreadSecretState.$setPassword": `["a.b","k","value"]`,
			"MainThreadSecretState.$deletePassword": `["a.b","k"]`, "MainThreadSecretState.$getKeys": `["a.b"]`,
		} {
			_, err := v.ref.keeper(method)(t.Context(), &actors.Incoming{Host: "code", Life: 1, Method: method, Params: codec.Raw(params)})
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), test.wont) {
				t.Errorf("%s: %v", method, err)
			}
		}
		if v.ref.keeper("MainThreadStorage.$setValue") != nil {
			t.Error("it is kept")
		}
		v.ref.Store.Close()
		_, err := v.ref.keeper("MainThreadSecretState.$getKeys")(context.Background(), &actors.Incoming{Host: "code", Params: codec.Raw(`["a.b"]`)})
		if err == nil || !strings.Contains(err.Error(), "is closed") {
			t.Error(err)
		}
	}
}
