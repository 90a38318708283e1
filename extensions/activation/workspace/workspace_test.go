package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

func TestContains(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"one/go.mod", "two/a/b.proto", "two/.git/c.secret"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	folders := []string{filepath.Join(dir, "one"), filepath.Join(dir, "two")}
	for _, c := range []struct {
		events []string
		want   string
	}{
		{[]string{"onCommand:x", Prefix + "package.json", Prefix + "go.mod"}, Prefix + "go.mod"},
		{[]string{Prefix + "**/*.proto", Prefix + "go.mod"}, Prefix + "go.mod"}, // names before patterns
		{[]string{Prefix + "**/*.x", Prefix + "**/*.proto"}, Prefix + "**/*.proto"},
		{[]string{Prefix + "*.proto"}, ""},
		{[]string{Prefix + "**/*.secret"}, ""},
		{[]string{Prefix + "../two/a"}, ""},
		{[]string{Prefix + "a"}, Prefix + "a"},
		{nil, ""},
	} {
		got, err := Contains(t.Context(), c.events, folders, Dir{})
		if err != nil || got != c.want {
			t.Errorf("%v: %q, %v, want %q", c.events, got, err, c.want)
		}
	}
	if _, err := Contains(t.Context(), []string{Prefix + "**/x"}, []string{filepath.Join(dir, "nothing")}, Dir{}); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// slow searches until its context is done.
type slow struct{ Dir }

func (slow) Search(ctx context.Context, _ string, _ []string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

func TestSearchEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		found, err := Contains(t.Context(), []string{Prefix + "**/x"}, []string{"/a", "/b"}, slow{})
		if found != "" || !errors.Is(err, ErrTimeout) || time.Since(begin) != Timeout {
			t.Error(found, err, time.Since(begin))
		}
	})
}
