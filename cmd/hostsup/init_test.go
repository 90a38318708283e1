package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// If nothing is installed, init must write nothing and report what to do.
func TestInitFindsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("PATH", t.TempDir())
	var out, errout bytes.Buffer
	if code := newApp(nil, &out, &errout).main(t.Context(), []string{"init"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if out.Len() > 0 || !strings.Contains(errout.String(), "hostsup init --lsp pyright") {
		t.Errorf("%q, %q", out.String(), errout.String())
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("written: %v, %v", files, err)
	}
}

func TestInitBoundsWhatItReads(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errout bytes.Buffer
	in := strings.NewReader(strings.Repeat(" ", maxAgentFile+1))
	if code := newApp(in, &out, &errout).main(t.Context(), []string{"init", "--from", "-"}); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(errout.String(), "longer than 8 MiB") {
		t.Error(errout.String())
	}
}

// A link to a configuration must stay a link when its target is replaced.
func TestInitFollowsLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("real.hcl", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real.hcl", "config.hcl"); err != nil {
		t.Skip(err)
	}
	var out, errout bytes.Buffer
	if code := newApp(nil, &out, &errout).main(t.Context(), []string{"init", "--lsp", "gopls", "--force"}); code != exitDone {
		t.Fatalf("exit code %d: %s", code, errout.String())
	}
	if to, err := os.Readlink("config.hcl"); err != nil || to != "real.hcl" {
		t.Errorf("%q, %v", to, err)
	}
	if text, err := os.ReadFile("real.hcl"); err != nil || !strings.Contains(string(text), "gopls") {
		t.Errorf("%q, %v", text, err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) != 2 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}
