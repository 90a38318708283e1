package stores

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"filippo.io/age"

	"github.com/hostsup/hostsup/intercept/secret"
)

// maxFile bounds a file of secrets, in bytes.
const maxFile = 16 << 20

// lockWithin bounds how long a change of the file waits for another one: less than
// a [secret.Store] waits for an operation.
const lockWithin = 30 * time.Second

// fileSource is a file that is encrypted with age, and the path of the identity
// that opens it.
type fileSource struct {
	path     string
	identity string
	managed  bool // the identity is systemd's
}

func newFileSource(o Options) (*fileSource, error) {
	f := &fileSource{path: o.File}
	if f.path == "" {
		var err error
		if f.path, err = DefaultFile(); err != nil {
			return nil, err
		}
	}
	f.identity, f.managed = identityPath(o, f.path)
	return f, nil
}

func (f *fileSource) Where() string { return "file " + f.path }

func (f *fileSource) Get(name string) ([]byte, error) {
	all, err := f.read()
	if err != nil {
		return nil, err
	}
	v, found := all[name]
	delete(all, name)
	wipeAll(all)
	if !found {
		return nil, secret.ErrNotFound
	}
	return v, nil
}

func (f *fileSource) List() ([]string, error) {
	all, err := f.read()
	if err != nil {
		return nil, err
	}
	defer wipeAll(all)
	return slices.Collect(maps.Keys(all)), nil
}

func (f *fileSource) Set(name string, value []byte) error {
	return f.change(func(all map[string][]byte) error {
		secret.Wipe(all[name])
		all[name] = slices.Clone(value)
		return nil
	})
}

func (f *fileSource) Delete(name string) error {
	if _, err := os.Stat(f.path); errors.Is(err, fs.ErrNotExist) {
		return secret.ErrNotFound // and nothing is made
	}
	return f.change(func(all map[string][]byte) error {
		if all[name] == nil {
			return secret.ErrNotFound
		}
		secret.Wipe(all[name])
		delete(all, name)
		return nil
	})
}

// read decrypts the file. Without one there are no secrets.
func (f *fileSource) read() (map[string][]byte, error) {
	sealed, err := os.ReadFile(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return map[string][]byte{}, nil
	case err != nil:
		return nil, err
	case len(sealed) > maxFile:
		return nil, fmt.Errorf("%w: it is larger than %d bytes", secret.ErrDamaged, maxFile)
	}
	ids, err := f.identities()
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), ids...)
	if err != nil {
		var no *age.NoIdentityMatchError
		if errors.As(err, &no) {
			return nil, fmt.Errorf("%w (%s)", secret.ErrUndecipher, f.identity)
		}
		return nil, fmt.Errorf("%w: %w", secret.ErrDamaged, err)
	}
	// What is decrypted is shorter than what was encrypted: no copy of it is
	// left behind by a buffer that grows.
	text := make([]byte, len(sealed))
	n, err := io.ReadFull(r, text)
	defer func() { secret.Wipe(text) }()
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: %w", secret.ErrDamaged, err)
	}
	return decode(text[:n])
}

// change reads the file, changes what is in it and writes it anew, with nobody
// else at it.
func (f *fileSource) change(how func(map[string][]byte) error) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	unlock, err := lock(f.path + ".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.read()
	if err != nil {
		return err
	}
	defer func() { wipeAll(all) }()
	if err := how(all); err != nil {
		return err
	}
	ids, err := f.identities()
	if errors.Is(err, secret.ErrNoIdentity) && !f.managed {
		if _, serr := os.Stat(f.path); errors.Is(serr, fs.ErrNotExist) {
			ids, err = makeIdentity(f.identity)
		}
	}
	if err != nil {
		return err
	}
	to, err := recipients(ids)
	if err != nil {
		return fmt.Errorf("%s: %w", f.identity, err)
	}
	text := encode(all)
	defer secret.Wipe(text)
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, to...)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	if sealed.Len() > maxFile { // it could not be read again
		return fmt.Errorf("%w: the file would be larger than %d bytes", secret.ErrFull, maxFile)
	}
	return replaceFile(f.path, sealed.Bytes())
}
