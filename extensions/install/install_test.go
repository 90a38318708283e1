package install_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions"
	"github.com/hostsup/hostsup/extensions/install"
	"github.com/hostsup/hostsup/extensions/install/index"
	"github.com/hostsup/hostsup/extensions/manifest"
)

// scanned returns what a scan of a folder finds, "id version" each.
func scanned(t testing.TB, dir string) string {
	t.Helper()
	r := manifest.Scan(t.Context(), []manifest.Root{{Dir: dir, Origin: extensions.User}}, manifest.Options{Product: "1.100.3"})
	for _, err := range r.Problems {
		t.Error(err)
	}
	var out []string
	for _, m := range r.Manifests {
		text, err := os.ReadFile(filepath.Join(m.Folder, "main.js"))
		if err != nil || string(text) != "exports.version = "+m.Version {
			t.Errorf("%s: main.js is %q, %v", m.Folder, text, err)
		}
		out = append(out, m.Value+" "+m.Version)
	}
	return strings.Join(out, ", ")
}

func mustInstall(t testing.TB, in *install.Installer, p *install.Package) install.Result {
	t.Helper()
	r, err := in.Install(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVersionsAreUsedRolledBackAndRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "extensions")
	in := &install.Installer{Dir: dir, Products: []string{"1.100.3", "1.139.1"}}
	first, second := vsix(t, "1.0.0"), vsix(t, "1.1.0")

	r := mustInstall(t, in, first)
	if !r.Changed || r.Before != "" || r.Version != "1.0.0" || r.ID != "acme.words" || r.Digest != first.Digest || r.Engine != "^1.90.0" {
		t.Errorf("the first installation returned %+v", r)
	}
	if got := scanned(t, dir); got != "acme.words 1.0.0" {
		t.Errorf("a scan finds %q", got)
	}
	if r = mustInstall(t, in, first); r.Changed || r.Before != "1.0.0" {
		t.Errorf("the same again returned %+v", r)
	}
	if r = mustInstall(t, in, second); !r.Changed || r.Before != "1.0.0" || r.Version != "1.1.0" {
		t.Errorf("the update returned %+v", r)
	}
	if got := scanned(t, dir); got != "acme.words 1.1.0" {
		t.Errorf("after the update a scan finds %q", got)
	}
	if r, err := in.Rollback(t.Context(), "ACME.words"); err != nil || r.Version != "1.0.0" || r.Before != "1.1.0" {
		t.Errorf("the rollback returned %+v, %v", r, err)
	}
	if got := scanned(t, dir); got != "acme.words 1.0.0" {
		t.Errorf("after the rollback a scan finds %q", got)
	}
	if _, err := in.Rollback(t.Context(), "acme.words"); !errors.Is(err, install.ErrNoVersion) {
		t.Errorf("a second rollback: %v", err)
	}
	mustInstall(t, in, second)
	if r, err := in.Rollback(t.Context(), "acme.words"); err != nil || r.Version != "1.0.0" {
		t.Errorf("the rollback after a rollback and an update returned %+v, %v", r, err)
	}

	list, err := in.List()
	if err != nil || len(list) != 1 || len(list[0].Versions) != 2 || list[0].InUse().Digest != first.Digest {
		t.Errorf("the list is %+v, %v", list, err)
	}
	if r, err := in.Uninstall(t.Context(), "Acme.Words"); err != nil || r.Before != "1.0.0" || r.Version != "" {
		t.Errorf("Uninstall returned %+v, %v", r, err)
	}
	if got := scanned(t, dir); got != "" {
		t.Errorf("after its removal a scan finds %q", got)
	}
	if _, err := os.Stat(r.Folder); err != nil {
		t.Errorf("Uninstall removed files that a host may use: %v", err)
	}
	if err := in.Clean(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.Folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Clean left %s: %v", r.Folder, err)
	}
	for _, f := range []func() error{
		func() error { _, err := in.Uninstall(t.Context(), "acme.words"); return err },
		func() error { _, err := in.Rollback(t.Context(), "acme.words"); return err },
		func() error { return (&install.Installer{Dir: t.TempDir()}).Clean(t.Context()) },
	} {
		if err := f(); !errors.Is(err, install.ErrNotInstalled) {
			t.Errorf("without an extension: %v", err)
		}
	}
}

