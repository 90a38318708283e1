//go:build linux

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// put writes an extension whose command answers with its version. event is a
// further one that activates it.
func put(t testing.TB, root, name, version, event string) {
	t.Helper()
	dir := filepath.Join(root, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	events := ""
	if event != "" {
		events = fmt.Sprintf(`"activationEvents": [%q],`, event)
	}
	for file, text := range map[string]string{
		"package.json": fmt.Sprintf(`{"name": %q, "publisher": "hostsup", "version": %q, "engines": {"vscode": "^1.60.0"}, "main": "./main.js", %s
 "contributes": {"commands": [{"command": "%s.run", "title": "Run"}]}}`, name, version, events, name),
		"main.js": fmt.Sprintf(`const vscode = require('vscode');
exports.activate = (context) => context.subscriptions.push(vscode.commands.registerCommand('%s.run', () => '%s'));
`, name, version),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// What comes, goes and is replaced in the folders of a host that runs counts when
// they are looked into again, without a restart as long as it has never begun.
func TestExtensionsAreLookedForAgain(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, name := range []string{"a", "b", "c", "d"} {
				put(t, dir, name, "1.0.0", "")
			}
			sup, h := alone(t, extendedOf(t, version, "many", func(s *plan.Spec) {
				s.Folders, s.Disabled = []manifest.Root{{Dir: dir}}, []string{"hostsup.off"}
			}))
			rescan := func(want ...string) {
				t.Helper()
				list, err := sup.RescanExtensions(ctx(t), "vs")
				var got []string
				for _, d := range list {
					got = append(got, d.String())
				}
				if err != nil || strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Fatalf("%q, %v, want %q", got, err, want)
				}
			}
			answers := func(name, want string) {
				t.Helper()
				var got string
				if err := h.Call(ctx(t), name+".run", nil, &got); err != nil || got != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			active := func(names ...string) {
				t.Helper()
				for _, name := range names {
					eventually(t, func() bool { return extensionOf(t, sup, name).State == "active" }, name)
				}
			}
			activates(t, sup, "a", "b")
			rescan()

			put(t, dir, "fresh", "1.0.0", "")
			put(t, dir, "known", "1.0.0", "onLanguage:go") // which somebody has asked for
			put(t, dir, "star", "1.0.0", "*")              // the host's startup is over
			put(t, dir, "off", "1.0.0", "*")
			put(t, dir, "bad", "one", "")
			if err := sup.Activate(ctx(t), "", "onLanguage:go"); err != nil {
				t.Fatal(err)
			}
			rescan("hostsup.fresh 1.0.0 was added", "hostsup.known 1.0.0 was added", "hostsup.off 1.0.0 was added", "hostsup.star 1.0.0 was added")
			active("known", "star")
			answers("fresh", "1.0.0")
			for name, state := range map[string]string{"fresh": "active", "off": "disabled", "c": "inactive"} {
				if s := extensionOf(t, sup, name); s.State != state {
					t.Errorf("%+v", s)
				}
			}
			rescan()
			wrong := 0
			for _, line := range told(t, sup, record.KindExtension) {
				if strings.Contains(line, filepath.Join(dir, "bad")) {
					wrong++
				}
			}
			if wrong != 1 {
				t.Errorf("what is wrong was told %d times", wrong)
			}

			// A manifest of which one half is written is no news.
			whole, err := os.ReadFile(filepath.Join(dir, "a", "package.json"))
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range [][]byte{whole[:len(whole)/2], whole} {
				if err := os.WriteFile(filepath.Join(dir, "a", "package.json"), text, 0o600); err != nil {
					t.Fatal(err)
				}
				rescan()
			}
			says(t, told(t, sup, record.KindExtension), filepath.Join(dir, "a", "package.json")+": not JSON")
			answers("a", "1.0.0")
			runs(t, h, 1)

			// What nobody has activated goes, and is replaced, without a restart.
			if err := os.RemoveAll(filepath.Join(dir, "c")); err != nil {
				t.Fatal(err)
			}
			put(t, dir, "d", "2.0.0", "")
			rescan("hostsup.c 1.0.0 was removed", "hostsup.d 1.0.0 has become 2.0.0")
			if err := sup.SetExtension(ctx(t), "", "hostsup.c", extensions.Disable); !errors.Is(err, extensions.ErrUnknown) {
				t.Errorf("%v", err)
			}
			if err := h.Call(ctx(t), "c.run", nil, nil); err == nil {
				t.Error("the command of one that was removed was executed")
			}
			answers("d", "2.0.0")
			runs(t, h, 1)

			// What is active is replaced, and goes, with its life.
			put(t, dir, "b", "2.0.0", "")
			rescan("hostsup.b 1.0.0 has become 2.0.0")
			runs(t, h, 2)
			active("a", "b", "d", "fresh", "known", "star")
			answers("b", "2.0.0")
			if s := extensionOf(t, sup, "b"); s.Version != "2.0.0" {
				t.Errorf("%+v", s)
			}
			put(t, dir, "b", "2.0.0", "onLanguage:css")
			if err := os.RemoveAll(filepath.Join(dir, "fresh")); err != nil {
				t.Fatal(err)
			}
			rescan("hostsup.b 2.0.0 has changed", "hostsup.fresh 1.0.0 was removed")
			runs(t, h, 3)
			active("a", "b", "d", "known", "star")
			if err := h.Call(ctx(t), "fresh.run", nil, nil); err == nil {
				t.Error("the command of one that was removed was executed")
			}
			runs(t, h, 3)
			if n := h.Status().CrashesInWindow; n != 0 {
				t.Errorf("%d crashes", n)
			}
			says(t, told(t, sup, record.KindExtension), "hostsup.b 1.0.0 has become 2.0.0")
		})
	}
}

