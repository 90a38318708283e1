package control

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxTokenFile bounds what is read of a file with a token.
const maxTokenFile = 4 << 10

// ReadToken returns the text of a token that is in a file, without space around it. Other
// users than its owner and group must not be able to read the file.
func ReadToken(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return tokenIn(f, 0o007)
}

// KeepToken returns the text of the token in a file, which no other user may own or read.
// If there is no such file, it makes a token of 256 bits and the file.
func KeepToken(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		secret := make([]byte, 32)
		_, _ = rand.Read(secret) // has no error
		text := base64.RawURLEncoding.EncodeToString(secret)
		_, err := f.WriteString(text + "\n")
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(fmt.Errorf("keep a token: %w", err), os.Remove(path))
		}
		return text, err
	}
	if !errors.Is(err, os.ErrExist) {
		return "", fmt.Errorf("keep a token: %w", err)
	}
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	if uid := ownerOf(info); !info.Mode().IsRegular() || uid >= 0 && uid != os.Geteuid() {
		return "", fmt.Errorf("%s is not a file of this user (uid %d): remove it, so that a token can be made", path, os.Geteuid())
	}
	if f, err = os.Open(path); err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	return tokenIn(f, 0o077)
}

// tokenIn reads the token in f, whose mode must have none of the bits of others.
func tokenIn(f *os.File, others os.FileMode) (string, error) {
	info, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	if mode := info.Mode().Perm(); mode&others != 0 && ownerOf(info) >= 0 {
		return "", fmt.Errorf("other users may read the token in %s (mode %#o): chmod 600 %s", f.Name(), mode, f.Name())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return "", fmt.Errorf("read a token: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
