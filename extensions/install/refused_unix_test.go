//go:build unix

package install_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hostsup/hostsup/extensions/install"
)

func TestFoldersAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		make func(string) error
		rule string
	}{
		"link": {func(dir string) error { return os.Symlink("main.js", filepath.Join(dir, "l")) }, "a regular file or a folder expected"},
		"pipe": {func(dir string) error { return syscall.Mkfifo(filepath.Join(dir, "p"), 0o600) }, "a regular file or a folder expected"},
		"case": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "MAIN.js"), nil, 0o600) }, "differ in more than case"},
		"name": {func(dir string) error { return os.WriteFile(filepath.Join(dir, "a:b"), nil, 0o600) }, "some systems refuse"},
	} {
		t.Run(name, func(t *testing.T) {
			from := t.TempDir()
			put(t, from, file{name: "package.json", text: packageJSON("1.0.0")}, file{name: "main.js", text: "x"})
			if err := c.make(from); err != nil {
				t.Skipf("this system cannot make it: %v", err)
			}
			var e *install.EntryError
			if _, err := install.Open(t.Context(), from, install.Limits{}); !errors.As(err, &e) || !strings.Contains(e.Rule, c.rule) {
				t.Errorf("the error is %v, want %q", err, c.rule)
			}
		})
	}
}
