package newhost_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/hostsup/hostsup/cmd/hostsup/internal/newhost"
	"github.com/hostsup/hostsup/config"
)

func TestEveryLanguageHasAValidConfigurationAndSteps(t *testing.T) {
	languages := newhost.Languages()
	if !slices.Contains(languages, "typescript") {
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
