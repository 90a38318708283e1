//go:build !hostsup_posix

package survive_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/supervisor"
	"github.com/hostsup/hostsup/survive"
)

// TestNewerStateIsLeftAlone has a file of a host that runs be of the next version: no supervisor of this version
// starts there, the process goes on, and is taken back once the file is of this version again.
func TestNewerStateIsLeftAlone(t *testing.T) {
	p := &plan{State: t.TempDir(), Demo: []string{"h"}}
	f := begin(t, p)
	pid := f.pid("h")
	f.kill()
	path := filepath.Join(p.State, "survive", "h", "1.json")
	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	newer := bytes.Replace(old, []byte(`"version":1`), []byte(`"version":2`), 1)
	if err := os.WriteFile(path, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	before := left(t, p.State)
	if _, err := supervisor.Start(t.Context(), p.spec()); !errors.Is(err, survive.ErrVersion) {
		t.Fatalf("%v, expected %v", err, survive.ErrVersion)
	}
	if !runs(pid) {
		t.Error("the process was ended")
	}
	if after := left(t, p.State); len(after) != len(before) {
		t.Errorf("files before %v, and after %v", before, after)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, newer) {
		t.Errorf("%s, %v", now, err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := pidOf(t, host(t, next(t, p), "h")); got != pid {
		t.Errorf("process %d, expected %d", got, pid)
	}
}
