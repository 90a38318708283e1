package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// memoryIndex is an index that remembers its files.
type memoryIndex struct {
	known map[string]Head
	asked map[string]bool
	put   []string
}

func newMemoryIndex() *memoryIndex {
	return &memoryIndex{known: map[string]Head{}, asked: map[string]bool{}}
}

func (x *memoryIndex) Head(id string) (Head, bool) {
	x.asked[id] = true
	h, ok := x.known[id]
	return h, ok
}

func (x *memoryIndex) Put(f File) {
	x.known[f.ID] = f.Head
	x.put = append(x.put, f.ID)
	if int64(len(f.Content)) != f.Size {
		panic(fmt.Sprintf("%d bytes of content, size %d", len(f.Content), f.Size))
	}
}

func (x *memoryIndex) Opened() {
	for id := range x.known {
		if !x.asked[id] {
			delete(x.known, id)
		}
	}
	x.asked = map[string]bool{}
}

func (x *memoryIndex) Remove(id string) { delete(x.known, id) }

func (x *memoryIndex) ids() []string {
	var out []string
	for id := range x.known {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// open opens a store with an index, and returns the ids of the files that were read meanwhile.
func openIndexed(t *testing.T, dir string, x *memoryIndex, opt Options) (*Store[crash], []string) {
	t.Helper()
	x.put = nil
	opt.Index = x
	s, err := Open[crash](dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	return s, x.put
}

func closeStore(t *testing.T, s *Store[crash]) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestIndexIsToldOfEveryFile(t *testing.T) {
	dir, x := t.TempDir(), newMemoryIndex()
	s, _ := openIndexed(t, dir, x, Options{Keep: 2, PerHost: 1})
	a, b, c := add(t, s, "a", 1), add(t, s, "a", 2), add(t, s, "a", 3)
	closeStore(t, s)
	if got := x.ids(); !slices.Equal(got, []string{b, c}) {
		t.Errorf("the index has %v; expected %v and %v, and not %s, which was pruned", got, b, c, a)
	}
}

func TestOpenReadsOnlyWhatTheIndexLacks(t *testing.T) {
	dir, x := t.TempDir(), newMemoryIndex()
	s, _ := openIndexed(t, dir, x, Options{})
	a, b, c := add(t, s, "a", 1), add(t, s, "b", 2), add(t, s, "c", 3)
	closeStore(t, s)
	s, read := openIndexed(t, dir, x, Options{})
	closeStore(t, s)
	if len(read) > 0 {
		t.Errorf("%v were read, and the index has them", read)
	}

	delete(x.known, a)                 // forgotten
	later := time.Now().Add(time.Hour) // changed by hand
	if err := os.Chtimes(filepath.Join(dir, b+suffix), later, later); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, c+suffix)); err != nil { // gone
		t.Fatal(err)
	}
	s, read = openIndexed(t, dir, x, Options{})
	defer closeStore(t, s)
	if want := []string{a, b}; !slices.Equal(read, want) || !slices.Equal(x.ids(), want) {
		t.Errorf("read %v, the index has %v; expected %v of both", read, x.ids(), want)
	}
	if list, err := s.List(""); err != nil || len(list) != 2 || list[0].Host != "a" || list[1].Host != "b" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestIndexForgetsAFolderThatIsGone(t *testing.T) {
	dir, x := filepath.Join(t.TempDir(), "crashes"), newMemoryIndex()
	s, _ := openIndexed(t, dir, x, Options{})
	add(t, s, "a", 1)
	closeStore(t, s)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	s, _ = openIndexed(t, dir, x, Options{})
	defer closeStore(t, s)
	if len(x.known) > 0 {
		t.Errorf("the index still has %v", x.ids())
	}
}

func TestOldReportsAreRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := Open[crash](t.TempDir(), Options{MaxAge: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		defer closeStore(t, s)
		for i, age := range []time.Duration{2 * time.Hour, 59 * time.Minute, 0} {
			at := time.Now().Add(-age)
			if err := s.Add(NewID(fmt.Sprint("a-", i), at), at, "a", crash{Host: "a", Number: i}); err != nil {
				t.Fatal(err)
			}
		}
		numbers := func() (out []int) {
			list, err := s.List("a")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				out = append(out, c.Number)
			}
			return out
		}
		if got := numbers(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("kept %v; expected those of the last hour", got)
		}
		time.Sleep(2 * time.Minute) //nolint:forbidigo // in a synctest bubble
		if got := numbers(); !slices.Equal(got, []int{2}) {
			t.Errorf("kept %v after two more minutes; expected the last one", got)
		}
	})
}

func TestSizeIsBounded(t *testing.T) {
	dir := t.TempDir()
	const max = 4000
	s, err := Open[crash](dir, Options{MaxSize: max, PerHost: 2})
	if err != nil {
		t.Fatal(err)
	}
	big := []string{string(make([]byte, 100))} // 600 bytes and more, as NUL has six in JSON
	for i := range 20 {
		at := start.Add(time.Duration(i) * time.Second)
		host := []string{"a", "b"}[min(1, i/18)] // two of b
		if err := s.Add(NewID(fmt.Sprintf("%s-%d", host, i), at), at, host, crash{Host: host, Number: i, Lines: big}); err != nil {
			t.Fatal(err)
		}
	}
	closeStore(t, s)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > max || size < max/2 {
		t.Errorf("%d files have %d bytes; expected less than %d, and not much less", len(files), size, max)
	}
	list, err := s.List("b")
	if err != nil || len(list) != 2 {
		t.Errorf("%v, %v; expected the newest", list, err)
	}
}

func TestNewestReportStaysOverTheSize(t *testing.T) {
	s, err := Open[crash](t.TempDir(), Options{MaxSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	add(t, s, "a", 1)
	add(t, s, "a", 2)
	closeStore(t, s)
	if list, err := s.List(""); err != nil || len(list) != 1 || list[0].Number != 2 {
		t.Errorf("%v, %v; expected the newest", list, err)
	}
}
