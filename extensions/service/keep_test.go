package service

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The newest profiles are kept in a folder with as many files that are dated in the
// future.
func TestKeptProfilesOfTheFuture(t *testing.T) {
	dir := t.TempDir()
	for i := range keptFiles {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("2999%04d%s", i, suffixProfile)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		name := fmt.Sprintf("2026%04d%s", i, suffixProfile)
		if err := keepProfile(dir, name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
		for j := range i + 1 {
			if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("2026%04d%s", j, suffixProfile))); err != nil {
				t.Errorf("after profile %d: %v", i, err)
			}
		}
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != keptFiles {
		t.Errorf("%d profiles are kept, want %d (%v)", len(list), keptFiles, err)
	}
}
