package simulation

import (
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"
)

// disk has the files of the state folder, by path. Folders are those that files are in.
type disk struct {
	files  map[string][]byte
	writes map[string]int // to each path, so far
}

// stateDir is the state folder.
const stateDir = "/state"

// StateDir implements [survive.Machine].
func (t *tenant) StateDir() string { return stateDir }

// ReadFile implements [survive.Files].
func (t *tenant) ReadFile(path string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, is := t.disk.files[path]
	switch {
	case t.dead:
		return nil, failed("open", path, syscall.EIO)
	case !is:
		return nil, failed("open", path, fs.ErrNotExist)
	}
	return slices.Clone(b), nil
}

// ReadFolder implements [survive.Files].
func (t *tenant) ReadFolder(path string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead {
		return nil, failed("open", path, syscall.EIO)
	}
	names := t.entries(path)
	if len(names) == 0 {
		return nil, failed("open", path, fs.ErrNotExist)
	}
	return names, nil
}

// entries returns the names of what is in a folder. mu is held.
func (t *tenant) entries(path string) (names []string) {
	add := func(file string) {
		if rest, is := strings.CutPrefix(file, path+"/"); is {
			name, _, _ := strings.Cut(rest, "/")
			if i, has := slices.BinarySearch(names, name); !has {
				names = slices.Insert(names, i, name)
			}
		}
	}
	for file := range t.disk.files {
		add(file)
	}
	for folder := range t.shims {
		add(folder + "/lock")
	}
	return names
}

// WriteFile implements [survive.Files]. A supervisor that is killed meanwhile may leave a part of the file.
func (t *tenant) WriteFile(path string, b []byte) error {
	dice := t.slow(path)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if t.dead {
		if n = dice.number(2 * (len(b) + 1)); n > len(b) {
			return failed("write", path, syscall.EIO)
		}
	}
	if t.disk.files == nil {
		t.disk.files = make(map[string][]byte)
	}
	t.disk.files[path] = slices.Clone(b[:n])
	return nil
}

// slow waits as long as a write takes, and returns the dice for it.
func (t *tenant) slow(path string) *dice {
	t.mu.Lock()
	if t.disk.writes == nil {
		t.disk.writes = make(map[string]int)
	}
	t.disk.writes[path]++
	dice := t.dice("write %d of %s", t.disk.writes[path], path)
	dead := t.dead
	t.mu.Unlock()
	if !dead {
		time.Sleep(dice.within(time.Millisecond))
	}
	return dice
}

// Rename implements [survive.Files].
func (t *tenant) Rename(from, to string) error {
	t.slow(from)
	t.mu.Lock()
	defer t.mu.Unlock()
	b, is := t.disk.files[from]
	switch {
	case t.dead:
		return failed("rename", from, syscall.EIO)
	case !is:
		return failed("rename", from, fs.ErrNotExist)
	}
	delete(t.disk.files, from)
	t.disk.files[to] = b
	return nil
}

// MakeFolder implements [survive.Files].
func (t *tenant) MakeFolder(string) error { return nil }

// RemoveFile implements [survive.Files].
func (t *tenant) RemoveFile(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.dead:
		return failed("remove", path, syscall.EIO)
	case len(t.entries(path)) > 0:
		return failed("remove", path, syscall.ENOTEMPTY)
	}
	if _, is := t.disk.files[path]; !is {
		return failed("remove", path, fs.ErrNotExist)
	}
	delete(t.disk.files, path)
	return nil
}

func failed(op, path string, err error) error { return &fs.PathError{Op: op, Path: path, Err: err} }
