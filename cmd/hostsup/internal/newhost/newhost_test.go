package newhost_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/newhost"
	"github.com/hostsup/hostsup/config"
)

func TestEveryLanguageHasAValidConfigurationAndSteps(t *testing.T) {
	languages := newhost.Languages()
	if !slices.Equal(languages, []string{"go", "python", "typescript"}) {
		t.Errorf("languages %q", languages)
	}
	for _, language := range languages {
		dir := filepath.Join(t.TempDir(), "new", "host")
		files, err := newhost.Write(language, dir)
		if err != nil {
			t.Fatal(language, err)
		}
		if !slices.Contains(files, "config.hcl") || len(files) < 3 {
			t.Errorf("%s: files %q", language, files)
		}
		text, err := os.ReadFile(filepath.Join(dir, "config.hcl"))
		if err != nil {
			t.Fatal(err)
		}
		if _, diags := config.Parse(text, "config.hcl", config.Options{}); diags.HasErrors() {
			t.Errorf("%s: %v", language, diags)
		}
		if len(newhost.Next(language)) == 0 {
			t.Errorf("%s: nothing is said of what comes next", language)
		}
		if _, err := newhost.Write(language, dir); !errors.Is(err, newhost.ErrExists) {
			t.Errorf("%s, a second time: %v", language, err)
		}
	}
}

// The project in Go is compiled and its test passes, with this module in the place of a
// published one.
func TestProjectInGo(t *testing.T) {
	dir := t.TempDir()
	if _, err := newhost.Write("go", dir); err != nil {
		t.Fatal(err)
	}
	repo, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(repo, name))
		if err != nil {
			t.Fatal(err)
		}
		if name == "go.mod" {
			text = []byte(strings.Replace(string(text), "module github.com/hostsup/hostsup\n",
				"module greeter\n\nrequire github.com/hostsup/hostsup v0.0.0\n\nreplace github.com/hostsup/hostsup => "+repo+"\n", 1))
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"vet", "."}, {"test", "."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-mod=mod -trimpath", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", args[0], err, out)
		}
	}
}

func TestUnknownLanguageIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	for _, language := range []string{"cobol", "", "..", "typescript/src"} {
		if _, err := newhost.Write(language, dir); !errors.Is(err, newhost.ErrLanguage) {
			t.Errorf("%q: %v", language, err)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was made")
	}
}
