//go:build linux

package integration

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/extensions/manifest"
	"github.com/hostsup/hostsup/extensions/plan"
	"github.com/hostsup/hostsup/extensions/vscode"
	"github.com/hostsup/hostsup/lifecycle/record"
	"github.com/hostsup/hostsup/supervisor"
)

// joined is a change of the workspace folders as the extension has seen it.
type joined struct{ Added, Removed, Folders []string }

// joining starts a host with the extension that changes its workspace folders, and others.
func joining(t testing.TB, version string, work *vscode.Workspace, others ...string) (*supervisor.Supervisor, *supervisor.Host) {
	t.Helper()
	spec := &plan.Spec{Eager: true}
	for _, dir := range append([]string{"testdata/vscode/joins"}, others...) {
		path, err := filepath.Abs(dir)
		if err != nil {
			t.Fatal(err)
		}
		spec.Folders = append(spec.Folders, manifest.Root{Dir: path})
	}
	if work != nil {
		spec.Workspace = work.Folders
	}
	sup, h := alone(t, vscodeHost(t, version, func(s *supervisor.HostSpec) {
		root, _ := vscode.Root(s.Command)
		s.Protocol = vscode.New(vscode.Options{Root: root, State: filepath.Join(t.TempDir(), "state"), Workspace: work})
		s.Extensions = spec
	}))
	request(t, sup, "onCommand:joins.update")
	return sup, h
}

func TestWorkspaceFoldersAreChanged(t *testing.T) {
	everyRelease(t, func(t *testing.T, version string) {
		dir := t.TempDir()
		first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
		for _, path := range []string{first, second} {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		written(t, second, "x.wanted", "")
		sup, h := joining(t, version, &vscode.Workspace{Folders: []string{first}}, "testdata/vscode/eager/finds")
		active := func() (is bool) {
			if err := executes(t, h, &is, "joins.active", "hostsup.finds"); err != nil {
				t.Fatal(err)
			}
			return is
		}
		if active() {
			t.Error("an extension is active for a folder that is not in the workspace")
		}
		var out joined
		if err := executes(t, h, &out, "joins.update", map[string]any{"start": 1, "remove": 0, "add": []any{map[string]any{"path": second, "name": "other"}}}); err != nil {
			t.Fatal(err)
		}
		all := []string{"first=" + first, "other=" + second}
		if !slices.Equal(out.Added, all[1:]) || len(out.Removed) > 0 || !slices.Equal(out.Folders, all) {
			t.Errorf("%+v", out)
		}
		eventually(t, active, "the extension that looks for a file of the new folder")

		if err := h.Restart(ctx(t)); err != nil {
			t.Fatal(err)
		}
		request(t, sup, "onCommand:joins.update")
		var folders []string
		if err := executes(t, h, &folders, "joins.folders"); err != nil || !slices.Equal(folders, all) {
			t.Errorf("%q, %v after a restart", folders, err)
		}
		if err := executes(t, h, &out, "joins.update", map[string]any{"start": 0, "remove": 1, "add": []any{}}); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(out.Removed, all[:1]) || !slices.Equal(out.Folders, all[1:]) {
			t.Errorf("%+v", out)
		}
		for e := range sup.Events(ctx(t), 0, true) {
			if e.Kind == record.KindWorkspace && strings.Contains(e.Reason, second) {
				break
			}
		}
	})
}

// Git opens a repository of the workspace, which 1.139.1 does after it was told that it is trusted.
func TestGitOpensARepository(t *testing.T) {
	peer(t, "git")
	everyRelease(t, func(t *testing.T, version string) {
		work := t.TempDir()
		if out, err := exec.CommandContext(ctx(t), "git", "init", "-q", work).CombinedOutput(); err != nil {
			t.Fatalf("%s, %v", out, err)
		}
		_, h := joining(t, version, &vscode.Workspace{Folders: []string{work}}, builtinExtension(t, version, "git"), builtinExtension(t, version, "git-base"))
		eventually(t, func() bool {
			var list []string
			err := executes(t, h, &list, "joins.repositories")
			return err == nil && slices.Equal(list, []string{work})
		}, "repository of", work)
	})
}
