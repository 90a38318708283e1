//go:build linux

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/intercept/secret"
	"github.com/hostsup/hostsup/intercept/secret/stores"
	"github.com/hostsup/hostsup/supervisor"
)

// What an extension has in context.secrets is there after it has moved, after a
// crash and for the next supervisor; another host has its own, and values are
// nowhere to be seen.
func TestExtensionSecrets(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			const one, two, three = "first-tOken+9/77aa52", `{"token":"secOnd 3b"}`, "the other host's 4c61"
			state := t.TempDir()
			options := stores.Options{Backend: stores.File, File: filepath.Join(t.TempDir(), "secrets.age")}
			source, err := options.Open()
			if err != nil {
				t.Fatal(err)
			}
			store := secret.Open(source, 0)
			defer store.Close()
			if err := store.Set(ctx(t), "github", []byte("the operator's")); err != nil {
				t.Fatal(err)
			}
			keeper := func(name string) supervisor.HostSpec {
				s := edited(t, version, "editor", func(_ *plan.Spec, o *vscode.Options) { o.Name = "" })
				s.Name = name
				return s
			}
			spec := supervisor.Spec{Groups: []supervisor.GroupSpec{supervisor.Alone(keeper("vs")), supervisor.Alone(keeper("other"))}, StateDir: state, Secrets: options}
			keys := func(h *supervisor.Host, want string) {
				t.Helper()
				if version == "1.100.3" {
					want = "null" // it cannot ask for them
				}
				gives(t, h, want, "keys")
			}
			quoted := func(value string) string {
				text, err := json.Marshal(value)
				if err != nil {
					t.Fatal(err)
				}
				return string(text)
			}

			var told readable
			log := hclog.New(&hclog.LoggerOptions{Level: hclog.Trace, Output: &told, DisableTime: true})
			sup := start(t, spec, supervisor.WithLogger(log))
			h, other := host(t, sup, "vs"), host(t, sup, "other")
			follow, stop := context.WithCancel(ctx(t))
			followed, asked := make(chan struct{}), make(chan bool, 1000)
			defer func() { stop(); <-followed }()
			ready := make(chan struct{})
			go func() {
				defer close(followed)
				close(ready)
				for m := range h.Messages(follow) {
					told.put(t, "message", m)
					if m.Method == "MainThreadSecretState.$setPassword" {
						asked <- true
					}
				}
			}()
			<-ready
			gives(t, h, `null`, "kept", "token")
			keys(h, `[]`)
			for followed := false; !followed; { // until the follower has begun
				gives(t, h, `null`, "keep", "token", one)
				select {
				case followed = <-asked:
				default:
				}
			}
			gives(t, h, quoted(one), "kept", "token")
			for _, key := range []string{"github", "../../../github", "/github", "token/"} {
				gives(t, h, `null`, "kept", key)
			}
			gives(t, h, `null`, "keep", "a key/with: all", two)
			keys(h, `["a key/with: all","token"]`)
			eventually(t, func() bool {
				var news []string
				if err := executes(t, h, &news, "memo.news"); err != nil {
					t.Fatal(err)
				}
				return slices.Contains(news, "token") && slices.Contains(news, "a key/with: all")
			}, "the extension is not told of changes")
			for _, short := range []string{"", "[]", "abc"} {
				gives(t, h, `null`, "keep", "short", short)
				gives(t, h, quoted(short), "kept", "short")
			}
			gives(t, h, `null`, "forget", "short")
			var last []string
			for i := range 20 { // of several at once the last one stays
				last = append(last, fmt.Sprintf("the value of number %d", i))
			}
			if err := executes(t, h, nil, "memo.keepAll", "many", last); err != nil {
				t.Error(err)
			}
			gives(t, h, quoted(last[19]), "kept", "many")
			gives(t, h, `null`, "forget", "many")
			gives(t, h, `null`, "kept", "many")

			gives(t, other, `null`, "kept", "token")
			keys(other, `[]`)
			gives(t, other, `null`, "forget", "token")
			gives(t, other, `null`, "keep", "token", three)
			gives(t, h, quoted(one), "kept", "token")
			names, err := store.List(ctx(t))
			if want := []string{"github", "vscode/other/hostsup.memo/token", "vscode/vs/hostsup.memo/a:20key:2fwith:3a:20all", "vscode/vs/hostsup.memo/token"}; err != nil || !slices.Equal(names, want) {
				t.Errorf("%q, %v", names, err)
			}

			if err := sup.SetExtension(ctx(t), "vs", "hostsup.memo", extensions.Isolate); err != nil {
				t.Fatal(err)
			}
			gives(t, h, quoted(one), "kept", "token")
			apart := host(t, sup, "vs~hostsup.memo")
			gives(t, h, `null`, "keep", "token", two)
			gives(t, h, quoted(two), "kept", "token")
			eventually(t, func() bool {
				var news []string
				if err := executes(t, h, &news, "memo.news"); err != nil {
					t.Fatal(err)
				}
				return slices.Contains(news, "token")
			}, "the extension is not told of changes where it is apart")
			gives(t, h, `null`, "forget", "token")
			gives(t, h, `null`, "kept", "token")
			gives(t, h, `null`, "keep", "token", one)
			for _, x := range []*supervisor.Host{h, other} {
				if err := executes(t, x, nil, "memo.tell", "token"); err != nil {
					t.Error(err)
				}
			}
			life := apart.Life()
			if err := executes(t, h, nil, "memo.die", "token"); err == nil {
				t.Error("it has survived")
			}
			runs(t, apart, life+1)
			gives(t, h, quoted(one), "kept", "token")

			tell := func() {
				told.put(t, "status", sup.Status())
				for _, e := range sup.History() {
					told.put(t, "event", e)
				}
				for _, h := range sup.Hosts() {
					told.put(t, "tail", h.Tail(1000))
				}
			}
			eventually(t, func() bool {
				all, err := sup.Crashes("")
				if err != nil {
					t.Error(err)
				}
				for _, r := range all {
					told.put(t, "crash", r)
				}
				return len(all) > 0
			}, "the crash report is not there")
			tell()
			end(t, sup)
			tell()
			told.clean(t, state, append(last, one, two, three)...)
			for _, text := range []string{
				"it is [redacted: vscode/vs/hostsup.memo/token].", "it is [redacted: vscode/other/hostsup.memo/token].", "and last [redacted: vscode/vs/hostsup.memo/token]",
				`"method":"MainThreadSecretState.$setPassword","params":"[redacted]"`,
			} {
				if !strings.Contains(told.String(), text) {
					t.Errorf("nobody is told of %q", text)
				}
			}

			sup = start(t, spec)
			h, other = host(t, sup, "vs"), host(t, sup, "other")
			gives(t, h, quoted(one), "kept", "token")
			gives(t, h, quoted(two), "kept", "a key/with: all")
			gives(t, other, quoted(three), "kept", "token")
		})
	}
}

