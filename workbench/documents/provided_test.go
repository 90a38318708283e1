package documents

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hostsup/hostsup/workbench"
	"github.com/hostsup/hostsup/workbench/disk"
)

// drive is a file system of an extension, which is activated when it is asked for "lazy".
type drive struct {
	mu       sync.Mutex
	schemes  map[string]bool
	files    map[string]string
	watched  map[string]int
	readOnly bool
}

func (f *drive) Serves(scheme string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.schemes[scheme]
}

func (f *drive) ReadFile(_ context.Context, uri workbench.URI) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if uri.Scheme == "lazy" {
		f.schemes["lazy"] = true
	}
	if !f.schemes[uri.Scheme] {
		return nil, disk.Fail(disk.NameUnavailable, "no file system")
	}
	content, ok := f.files[uri.String()]
	if !ok {
		return nil, disk.Fail(disk.NameNotFound, "not found")
	}
	return []byte(content), nil
}

func (f *drive) WriteFile(_ context.Context, uri workbench.URI, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readOnly {
		return disk.Fail(workbench.NameNoPermissions, "read only")
	}
	f.files[uri.String()] = string(data)
	return nil
}

func (f *drive) Watch(uri workbench.URI) (stop func()) {
	count := func(n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.watched[uri.String()] += n
	}
	count(1)
	return func() { count(-1) }
}

// set changes a file, and returns its content before.
func (f *drive) set(uri workbench.URI, content string) (before string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before, f.files[uri.String()] = f.files[uri.String()], content
	return before
}

func TestDocumentOfAFileSystemOfAnExtension(t *testing.T) {
	uri := workbench.URI{Scheme: "mem", Path: "/a.txt", Query: "v=1"}
	lazy := workbench.URI{Scheme: "lazy", Path: "/b.txt"}
	f := &drive{
		schemes: map[string]bool{"mem": true}, watched: map[string]int{},
		files: map[string]string{uri.String(): "one", lazy.String(): "\xef\xbb\xbfb"},
	}
	s := service(t, Options{Files: f})
	d := opened(t, s, uri)
	has(t, d, "one")
	has(t, opened(t, s, lazy), "b")
	if err := errors.Join(d.Change(insert("x")), d.Save(t.Context())); err != nil {
		t.Fatal(err)
	}
	if now := f.set(uri, "two"); now != "xone" || f.watched[uri.String()] != 1 {
		t.Errorf("the file has %q, watched %v", now, f.watched)
	}

	// A change in the file system reaches a document without changes to save, and no other.
	s.Changed([]workbench.URI{uri})
	s.work.Wait()
	has(t, d, "two")
	if err := d.Change(insert("y")); err != nil {
		t.Fatal(err)
	}
	f.set(uri, "three")
	s.Changed([]workbench.URI{uri, {Scheme: "mem", Path: "/not-open"}})
	s.work.Wait()
	has(t, d, "ytwo")
	if err := d.Save(t.Context()); !errors.Is(err, ErrConflict) {
		t.Errorf("saved over a change: %v", err)
	}
	f.set(uri, "two")
	f.readOnly = true
	if err := d.Save(t.Context()); !disk.Named(err, workbench.NameNoPermissions) {
		t.Errorf("saved in a file system that is read only: %v", err)
	}

	for _, c := range []struct {
		uri  workbench.URI
		want string
	}{
		{workbench.URI{Scheme: "mem", Path: "/missing"}, "not found"},
		{workbench.URI{Scheme: "other", Path: "/a"}, `no provider of the scheme "other" has it`},
	} {
		if _, err := s.Open(t.Context(), c.uri); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.uri, err, c.want)
		}
	}
}
