//go:build unix

package guard

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestVerify(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	text := strings.Repeat("0123456789", 1<<20)
	if err := os.WriteFile(program, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(dir, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
	other := strings.Repeat("00", 32)
	for name, tc := range map[string]struct {
		path    string
		allowed []string
		want    error
	}{
		"right":          {program, []string{sum}, nil},
		"one of many":    {program, []string{other, "sha256:" + strings.ToUpper(sum)}, nil},
		"through a link": {link, []string{sum}, nil},
		"wrong":          {program, []string{other}, ErrUnverified},
		"nothing":        {program, nil, ErrUnverified},
		"short":          {program, []string{sum, sum[:62]}, ErrDigest},
		"long":           {program, []string{sum + "00"}, ErrDigest},
		"no hex":         {program, []string{strings.Repeat("zz", 32)}, ErrDigest},
		"empty entry":    {program, []string{sum, ""}, ErrDigest},
		"missing":        {filepath.Join(dir, "none"), []string{sum}, fs.ErrNotExist},
		"folder":         {dir, []string{sum}, ErrNotRegular},
		"device":         {"/dev/null", []string{sum}, ErrNotRegular},
		"endless device": {"/dev/zero", []string{sum}, ErrNotRegular},
		"pipe":           {fifo, []string{sum}, ErrNotRegular},
	} {
		err := Verify(tc.path, tc.allowed)
		if !errors.Is(err, tc.want) || tc.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := Verify(program, []string{other}); err == nil || !strings.Contains(err.Error(), program) || !strings.Contains(err.Error(), sum) {
		t.Errorf("%v", err)
	}
	if err := CheckDigest("sha256:" + sum); err != nil {
		t.Error(err)
	}
	if err := CheckDigest("md5:" + sum); !errors.Is(err, ErrDigest) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := VerifyContext(ctx, program, []string{sum}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// A pipe that comes into the place of the file is not waited for.
func TestOpenDoesNotWait(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// A large file is read in pieces.
func TestVerifyIsFlat(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large")
	if err := os.Truncate(touch(t, path), 64<<20); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(1, func() {
		if err := Verify(path, nil); !errors.Is(err, ErrUnverified) {
			t.Error(err)
		}
	}); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

func touch(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
