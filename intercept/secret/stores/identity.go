package stores

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"github.com/hostsup/hostsup/intercept/secret"
)

// identities reads what opens the file. Others must not be able to.
func (f *fileSource) identities() ([]age.Identity, error) {
	file, err := os.Open(f.identity)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no %s", secret.ErrNoIdentity, f.identity)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", secret.ErrNoIdentity, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if err := private(info, f.managed); err != nil {
		return nil, fmt.Errorf("identity %s: %w", f.identity, err)
	}
	if info.Size() > 1<<20 {
		return nil, fmt.Errorf("%w: %s is larger than 1 MiB", secret.ErrIdentity, f.identity)
	}
	ids, err := age.ParseIdentities(file)
	if err != nil {
		// What the library says quotes the line, which is the key.
		return nil, fmt.Errorf("%w: %s; expected a file as age-keygen makes it", secret.ErrIdentity, f.identity)
	}
	return ids, nil
}

// recipients are those for whom a file is encrypted that ids open.
func recipients(ids []age.Identity) ([]age.Recipient, error) {
	var out []age.Recipient
	for _, id := range ids {
		switch id := id.(type) {
		case *age.X25519Identity:
			out = append(out, id.Recipient())
		case *age.HybridIdentity:
			out = append(out, id.Recipient())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%w that can also encrypt", secret.ErrIdentity)
	}
	return out, nil
}

// makeIdentity makes a new one at path, where there is none.
func makeIdentity(path string) ([]age.Identity, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "# created: %s\n# public key: %s\n%s\n", time.Now().UTC().Format(time.RFC3339), id.Recipient(), id)
	defer func() { secret.Wipe(text.Bytes()) }()
	if err := replaceFile(path, text.Bytes()); err != nil {
		return nil, fmt.Errorf("make the identity: %w", err)
	}
	return []age.Identity{id}, nil
}

// replaceFile writes a file that only its owner can read, whole or not at all:
// beside its place, then over it.
func replaceFile(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}
