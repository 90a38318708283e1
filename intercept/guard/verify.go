package guard

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Errors of [Verify].
var (
	ErrUnverified = errors.New("checksum not allowed")      // the file is none of those that are allowed
	ErrDigest     = errors.New("not a SHA-256 checksum")    // an entry of the list is none
	ErrNotRegular = errors.New("not a regular file")        // a folder, device, pipe or socket
	ErrChanged    = errors.New("changed while it was read") // by its size or its time
)

// CheckDigest says what is wrong with an entry of a list of checksums: 64 hex
// digits in either case, with "sha256:" in front or without.
func CheckDigest(digest string) error {
	_, err := parseDigest(digest)
	return err
}

func parseDigest(digest string) (sum [sha256.Size]byte, err error) {
	b, err := hex.DecodeString(strings.TrimPrefix(digest, "sha256:"))
	if err != nil || len(b) != len(sum) {
		return sum, fmt.Errorf("%w: %.80q", ErrDigest, digest)
	}
	return [sha256.Size]byte(b), nil
}

// Verify reads the executable at path, through links, and returns nil when its
// SHA-256 is one of allowed. An empty list allows nothing. Only regular files are
// read, however large, in pieces; reading a device or a pipe is not begun.
//
// What is verified is the file at the time. Whoever can write to it or to a
// folder on the way there can put another in its place before it is started: the
// checksum tells of an update, a mix-up or a broken download, and keeps nobody out
// who has the user's rights.
func Verify(path string, allowed []string) error {
	return VerifyContext(context.Background(), path, allowed)
}

// VerifyContext is [Verify] with an end: a large file on a slow disk.
func VerifyContext(ctx context.Context, path string, allowed []string) error {
	want := make(map[[sha256.Size]byte]bool, len(allowed))
	for _, digest := range allowed {
		sum, err := parseDigest(digest)
		if err != nil {
			return err
		}
		want[sum] = true
	}
	sum, err := digestOf(ctx, path)
	if err != nil {
		return fmt.Errorf("verify %s: %w", path, err)
	}
	if !want[sum] {
		return fmt.Errorf("verify %s: %w: its SHA-256 is %x, and none of the %d that are allowed", path, ErrUnverified, sum, len(want))
	}
	return nil
}

func digestOf(ctx context.Context, path string) (sum [sha256.Size]byte, err error) {
	// Opening may already do something: a device may act, a pipe waits.
	info, err := os.Stat(path)
	if err != nil {
		return sum, reason(err)
	}
	if !info.Mode().IsRegular() {
		return sum, fmt.Errorf("%w (%s)", ErrNotRegular, info.Mode())
	}
	f, err := open(path)
	if err != nil {
		return sum, reason(err)
	}
	defer f.Close()
	before, err := f.Stat()
	switch {
	case err != nil:
		return sum, reason(err)
	case !before.Mode().IsRegular(): // another since
		return sum, fmt.Errorf("%w (%s)", ErrNotRegular, before.Mode())
	}
	h := sha256.New()
	// Not beyond the end that it has now: one that grows would never end.
	n, err := io.Copy(h, io.LimitReader(reader{ctx, f}, before.Size()))
	if err != nil {
		return sum, reason(err)
	}
	after, err := f.Stat()
	switch {
	case err != nil:
		return sum, reason(err)
	case n != before.Size() || after.Size() != n || !after.ModTime().Equal(before.ModTime()):
		return sum, ErrChanged
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}

// reader stops with its context.
type reader struct {
	ctx context.Context
	f   *os.File
}

func (r reader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.f.Read(p)
}

// reason leaves out the path, which the caller has in front.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
