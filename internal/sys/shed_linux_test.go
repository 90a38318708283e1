package sys

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// resident returns how much of the mapping at b is in memory of this process.
func resident(t *testing.T, b []byte) string {
	t.Helper()
	smaps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	at := uintptr(unsafe.Pointer(&b[0]))
	inside := false
	for line := range strings.Lines(string(smaps)) {
		if m, ok := parseMapping([]byte(line)); ok {
			inside = at >= m.start && at < m.end
		} else if v, ok := strings.CutPrefix(line, "Rss:"); ok && inside {
			return strings.TrimSpace(v)
		}
	}
	t.Fatal("not mapped")
	return ""
}

func TestShedCleanPages(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 64<<10)
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	mmap := func(prot int) []byte {
		b, err := unix.Mmap(int(f.Fd()), 0, len(content), prot, unix.MAP_PRIVATE)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Munmap(b) })
		if !bytes.Equal(b, content) { // touches it all
			t.Fatal("the mapping is not the file")
		}
		return b
	}
	clean := mmap(unix.PROT_READ)
	// Like the dynamic linker: written, then protected.
	changed := mmap(unix.PROT_READ | unix.PROT_WRITE)
	changed[5000] = 'X'
	if err := unix.Mprotect(changed, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	writable := mmap(unix.PROT_READ | unix.PROT_WRITE)
	writable[5000] = 'Y'

	if err := ShedCleanPages(); err != nil {
		t.Fatal(err)
	}
	if got := resident(t, clean); got != "0 kB" {
		t.Errorf("%s of the clean mapping are resident still", got)
	}
	if !bytes.Equal(clean, content) {
		t.Error("the clean mapping has lost its content")
	}
	if changed[5000] != 'X' || writable[5000] != 'Y' {
		t.Error("a page of ours is lost")
	}
}
