//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/sandbox/policy"
	"github.com/hostsup/hostsup/workbench"
)

// confined returns files of a host that may read the folder ro and write rw, but not rw/denied.
func confined(t *testing.T, dir string) FS {
	t.Helper()
	g := NewConfined()
	g.root = false // owners are another test's
	p := &policy.Policy{Read: []string{dir + "/ro"}, Write: []string{dir + "/rw"}, Deny: []string{dir + "/rw/denied"}}
	if err := g.Resolve(p, policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	if !g.Confines() {
		t.Fatal("not confined")
	}
	return FS{Guard: g}
}

func TestConfined(t *testing.T) {
	t.Parallel()
	dir := tree(t, "ro/a", "rw/b", "rw/d/x", "rw/denied/secret", "out/secret")
	for to, link := range map[string]string{
		dir + "/out": "rw/out", dir + "/out/secret": "rw/file", dir + "/rw/denied": "rw/inner", "../rw": "ro/back", dir + "/out/new": "rw/dangling",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	f, ctx := confined(t, dir), t.Context()
	before := list(t, dir)
	for what, do := range map[string]func() error{
		"read outside":             func() error { _, err := f.ReadFile(dir+"/out/secret", 100); return err },
		"read what is not there":   func() error { _, err := f.ReadFile(dir+"/out/none", 100); return err },
		"read by a link":           func() error { _, err := f.ReadFile(dir+"/rw/file", 100); return err },
		"read by a linked folder":  func() error { _, err := f.ReadFile(dir+"/rw/out/secret", 100); return err },
		"read what is denied":      func() error { _, err := f.ReadFile(dir+"/rw/denied/secret", 100); return err },
		"read what is denied, by":  func() error { _, err := f.ReadFile(dir+"/rw/inner/secret", 100); return err },
		"read by dots":             func() error { _, err := f.ReadFile(dir+"/rw/../out/secret", 100); return err },
		"open outside":             func() error { _, err := f.Open(dir + "/rw/file"); return err },
		"look outside":             func() error { _, err := f.Stat(dir + "/out"); return err },
		"look by a link":           func() error { _, err := f.Stat(dir + "/rw/out"); return err },
		"list outside":             func() error { _, err := f.ReadDir(dir + "/rw/out"); return err },
		"list what is denied":      func() error { _, err := f.ReadDir(dir + "/rw/denied"); return err },
		"environment of the super": func() error { _, err := f.ReadFile("/proc/self/environ", 1<<20); return err },
		"write outside":            func() error { return f.WriteFile(dir+"/out/new", nil) },
		"write by a link":          func() error { return f.WriteFile(dir+"/rw/file", nil) },
		"write by a dangling link": func() error { return f.WriteFile(dir+"/rw/dangling", nil) },
		"write what is read only":  func() error { return f.WriteFile(dir+"/ro/a", nil) },
		"write beside":             func() error { return f.WriteFile(dir+"/ro/new", nil) },
		"make outside":             func() error { return f.Mkdir(dir + "/rw/out/new") },
		"remove outside":           func() error { return f.Remove(dir+"/rw/out/secret", true) },
		"remove what is denied":    func() error { return f.Remove(dir+"/rw/denied", true) },
		"remove a granted folder":  func() error { return f.Remove(dir+"/rw", true) },
		"rename out":               func() error { return f.Rename(ctx, dir+"/rw/b", dir+"/out/b", true) },
		"rename out by a link":     func() error { return f.Rename(ctx, dir+"/rw/b", dir+"/rw/out/b", true) },
		"rename in":                func() error { return f.Rename(ctx, dir+"/out/secret", dir+"/rw/got", true) },
		"rename what is read only": func() error { return f.Rename(ctx, dir+"/ro/a", dir+"/rw/got", true) },
		"rename what is denied":    func() error { return f.Rename(ctx, dir+"/rw/denied", dir+"/rw/got", true) },
		"copy in":                  func() error { return f.Copy(ctx, dir+"/out", dir+"/rw/got", true) },
		"copy by a link":           func() error { return f.Copy(ctx, dir+"/rw/out/secret", dir+"/rw/got", true) },
		"copy out":                 func() error { return f.Copy(ctx, dir+"/rw/b", dir+"/out/b", true) },
		"copy what is denied":      func() error { return f.Copy(ctx, dir+"/rw/denied/secret", dir+"/rw/got", true) },
		"copy all with the denied": func() error { return f.Copy(ctx, dir+"/rw", dir+"/rw2", true) },
	} {
		if err := do(); !Named(err, workbench.NameNoPermissions) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := list(t, dir); after != before {
		t.Errorf("%s\nbefore %s", after, before)
	}
	// What the host itself could do.
	if err := errors.Join(
		f.WriteFile(dir+"/rw/new/c", []byte("c")), f.Copy(ctx, dir+"/ro/a", dir+"/rw/a", false), f.Rename(ctx, dir+"/rw/d", dir+"/rw/e", false),
		f.Copy(ctx, dir+"/rw/out", dir+"/rw/link", false), // the link, not what it leads to
		f.WriteFile(dir+"/ro/back/b", []byte("b2")), f.Remove(dir+"/rw/new", true),
	); err != nil {
		t.Error(err)
	}
	if got, want := list(t, dir+"/rw/e")+" "+list(t, dir+"/ro"), "x=rw/d/x a=ro/a back->../rw"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if text, err := os.ReadFile(dir + "/rw/b"); string(text) != "b2" {
		t.Errorf("%q, %v", text, err)
	}
}

// A host that exchanges a folder for a link all the time does not get at what is outside.
func TestConfinedWhileLinksChange(t *testing.T) {
	t.Parallel()
	dir := tree(t, "ro/", "rw/y/secret", "out/secret", "out/victim")
	f := confined(t, dir)
	done := make(chan struct{})
	var swaps sync.WaitGroup
	swaps.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			_ = os.RemoveAll(dir + "/rw/x") // a link, or a folder that a write has made
			_ = os.Rename(dir+"/rw/y", dir+"/rw/x")
			_ = os.Rename(dir+"/rw/x", dir+"/rw/y")
			_ = os.Symlink(dir+"/out", dir+"/rw/x")
		}
	})
	for range 1000 {
		if data, err := f.ReadFile(dir+"/rw/x/secret", 100); err == nil && string(data) != "rw/y/secret" {
			t.Errorf("read %q", data)
			break
		}
		_ = f.WriteFile(dir+"/rw/x/new", []byte("x"))
		_ = f.Remove(dir+"/rw/x/victim", true)
		_ = f.Rename(t.Context(), dir+"/rw/x/new", dir+"/rw/x/moved", true)
	}
	close(done)
	swaps.Wait()
	if got := list(t, dir+"/out"); got != "secret=out/secret victim=out/victim" {
		t.Error(got)
	}
	if data, err := f.ReadFile(dir+"/rw/y/secret", 100); string(data) != "rw/y/secret" {
		t.Errorf("%q, %v", data, err)
	}
}

