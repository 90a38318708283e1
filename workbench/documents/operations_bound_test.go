package documents

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/workbench"
)

// creations are edits that make so many files.
func creations(dir string, n int) []change {
	out := make([]change, n)
	for i := range out {
		uri := workbench.File(filepath.Join(dir, fmt.Sprint(i)))
		out[i].NewResource = &uri
	}
	return out
}

func TestFileOperationsOfAnEditAreBounded(t *testing.T) {
	s, dir := service(t, Options{}), t.TempDir()
	plan := func(depth, n int) error {
		b := &bulk{s: s, files: files(nil), depth: depth, docs: map[string]*planned{}}
		_, err := b.planFiles(context.Background(), creations(dir, n), nil)
		return err
	}
	for _, c := range []struct {
		depth, n int
		refused  string
	}{
		{0, maxAnswered + 1, ""}, {1, maxAnswered, ""},
		{0, maxOperations + 1, "at most 10000 file operations"}, {1, maxAnswered + 1, "more than 1000"}, {maxDepth, maxAnswered + 1, "more than 1000"},
	} {
		if err := plan(c.depth, c.n); (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	// Participants of several batches share one bound, and the edit itself has its own.
	b := &bulk{s: s, files: files(nil), depth: 1, docs: map[string]*planned{}}
	for i := range 3 {
		_, err := b.planFiles(context.Background(), creations(filepath.Join(dir, fmt.Sprint("batch", i)), maxAnswered/2), nil)
		if (err == nil) != (i < 2) {
			t.Errorf("batch %d: %v", i, err)
		}
	}
	b.depth = 0
	if _, err := b.planFiles(context.Background(), creations(filepath.Join(dir, "own"), 1), nil); err != nil {
		t.Error(err)
	}
}