func TestOldVersionsAreRemovedByNumber(t *testing.T) {
	in := &install.Installer{Dir: t.TempDir(), Keep: 2}
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		mustInstall(t, in, vsix(t, v))
	}
	list, err := in.List()
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	var kept []string
	for _, v := range list[0].Versions {
		kept = append(kept, v.Version)
	}
	if got := strings.Join(kept, " "); got != "1.2.0 1.3.0" {
		t.Errorf("kept are %s", got)
	}
	if err := in.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(in.Dir, index.Folder, "acme*"))
	if err != nil || len(folders) != 2 {
		t.Errorf("the folders are %q, %v", folders, err)
	}
}

// One build of a version replaces another, and both can be rolled back to.
func TestSameVersionWithOtherContentReplacesIt(t *testing.T) {
	in := &install.Installer{Dir: t.TempDir()}
	a := mustInstall(t, in, vsix(t, "1.0.0"))
	b := mustInstall(t, in, vsix(t, "1.0.0", file{name: "extension/more", text: "b"}))
	if !b.Changed || a.Digest == b.Digest || a.Folder == b.Folder {
		t.Errorf("installed %+v, then %+v", a, b)
	}
	if r, err := in.Rollback(t.Context(), "acme.words"); err != nil || r.Digest != a.Digest {
		t.Errorf("the rollback returned %+v, %v", r, err)
	}
}

func TestUnpackedFilesHavePlainModes(t *testing.T) {
	in := &install.Installer{Dir: t.TempDir()}
	r := mustInstall(t, in, vsix(t, "1.0.0",
		file{name: "extension/bin/", mode: os.ModeDir | 0o777},
		file{name: "extension/bin/tool", text: "x", mode: os.ModeSetuid | 0o4777},
		file{name: "extension/data", text: "x", mode: 0o600}))
	want := "drwxr-xr-x bin\n-rwxr-xr-x bin/tool x\n-rw-r--r-- data x\n-rw-r--r-- main.js exports.version = 1.0.0\n" +
		"-rw-r--r-- package.json " + packageJSON("1.0.0") + "\n"
	if got := tree(t, r.Folder); got != want {
		t.Errorf("unpacked is\n%swant\n%s", got, want)
	}
}

func TestFolderIsCopied(t *testing.T) {
	from := t.TempDir()
	put(t, from, file{name: "package.json", text: packageJSON("2.0.0")}, file{name: "main.js", text: "exports.version = 2.0.0"},
		file{name: "node_modules/left/index.js", text: "left", mode: 0o755}, file{name: ".git/config", text: "secret"})
	if err := os.MkdirAll(filepath.Join(from, "node_modules/.bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../left/index.js", filepath.Join(from, "node_modules/.bin/left")); err != nil {
		t.Fatal(err)
	}
	p := open(t, from)
	in := &install.Installer{Dir: t.TempDir()}
	r := mustInstall(t, in, p)
	want := "-rw-r--r-- main.js exports.version = 2.0.0\ndrwxr-xr-x node_modules\ndrwxr-xr-x node_modules/left\n" +
		"-rwxr-xr-x node_modules/left/index.js left\n-rw-r--r-- package.json " + packageJSON("2.0.0") + "\n"
	if got := tree(t, r.Folder); got != want {
		t.Errorf("copied is\n%swant\n%s", got, want)
	}
	sum := sha256.New()
	for _, f := range [][2]string{{"- main.js", "exports.version = 2.0.0"}, {"x node_modules/left/index.js", "left"}, {"- package.json", packageJSON("2.0.0")}} {
		fmt.Fprintf(sum, "%x %s\n", sha256.Sum256([]byte(f[1])), f[0])
	}
	if want := fmt.Sprintf("sha256:%x", sum.Sum(nil)); p.Digest != want {
		t.Errorf("the digest is %s, want %s", p.Digest, want)
	}
	put(t, from, file{name: "main.js", text: "exports.version = 2.0.9"}) // as long as before
	if _, err := (&install.Installer{Dir: t.TempDir()}).Install(t.Context(), p); !errors.Is(err, install.ErrPackage) {
		t.Errorf("a file that changed after the digest was taken: %v", err)
	}
}

func TestInstallRefusesWhatDoesNotFit(t *testing.T) {
	dir := t.TempDir()
	p := vsix(t, "1.0.0")
	own := t.TempDir()
	put(t, own, file{name: "package.json", text: packageJSON("1.0.0")})
	for _, c := range []struct {
		in   install.Installer
		p    *install.Package
		want error
	}{
		{install.Installer{Dir: dir, Products: []string{"1.100.3", "1.80.0"}}, p, manifest.ErrIncompatible},
		{install.Installer{Dir: dir, Products: []string{"1.80.0"}}, p, install.ErrManifest},
		{install.Installer{Dir: dir, Target: "linux-x64"}, targeted(t, "darwin-arm64"), install.ErrTarget},
		{install.Installer{Dir: dir, Target: "linux-x64"}, targeted(t, "web"), install.ErrTarget},
		{install.Installer{Dir: own}, p, install.ErrFolder},
		{install.Installer{}, p, install.ErrFolder},
	} {
		if _, err := c.in.Install(t.Context(), c.p); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.in, err, c.want)
		}
	}
	if got := tree(t, dir); got != "" {
		t.Errorf("refused packages left\n%s", got)
	}
	for _, target := range []string{"linux-x64", "universal"} {
		if _, err := (&install.Installer{Dir: dir, Target: "linux-x64"}).Install(t.Context(), targeted(t, target)); err != nil {
			t.Error(err)
		}
	}
}

