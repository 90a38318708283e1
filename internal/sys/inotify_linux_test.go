package sys

import (
	"os"
	"path/filepath"
	"testing"
)

func TestNotices(t *testing.T) {
	dir := t.TempDir()
	n, err := NewNotices()
	if err != nil {
		t.Fatal(err)
	}
	w, err := n.Add(dir, NoticeMade|NoticeGone)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := n.Read()
	if err != nil || len(got) != 1 || got[0] != (Notice{Watch: w, Name: "x"}) {
		t.Errorf("%v %v", got, err)
	}
	ended := make(chan error)
	go func() {
		_, err := n.Read()
		ended <- err
	}()
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if <-ended == nil {
		t.Error("Read returned no error after Close")
	}
	if !TellsChanges(dir) || TellsChanges("/proc") {
		t.Error("TellsChanges is wrong")
	}
}

func FuzzNotices(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 'x', 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, n := range parseNotices(b) {
			if len(n.Name) > len(b) {
				t.Error(n)
			}
		}
	})
}

func TestOpenPlain(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "d"), 0o700), os.Symlink("d", filepath.Join(dir, "l")), os.WriteFile(filepath.Join(dir, "d/f"), nil, 0o600),
		os.Symlink("f", filepath.Join(dir, "d/l")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{"d/f": "", "d/l": "too many levels of symbolic links", "l/f": "not a directory", "d/no": "no such file or directory"} {
		file, err := OpenPlain(filepath.Join(dir, path), os.O_RDONLY, 0)
		got := ""
		if err != nil {
			got = err.Error()
		} else if real, err := os.Readlink("/proc/self/fd/" + itoa(file.Fd())); err != nil || real != filepath.Join(dir, path) {
			t.Errorf("%s lies at %s, %v", path, real, err)
		}
		if got != want {
			t.Errorf("%s: %s", path, got)
		}
		_ = file.Close()
	}
	pinned, err := PinFolder(filepath.Join(dir, "l"))
	if err != nil {
		t.Fatal(err)
	}
	defer pinned.Close()
	for path, ok := range map[string]bool{"f": true, "l": false, "../d/f": false, ".": true} {
		file, err := OpenBeneath(pinned, path, os.O_RDONLY, 0)
		if (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
		_ = file.Close()
	}
}