// Hosts that share what they keep hear of each other's changes.
func TestExtensionSecretsAreShared(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			sharing := func(name string) supervisor.HostSpec {
				return vscodeHost(t, version, func(s *supervisor.HostSpec) {
					root, _ := vscode.Root(s.Command)
					s.Name, s.Protocol = name, vscode.New(vscode.Options{Root: root, Folders: []string{"testdata/vscode/editor/memo"}, State: t.TempDir(), Name: "shared"})
				})
			}
			sup := start(t, supervisor.Spec{
				Groups:  []supervisor.GroupSpec{supervisor.Alone(sharing("one")), supervisor.Alone(sharing("two"))},
				Secrets: stores.Options{Backend: stores.File, File: filepath.Join(t.TempDir(), "secrets.age")},
			})
			one, two := host(t, sup, "one"), host(t, sup, "two")
			for _, h := range []*supervisor.Host{one, two} {
				if err := h.Call(ctx(t), activate, []any{"onCommand:memo.run", 0}, nil); err != nil {
					t.Fatal(err)
				}
			}
			gives(t, one, `null`, "keep", "token", "between us")
			eventually(t, func() bool {
				var news []string
				if err := executes(t, two, &news, "memo.news"); err != nil {
					t.Fatal(err)
				}
				return slices.Equal(news, []string{"token"})
			}, "the other host is not told")
			gives(t, two, `"between us"`, "kept", "token")
		})
	}
}