// A quarantine is left with the extension, and so is what speaks against it; one
// that comes again begins anew. What was refused for a loop is taken when another
// makes it possible.
func TestRemovedExtensionsLeaveNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a", "1.0.0", "")
	put(t, dir, "b", "1.0.0", "")
	loop := func(name, on string) {
		text := fmt.Sprintf(`{"name": %q, "publisher": "hostsup", "version": "1.0.0", "engines": {"vscode": "*"}, "main": "./main.js", "extensionDependencies": [%q]}`, name, on)
		put(t, dir, name, "1.0.0", "")
		if err := os.WriteFile(filepath.Join(dir, name, "package.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	loop("ying", "hostsup.yang")
	loop("yang", "hostsup.ying")
	sup, h := alone(t, extended(t, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} }))
	rescan := func(n int) {
		t.Helper()
		if list, err := sup.RescanExtensions(ctx(t), ""); err != nil || len(list) != n {
			t.Fatalf("%v, %v", list, err)
		}
	}
	activates(t, sup, "a")
	if err := sup.SetExtension(ctx(t), "", "hostsup.b", extensions.Isolate); err != nil {
		t.Fatal(err)
	}
	activates(t, sup, "b")
	if s := extensionOf(t, sup, "b"); s.Place != "vs~hostsup.b" || !s.Blame.Quarantined {
		t.Fatalf("%+v", s)
	}
	if s := extensionOf(t, sup, "ying"); s.State != "failed" {
		t.Errorf("%+v", s)
	}
	if err := os.RemoveAll(filepath.Join(dir, "b")); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "ying", "1.0.0", "")
	rescan(2)
	if _, err := sup.Host("vs~hostsup.b"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"ying", "yang"} {
		if s := extensionOf(t, sup, name); s.State != "inactive" {
			t.Errorf("%+v", s)
		}
	}
	put(t, dir, "b", "1.0.0", "")
	rescan(1)
	eventually(t, func() bool { return extensionOf(t, sup, "b").State == "active" }, "b")
	if s := extensionOf(t, sup, "b"); s.Place != "vs" || s.Blame.Quarantined || s.Blame.Decision != "" {
		t.Errorf("%+v", s)
	}
	runs(t, h, 1)
}

// Who goes away before all was read changes nothing; of many at once each
// difference is heard by one, and what is there last counts.
func TestRescansAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a", "1.0.0", "")
	sup, h := alone(t, extended(t, "many", func(s *plan.Spec) { s.Folders = []manifest.Root{{Dir: dir}} }))
	activates(t, sup, "a")
	put(t, dir, "b", "1.0.0", "")
	gone, cancel := context.WithCancel(ctx(t))
	cancel()
	if list, err := sup.RescanExtensions(gone, "vs"); !errors.Is(err, context.Canceled) || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
	if all, err := sup.Extensions(""); err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	heard := make(chan []extensions.Difference)
	for range 4 {
		go func() {
			list, err := sup.RescanExtensions(ctx(t), "vs")
			if err != nil {
				t.Error(err)
			}
			heard <- list
		}()
	}
	var all []string
	for range 4 {
		for _, d := range <-heard {
			all = append(all, d.String())
		}
	}
	if len(all) != 1 || all[0] != "hostsup.b 1.0.0 was added" {
		t.Errorf("%q", all)
	}
	activates(t, sup, "b")
	runs(t, h, 1)
}

// Of many that are enabled at once each is known to the host.
func TestEnabledAtOnce(t *testing.T) {
	t.Parallel()
	for version := range releases {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "a", "1.0.0", "")
			var names []string
			for i := range 20 {
				names = append(names, fmt.Sprintf("x%d", i))
				put(t, dir, names[i], "1.0.0", "")
			}
			sup, h := alone(t, extendedOf(t, version, "many", func(s *plan.Spec) {
				s.Folders = []manifest.Root{{Dir: dir}}
				for _, name := range names {
					s.Disabled = append(s.Disabled, "hostsup."+name)
				}
			}))
			activates(t, sup, "a")
			var all sync.WaitGroup
			for _, name := range names {
				all.Go(func() {
					if err := sup.SetExtension(ctx(t), "", "hostsup."+name, extensions.Enable); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			for _, name := range names {
				var got string
				if err := h.Call(ctx(t), name+".run", nil, &got); err != nil || got != "1.0.0" {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			runs(t, h, 1)
		})
	}
}

// Where there are no folders there is nothing to look into.
func TestRescanWithoutFolders(t *testing.T) {
	t.Parallel()
	sup, _ := alone(t, demoHost("plain"))
	if _, err := sup.RescanExtensions(ctx(t), "plain"); !errors.Is(err, extensions.ErrNoExtensions) {
		t.Errorf("%v", err)
	}
	if _, err := sup.RescanExtensions(ctx(t), "nobody"); !errors.Is(err, supervisor.ErrNoHost) {
		t.Errorf("%v", err)
	}
	declared := demoHost("declared")
	declared.Extensions = &plan.Spec{}
	if _, err := sup.Add(ctx(t), "", declared); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"", "declared"} {
		if _, err := sup.RescanExtensions(ctx(t), host); !errors.Is(err, extensions.ErrNoFolders) {
			t.Errorf("%v", err)
		}
	}
}