func targeted(t *testing.T, target string) *install.Package {
	files := whole("1.0.0")
	files[0].text = outer("1.0.0", `TargetPlatform="`+target+`"`)
	return open(t, write(t, archive(t, files...)))
}

func TestVerifyComparesDigests(t *testing.T) {
	data := archive(t, whole("1.0.0")...)
	p := open(t, write(t, data))
	if err := p.Verify(fmt.Sprintf("SHA256:%X", sha256.Sum256(data))); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "sha256:12", fmt.Sprintf("sha256:%x", sha256.Sum256(nil))} {
		if err := p.Verify(bad); !errors.Is(err, install.ErrDigest) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The second of two installers waits for the first.
func TestInstallersTakeTurns(t *testing.T) {
	dir := t.TempDir()
	first, second := &install.Installer{Dir: dir}, &install.Installer{Dir: dir}
	p, q := vsix(t, "1.0.0"), vsix(t, "1.1.0")
	var late error
	install.OnStep(first, func(name string) {
		if name == "written" {
			_, late = second.Install(t.Context(), q)
		}
	})
	mustInstall(t, first, p)
	if !errors.Is(late, install.ErrBusy) {
		t.Errorf("an installation during another: %v", late)
	}
	mustInstall(t, second, q)
	if got := scanned(t, dir); got != "acme.words 1.1.0" {
		t.Errorf("a scan finds %q", got)
	}
}

func TestPlatforms(t *testing.T) {
	for _, c := range []struct {
		system, processor string
		alpine            bool
		want              string
	}{
		{"linux", "amd64", false, "linux-x64"}, {"linux", "arm64", true, "alpine-arm64"}, {"linux", "arm", false, "linux-armhf"},
		{"darwin", "arm64", false, "darwin-arm64"}, {"windows", "amd64", false, "win32-x64"}, {"darwin", "arm", false, ""},
		{"plan9", "amd64", false, ""},
	} {
		if got := install.Platform(c.system, c.processor, c.alpine); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// While its list cannot be read, what was installed in a folder stays as it was.
func TestScanKeepsExtensionsWhileTheirListIsBroken(t *testing.T) {
	in := &install.Installer{Dir: t.TempDir()}
	mustInstall(t, in, vsix(t, "1.0.0"))
	roots := []manifest.Root{{Dir: in.Dir, Origin: extensions.User}}
	before := manifest.Scan(t.Context(), roots, manifest.Options{})
	if err := os.WriteFile(index.Path(in.Dir), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	broken := manifest.Scan(t.Context(), roots, manifest.Options{})
	if got := broken.Keeping(before.Extensions()); len(broken.Manifests) != 0 || len(broken.Problems) != 1 || len(got) != 1 || got[0].ID != "acme.words" {
		t.Errorf("a scan returned %+v, and kept %v", broken, got)
	}
	if _, err := in.Install(t.Context(), vsix(t, "1.1.0")); !errors.Is(err, index.ErrInvalid) {
		t.Errorf("an installation beside a broken list: %v", err)
	}
}