// A supervisor that runs as root does not lend its rights to the user of the host.
func TestConfinedAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("not root")
	}
	dir := tree(t, "rw/own", "rw/roots", "rw/closed/x", "rw/sticky/own", "rw/sticky/roots", "rw/roots-folder/x")
	const uid = 12345
	if err := errors.Join(
		os.Chmod(dir+"/rw/roots", 0o600), os.Chmod(dir+"/rw/closed", 0o700), os.Chmod(dir+"/rw/sticky", 0o777|os.ModeSticky),
		os.Chown(dir+"/rw", uid, uid), os.Chown(dir+"/rw/own", uid, uid), os.Chown(dir+"/rw/sticky/own", uid, uid),
	); err != nil {
		t.Fatal(err)
	}
	for up := dir; up != "/tmp" && up != "/"; up = filepath.Dir(up) {
		if err := os.Chmod(up, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	g := NewConfined()
	if err := g.Resolve(&policy.Policy{User: "12345", Write: []string{dir + "/rw"}}, policy.Limits{}); err != nil {
		t.Fatal(err)
	}
	f := FS{Guard: g}
	for what, do := range map[string]func() error{
		"read of root's":          func() error { _, err := f.ReadFile(dir+"/rw/roots", 100); return err },
		"read in a closed folder": func() error { _, err := f.ReadFile(dir+"/rw/closed/x", 100); return err },
		"write in root's folder":  func() error { return f.WriteFile(dir+"/rw/roots-folder/y", nil) },
		"remove in root's folder": func() error { return f.Remove(dir+"/rw/roots-folder", true) },
		"remove in sticky":        func() error { return f.Remove(dir+"/rw/sticky/roots", false) },
	} {
		if err := do(); !Named(err, workbench.NameNoPermissions) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := f.ReadFile(dir+"/rw/own", 100); err != nil {
		t.Error(err)
	}
	if err := errors.Join(f.WriteFile(dir+"/rw/own", []byte("x")), f.Remove(dir+"/rw/sticky/own", false), f.Remove(dir+"/rw/roots", false)); err != nil {
		t.Error(err)
	}
}

// A policy that accepts every level holds for files all the same: the host is confined as far as the
// machine can.
func TestConfinedAtAnyLevel(t *testing.T) {
	t.Parallel()
	dir := tree(t, "ro/a", "secret")
	g := NewConfined()
	g.root = false
	if err := g.Resolve(&policy.Policy{Read: []string{dir + "/ro"}, Level: policy.None}, policy.Limits{}); err != nil || !g.Confines() {
		t.Fatal(err)
	}
	if _, err := (FS{Guard: g}).ReadFile(dir+"/ro/a", 10); err != nil {
		t.Error(err)
	}
	if _, err := (FS{Guard: g}).ReadFile(dir+"/secret", 10); !Named(err, workbench.NameNoPermissions) {
		t.Error(err)
	}
}

func TestConfinedBeforeItIsResolved(t *testing.T) {
	t.Parallel()
	dir := tree(t, "a")
	g := NewConfined()
	if _, err := (FS{Guard: g}).ReadFile(dir+"/a", 10); !Named(err, workbench.NameNoPermissions) {
		t.Error(err)
	}
	if err := g.Resolve(nil, policy.Limits{}); err != nil || g.Confines() {
		t.Error(err)
	}
	if _, err := (FS{Guard: g}).ReadFile(dir+"/a", 10); err != nil {
		t.Error(err)
	}
	if err := g.Resolve(&policy.Policy{Read: []string{dir + "/none"}}, policy.Limits{}); err == nil || !g.Confines() {
		t.Error("a path that does not exist was resolved")
	}
}

// What a confined host has removed is removed folder by folder, links without what they lead to, and
// not deeper than the folders that may be open at one time.
func TestConfinedRemovesTrees(t *testing.T) {
	t.Parallel()
	dir := tree(t, "ro/a", "rw/d/e/f", "rw/d/g", "rw/denied/secret", "out/kept")
	if err := os.Symlink(dir+"/out", filepath.Join(dir, "rw/d/e/link")); err != nil {
		t.Fatal(err)
	}
	f := confined(t, dir)
	if err := f.Remove(dir+"/rw/d", true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir + "/rw/d"); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
	if _, err := os.Stat(dir + "/out/kept"); err != nil {
		t.Error(err)
	}
	deep := dir + "/rw/deep"
	if err := os.MkdirAll(deep+strings.Repeat("/d", maxDepth+1), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(deep, true); err == nil || !strings.Contains(err.Error(), "folders within each other") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(deep + "/d/d"); err != nil {
		t.Fatal(err)
	}
	if err := f.Remove(deep, true); err != nil {
		t.Error(err)
	}
}
