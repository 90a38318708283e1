package language

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hostsup/hostsup/codec"
	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/documents"
)

// raced is the guard of a host that puts a link in the place of a file after the check.
type raced struct{ dir string }

func (raced) Confines() bool { return true }

func (g raced) Check(path string, _ workbench.Use) (string, error) {
	if rel, err := filepath.Rel(g.dir, path); err != nil || !filepath.IsLocal(rel) {
		return "", workbench.NoPermissions(path)
	}
	return path, nil // a regular file when it was looked at
}

// A command of the editor opens a document as its host may, not as the supervisor may.
func TestCommandsOpenDocumentsAsTheirHostMay(t *testing.T) {
	dir := t.TempDir()
	secret, inside := filepath.Join(dir, "secret"), filepath.Join(dir, "inside")
	if err := errors.Join(os.Mkdir(inside, 0o700), os.WriteFile(secret, []byte("sesame"), 0o600),
		os.Symlink(secret, filepath.Join(inside, "link")), os.WriteFile(filepath.Join(inside, "file"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	docs := documents.New(documents.Options{})
	defer func() {
		if err := docs.Close(); err != nil {
			t.Error(err)
		}
	}()
	s := New(Options{Documents: docs})
	const name = "_executeHoverProvider"
	ask := func(uri workbench.URI) error {
		c := workbench.NewCall(nil, 1, name, workbench.Params(uri, map[string]int{"lineNumber": 1, "column": 1}))
		c.Guard = raced{inside}
		_, err := s.Commands()[name].Do(context.Background(), c)
		return err
	}
	if err := ask(workbench.File(filepath.Join(inside, "file"))); err != nil {
		t.Error(err) // there is no provider, and nothing is the result
	}
	if err := ask(workbench.File(filepath.Join(inside, "link"))); err == nil {
		t.Error("a link was followed out of the sandbox")
	}
	if d := docs.Find(workbench.File(filepath.Join(inside, "link"))); d != nil {
		t.Error("what a host may not read was opened")
		d.Close()
	}
	// Whether a file exists is not told either.
	for _, path := range []string{secret, secret + "-missing"} {
		var e *codec.Error
		if err := ask(workbench.URI{Scheme: "untitled", Path: path}); !errors.As(err, &e) || !strings.Contains(e.Message, "sandbox") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
