package files

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/hostsup/hostsup/execserver/wire"
)

func TestWatchMissing(t *testing.T) {
	root := tree(t, real(t), "f", "sub/deep/", "link->sub", "dangling->none", "g/", "g2/h/", "keep")
	told := make(chan uint64, 16)
	f := New(Limits{Changed: func(c wire.FSMissingChanged) { told <- c.WatchID }})
	defer f.Close()
	var id uint64
	watch := func(present string, missing ...string) bool {
		t.Helper()
		id++
		p := &wire.FSWatchMissingParams{WatchID: id}
		for _, m := range missing {
			p.Missing = append(p.Missing, wire.FileURI(filepath.Join(root, m)))
		}
		if present != "" {
			u := wire.FileURI(filepath.Join(root, present))
			p.Present = &u
		}
		r, err := f.watchMissing(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		return r.(*wire.FSWatchMissingResult).Watching
	}
	at := func(name string) string { return filepath.Join(root, name) }
	file := func(name string) func() error {
		return func() error { return os.WriteFile(at(name), nil, 0o600) }
	}
	for _, tt := range []struct {
		name    string
		present string
		missing []string
		do      func() error
		tells   bool
	}{
		{"a file", "", []string{"m1"}, file("m1"), true},
		{"a folder on the way", "", []string{"m2/x/y"}, func() error { return os.Mkdir(at("m2"), 0o700) }, true},
		{"all of the way", "", []string{"m3/x/y"}, func() error { return os.MkdirAll(at("m3/x/y"), 0o700) }, true},
		{"something else", "", []string{"m4"}, file("other"), false},
		{"a second one", "", []string{"m5", "m6"}, file("m6"), true},
		{"a link", "", []string{"m7"}, func() error { return os.Symlink("nowhere", at("m7")) }, true},
		{"moved there", "", []string{"m8"}, func() error { return os.Rename(at("other"), at("m8")) }, true},
		{"its folder goes", "", []string{"g/x"}, func() error { return os.Remove(at("g")) }, true},
		{"a folder above is renamed", "", []string{"g2/h/x"}, func() error { return os.Rename(at("g2"), at("g3")) }, true},
		{"the present one is written", "f", []string{"m9"}, func() error { return os.WriteFile(at("f"), []byte("x"), 0o600) }, true},
		{"the present one is replaced", "f", []string{"m9"}, func() error { return os.Rename(at("keep"), at("f")) }, true},
		{"the present one is removed", "f", []string{"m9"}, func() error { return os.Remove(at("f")) }, true},
		{"into a present folder", "sub", []string{"m9"}, file("sub/new"), false},
		{"a present folder is renamed", "sub", []string{"m9"}, func() error { return os.Rename(at("sub"), at("sub2")) }, true},
	} {
		if !watch(tt.present, tt.missing...) {
			t.Fatalf("%s: not watching", tt.name)
		}
		if err := tt.do(); err != nil {
			t.Fatal(err)
		}
		if !tt.tells {
			// What comes after it is told of, and it was not.
			if err := file(tt.missing[0])(); err != nil {
				t.Fatal(err)
			}
		}
		if got := soon(t, told, tt.name); got != id {
			t.Errorf("%s: told of %d, not %d", tt.name, got, id)
		}
		if !tt.tells {
			if err := os.Remove(at(tt.missing[0])); err != nil {
				t.Fatal(err)
			}
		}
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("n", i)
	}
	for _, tt := range []struct {
		name    string
		present string
		missing []string
	}{
		{"none", "", nil}, {"there already", "", []string{"m1"}}, {"one there already", "", []string{"q", "m1"}},
		{"a dangling link", "", []string{"dangling"}}, {"through a link", "", []string{"link/x"}}, {"below a file", "", []string{"m1/x"}},
		{"nothing present", "nothing", []string{"q"}}, {"a present link", "link", []string{"q"}}, {"too many", "", many},
		{"of the kernel", "", []string{"../../../../../../../../proc/999999999"}},
	} {
		if watch(tt.present, tt.missing...) {
			t.Errorf("%s is watched", tt.name)
		}
	}
	if !watch("", many[:64]...) {
		t.Error("64 are not watched")
	}
	// An id that is not greater changes nothing, a greater one ends the watch.
	id -= 2
	if watch("", "p1") {
		t.Error("an old id is watched")
	}
	if err := file("n63")(); err != nil {
		t.Fatal(err)
	}
	if got := soon(t, told, "the watch of before"); got != id+1 {
		t.Error(got)
	}
	id++
	if !watch("", "p2") || watch("") || !watch("", "p3") {
		t.Fatal("not as it should be")
	}
	for _, name := range []string{"p2", "p3"} {
		if err := file(name)(); err != nil {
			t.Fatal(err)
		}
	}
	if got := soon(t, told, "the last watch"); got != id {
		t.Errorf("told of %d, not %d", got, id)
	}
	if !watch("", "p4") {
		t.Error("not watching")
	}
	f.Close()
	if watch("", "p5") || len(told) != 0 {
		t.Error("a watch outlives its connection")
	}
	none := New(Limits{})
	defer none.Close()
	if r, err := none.watchMissing(t.Context(), &wire.FSWatchMissingParams{Missing: []wire.URI{wire.FileURI(at("p6"))}}); err != nil || r.(*wire.FSWatchMissingResult).Watching {
		t.Error("watched for nobody")
	}
}
