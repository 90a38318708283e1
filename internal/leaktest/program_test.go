//go:build unix

package leaktest

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// Programs are written and started at once by many tests; none is found open for writing.
func TestWriteProgramAmongForks(t *testing.T) {
	dir := t.TempDir()
	var tests sync.WaitGroup
	for i := range 8 {
		tests.Go(func() {
			for n := range 25 {
				path := filepath.Join(dir, strconv.Itoa(i)+"-"+strconv.Itoa(n))
				if err := WriteProgram(path, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
					t.Error(err)
					return
				}
				if out, err := exec.Command(path).CombinedOutput(); err != nil {
					t.Errorf("%s: %v %s", path, err, out)
					return
				}
			}
		})
	}
	tests.Wait()
}
