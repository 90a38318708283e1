package stores

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/hostsup/hostsup/intercept/secret"
)

// choose finds the source. It is asked anew for each operation: a keyring may
// come later than the supervisor, which starts with the machine.
func choose(o Options) (secret.Source, error) {
	if o.Backend == File {
		return newFileSource(o)
	}
	none := keyringReachable()
	if o.Backend == Keyring {
		return keyringSource{o.Service}, none
	}
	file, err := newFileSource(o)
	switch {
	case none != nil:
		return file, err
	case err == nil:
		return &either{keyring: keyringSource{o.Service}, file: file}, nil
	}
	return keyringSource{o.Service}, nil
}

// either is the keyring, and the file where it turns out that there is none. The
// file may also be from a time when there was none: what is not in the keyring may
// be there.
type either struct {
	keyring keyringSource
	file    *fileSource
	where   string // the one that was used last
}

// do works on the keyring, else on the file.
func (e *either) do(f func(secret.Source) error) error {
	e.where = e.keyring.Where()
	err := f(e.keyring)
	if errors.Is(err, secret.ErrNoKeyring) {
		e.where = e.file.Where()
		return f(e.file)
	}
	if _, serr := os.Stat(e.file.path); !errors.Is(err, secret.ErrNotFound) || errors.Is(serr, fs.ErrNotExist) {
		return err
	}
	e.where += " and " + e.file.Where()
	return f(e.file)
}

func (e *either) Get(name string) (v []byte, err error) {
	err = e.do(func(s secret.Source) error {
		v, err = s.Get(name)
		return err
	})
	return v, err
}

func (e *either) Set(name string, value []byte) error {
	return e.do(func(s secret.Source) error { return s.Set(name, value) })
}

// Delete removes it in both.
func (e *either) Delete(name string) error {
	err := e.do(func(s secret.Source) error { return s.Delete(name) })
	if err == nil && e.where == e.keyring.Where() {
		if err := e.file.Delete(name); !errors.Is(err, secret.ErrNotFound) {
			return err
		}
	}
	return err
}

func (e *either) List() (names []string, err error) {
	err = e.do(func(s secret.Source) error {
		names, err = s.List()
		return err
	})
	if err != nil || e.where != e.keyring.Where() {
		return names, err
	}
	more, err := e.file.List()
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, err
}

func (e *either) Where() string {
	if e.where == "" {
		return e.keyring.Where()
	}
	return e.where
}
